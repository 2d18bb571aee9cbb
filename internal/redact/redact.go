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

// word replaces removed text.
const word = "redacted"

// URL returns an address without user, query and fragment, and without the secrets in its
// path: parameters after ";", and the segments that [secretPath] finds. It also does so for
// text that is not a valid URL. A fragment with a checksum (#sha256=…) is kept.
func URL(address string) string {
	scheme, rest, ok := strings.Cut(address, "//")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		scheme, rest = "", address
	} else {
		scheme += "//"
		if user := userEnd(rest); user > 0 && rest[:user] != word {
			rest = word + rest[user:]
		}
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	rest, query, queried := strings.Cut(rest, "?")
	host, path, slash := strings.Cut(rest, "/")
	if name, port, ok := strings.Cut(host, ":"); scheme != "" && ok && !strings.ContainsAny(host, "[@") && strings.Trim(port, "0123456789") != "" && port != "PORT" {
		host = name + ":" + word // probably user:password, of an address without its "@host"
	}
	if !slash {
		rest = parameters(host)
	} else if scheme == "" {
		rest = parameters(host) + "/" + secretPath(path)
	} else {
		rest = host + "/" + secretPath(path)
	}
	if queried && query != "" {
		rest += "?" + word
	}
	if checksum().MatchString(fragment) {
		rest += "#" + fragment
	}
	return scheme + rest
}

// userEnd returns the index of the "@" after the user in an address without its scheme; -1
// if there is no user. If the password contains "@" or other characters that should have
// been escaped, the text after the first "@" has a port that is not a number.
func userEnd(rest string) int {
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		return at
	}
	_, port, ok := strings.Cut(rest[:end], ":")
	if !ok || strings.HasPrefix(rest, "[") || strings.Trim(port, "0123456789") == "" {
		return -1
	}
	return strings.LastIndexByte(rest, '@')
}

// Address returns an address HOST:PORT without user and password: host:8099 for
// user:password@host:8099.
func Address(s string) string {
	if strings.Contains(s, "://") {
		return Text(s)
	}
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		return word + s[at:]
	}
	return s
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
	const (
		quote = "\"'<>`"
		in    = `[^\s` + quote + `]`
		last  = `[^\s` + quote + `:;,.)\]]`
	)
	// A quote is part of the address if more of the address follows it.
	return regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://(?:` + in + `*` + last + `|[` + quote + `]` + last + `)+`)
})

// users matches users in text that addresses does not match: user:password@host,
// user@host:port, and the "lookup user@host" of a failed DNS lookup.
var users = sync.OnceValue(func() *regexp.Regexp {
	const user = "[^\\s\"'<>`=(\\[/@]+"
	return regexp.MustCompile(`\blookup [^\s@]+@|` + user + "(?::[^\\s\"'<>`]+@[A-Za-z0-9\\[]|@[A-Za-z0-9.\\[][A-Za-z0-9.:\\[\\]-]*:[0-9]+)")
})

// Text returns s with [URL] applied to each URL in it, and without the users of
// addresses that are not URLs: user:password@host and user@host:port.
func Text(s string) string {
	if strings.Contains(s, "://") {
		s = addresses().ReplaceAllStringFunc(s, URL)
	}
	if strings.Contains(s, "@") {
		s = users().ReplaceAllStringFunc(s, func(match string) string {
			if strings.HasPrefix(match, "mailto:") || strings.Contains(match, "//") {
				return match // [URL] was already applied
			}
			if strings.HasPrefix(match, "lookup ") {
				return "lookup " + word + "@"
			}
			return Address(match)
		})
	}
	return s
}

// named matches an argument that is an address with a user, such as token@host:8099.
var named = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\S+:\S*|[^\s/]+)@[A-Za-z0-9.\[][A-Za-z0-9.:\[\]-]*$`)
})

// Args returns a command line without private data: [URL] is applied to URLs,
// [Address] to addresses with a user, and paths are reduced to their last element,
// including a path after "=" in an argument.
func Args(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		switch {
		case strings.Contains(arg, "://"):
			out[i] = Text(arg)
		case name == "--set" && ok: // its value is NAME=VALUE
			out[i] = name + "=" + Args([]string{value})[0]
		case strings.HasPrefix(arg, "-") && ok && named().MatchString(value):
			out[i] = name + "=" + Address(value)
		case named().MatchString(arg):
			out[i] = Address(arg)
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
