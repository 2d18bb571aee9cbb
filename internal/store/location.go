package store

import (
	"path"
	"path/filepath"
	"strings"
)

// A Location is the place of a folder or a file: a local path, or the URL of an object in an
// object store, scheme://bucket/key. Only this type distinguishes the two. Code must not
// pass a URL to path/filepath, which would remove one of its slashes.
type Location struct {
	scheme string // "" for a local path
	path   string // a local path as given, or bucket/key after clean
}

// Locate parses a location. It cannot fail: text that is not a URL is a local path.
func Locate(text string) Location {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || !isScheme(scheme) {
		return Location{path: text}
	}
	return Location{strings.ToLower(scheme), clean(rest)}
}

func isScheme(s string) bool {
	for i, r := range s {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+.-", r)) {
			return false
		}
	}
	return s != ""
}

// clean removes empty, "." and ".." elements from a key, so that no key refers to something
// outside of its bucket.
func clean(key string) string {
	bucket, key, _ := strings.Cut(key, "/")
	return strings.TrimSuffix(bucket+path.Clean("/"+key), "/")
}

// Local returns the path of a location in the local file system; ok is false for
// a URL.
func (l Location) Local() (path string, ok bool) { return l.path, l.scheme == "" }

// Join returns the location below l whose path is names, joined by slashes.
func (l Location) Join(names ...string) Location {
	if l.scheme == "" {
		l.path = filepath.Join(append([]string{l.path}, names...)...)
		return l
	}
	l.path = clean(strings.Join(append([]string{l.path}, names...), "/"))
	return l
}

// Base returns the last element of a location.
func (l Location) Base() string {
	if l.scheme == "" {
		return filepath.Base(l.path)
	}
	return path.Base(l.path)
}

// Dir returns the parent of a location. A bucket is its own parent.
func (l Location) Dir() Location {
	if l.scheme == "" {
		l.path = filepath.Dir(l.path)
		return l
	}
	if i := strings.LastIndexByte(l.path, '/'); i >= 0 {
		l.path = l.path[:i]
	}
	return l
}

// Absolute returns a location that does not depend on the process's working
// directory.
func (l Location) Absolute() Location {
	if l.scheme == "" {
		if abs, err := filepath.Abs(l.path); err == nil {
			l.path = abs
		}
	}
	return l
}

// String returns the location in the form that [Locate] and [Open] accept.
func (l Location) String() string {
	if l.scheme == "" {
		return l.path
	}
	return l.scheme + "://" + l.path
}

// Join joins names to a location, as [Location.Join] does.
func Join(location string, names ...string) string { return Locate(location).Join(names...).String() }

// Base returns the last element of a location.
func Base(location string) string { return Locate(location).Base() }

// Dir returns the parent of a location.
func Dir(location string) string { return Locate(location).Dir().String() }

// Absolute returns a location that does not depend on the process's working
// directory.
func Absolute(location string) string { return Locate(location).Absolute().String() }
