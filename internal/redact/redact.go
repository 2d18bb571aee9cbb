// Package redact takes out of addresses and command lines what is nobody's
// business: tokens in URLs, the folders that files lie in.
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
)

// Word stands for what was taken out.
const Word = "redacted"

// URL returns an address without its user, query and fragment. What is no URL
// loses what would be those. A fragment that is a checksum (#sha256=…) stays.
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
	if checksum.MatchString(fragment) {
		rest += "#" + fragment
	}
	return rest
}

var checksum = regexp.MustCompile(`^sha256=[0-9a-fA-F]{64}$`)

// Hash returns the SHA-256 of an address in hexadecimal where [URL] takes
// something out of it, "" otherwise: it tells whether two addresses are equal
// without telling them.
func Hash(address string) string {
	if URL(address) == address {
		return ""
	}
	sum := sha256.Sum256([]byte(address))
	return hex.EncodeToString(sum[:])
}

// addresses finds URLs in text. What ends a sentence, or a quotation, ends none.
var addresses = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>` + "`" + `]*[^\s"'<>` + "`" + `:;,.)\]]`)

// Text returns a text with each URL in it as [URL] has it.
func Text(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	return addresses.ReplaceAllStringFunc(s, URL)
}

// Args returns a command line with URLs as [URL] has them and with the last
// element of each path, also where it stands behind "=".
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

// Path returns the last element of a path, a URL as [URL] has it, and any other
// text as it is.
func Path(s string) string {
	switch {
	case strings.Contains(s, "://"):
		return Text(s)
	case strings.ContainsRune(s, '/') || strings.ContainsRune(s, filepath.Separator):
		return filepath.Base(s)
	}
	return s
}

// Texts returns a list with [Text] of each.
func Texts(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = Text(s)
	}
	return out
}
