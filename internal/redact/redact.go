// Package redact removes private data from URLs and command lines: user names
// and tokens in URLs, and the directories of files.
//
//	redact.URL("https://me:pw@example.org/a.txt?token=1") // https://redacted@example.org/a.txt?redacted
//	redact.Args([]string{"--out=/home/me/corpus"})        // --out=corpus
package redact

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Word replaces what was removed.
const Word = "redacted"

// URL returns an address without user, query and fragment. The same parts are
// removed from text that is not a valid URL. A fragment that is a checksum
// (#sha256=…) is kept.
func URL(address string) string {
	rest, fragment, _ := strings.Cut(address, "#")
	rest, query, queried := strings.Cut(rest, "?")
	scheme, authority, ok := strings.Cut(rest, "//")
	if ok {
		host, path, slash := strings.Cut(authority, "/")
		if at := strings.LastIndexByte(host, '@'); at >= 0 && host[:at] != Word {
			host = Word + host[at:]
		}
		rest = scheme + "//" + host
		if slash {
			rest += "/" + path
		}
	}
	if queried && query != "" {
		rest += "?" + Word
	}
	if checksum().MatchString(fragment) {
		rest += "#" + fragment
	}
	return rest
}

var checksum = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256=[0-9a-fA-F]{64}$`) })

// Hash returns the SHA-256 of an address in hexadecimal, or "" if [URL] removes
// nothing from the address. It shows whether two redacted addresses are equal
// without revealing them.
func Hash(address string) string {
	if URL(address) == address {
		return ""
	}
	sum := sha256.Sum256([]byte(address))
	return hex.EncodeToString(sum[:])
}

// addresses matches URLs in text, without punctuation or quotes at the end.
var addresses = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>` + "`" + `]*[^\s"'<>` + "`" + `:;,.)\]]`)
})

// Text returns s with [URL] applied to each URL in it.
func Text(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	return addresses().ReplaceAllStringFunc(s, URL)
}

// Args returns a command line without private data: [URL] is applied to URLs,
// and paths are reduced to their last element, including a path after "=" in an
// argument.
func Args(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		switch {
		case strings.Contains(arg, "://"):
			out[i] = Text(arg)
		case ok && !strings.ContainsAny(name, `/\`):
			out[i] = name + "=" + Path(value)
		default:
			out[i] = Path(arg)
		}
	}
	return out
}

// Path returns the last element of a path. It applies [URL] to a URL and
// returns other text unchanged.
func Path(s string) string {
	switch {
	case strings.Contains(s, "://"):
		return Text(s)
	case strings.ContainsRune(s, '/') || strings.ContainsRune(s, filepath.Separator):
		return filepath.Base(s)
	}
	return s
}

// Texts returns a list with [Text] applied to each element.
func Texts(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = Text(s)
	}
	return out
}
