package redact

import (
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// secretPath returns the path of an address without secrets. It removes text after ";" in a
// segment; user:password@, as in an address within the path; the value of a name such as
// "token", in name=value or in the next segment; and segments that look like keys. File
// names with an extension are kept, because users need to see which file was downloaded.
func secretPath(s string) string {
	segments := strings.Split(s, "/")
	named := false // true if the previous segment is the name of a secret
	for i, s := range segments {
		plain := s
		if decoded, err := url.PathUnescape(s); err == nil {
			plain = decoded
		}
		name, _, valued := strings.Cut(plain, "=")
		next := secretNames().MatchString(plain)
		switch at := strings.LastIndexByte(plain, '@'); {
		case s == "" || s == word:
		case at > 0 && strings.Contains(plain[:at], ":"):
			segments[i] = parameters(word + plain[at:])
		case named, keys().MatchString(plain):
			segments[i] = word
		case valued && secretNames().MatchString(name):
			segments[i] = name + "=" + word
		case looksRandom(plain):
			segments[i] = word
		default:
			segments[i] = parameters(s)
		}
		named = next
	}
	return strings.Join(segments, "/")
}

// Name returns the file name at the end of the path of an address, unescaped, without
// secret parts.
func Name(escaped string) string {
	name := path.Base(secretPath(escaped))
	name, _, _ = strings.Cut(name, ";"+word)
	if plain, err := url.PathUnescape(name); err == nil {
		name = path.Base(plain)
	}
	return name
}

// parameters removes the parameters of a path segment: the text after ";", escaped or not.
func parameters(s string) string {
	at := strings.IndexByte(s, ';')
	if i := strings.Index(strings.ToLower(s), "%3b"); i >= 0 && (at < 0 || i < at) {
		at = i
	}
	if at < 0 || at+1 == len(s) {
		return s
	}
	return s[:at] + ";" + word
}

// secretNames matches names whose values are secret.
var secretNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^([a-z0-9]+[-_])?(token|secret|signature|sig|password|passwd|pwd|api[-_]?key|access[-_]?key|auth|authorization|bearer|credentials?|session[-_]?id|jsessionid|jwt|sas)$`)
})

// keys matches access keys of well-known services, and JSON Web Tokens. The prefixes of
// GitHub (changelog of 2021-03-31) and GitLab are documented; the other prefixes are those
// in common use.
var keys = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(gh[a-z]_|github_pat_|glpat-|hf_|sk-|xox[a-z]-|AKIA|ASIA)[A-Za-z0-9_-]{10,}$|^bot[0-9]+:|^eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$`)
})

// looksRandom reports whether a segment is probably a key, not a name: at least 20 letters
// and digits, mixed at random. A hexadecimal number is not a key for this purpose, because
// it is usually a commit or a checksum.
func looksRandom(s string) bool {
	if len(s) < 20 {
		return false
	}
	changes, last := 0, 0
	var has [4]bool
	for _, r := range s {
		kind := 0
		switch {
		case r > unicode.MaxASCII:
			return false
		case 'a' <= r && r <= 'z':
			kind = 1
		case 'A' <= r && r <= 'Z':
			kind = 2
		case '0' <= r && r <= '9':
			kind = 3
		case r != '-' && r != '_' && r != '+' && r != '=':
			return false
		}
		has[kind] = true
		if last != 0 && kind != last {
			changes++
		}
		last = kind
	}
	return has[1] && has[2] && has[3] && changes >= len(s)/3
}
