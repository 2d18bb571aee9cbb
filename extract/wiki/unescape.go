package wiki

import (
	"bytes"
	"unicode/utf8"

	"pretext/internal/utf8scan"
)

// characters decodes raw, the content of an element, in place: line ends become
// LF, and character references and entities are decoded once. If markup is
// true, comments are removed and CDATA sections are replaced by their content.
// Anything that is not well formed is kept.
func characters(raw []byte, markup bool) []byte {
	raw = lineEnds(raw)
	if !markup {
		return unescape(raw)
	}
	out := raw[:0]
	comments, cdata := true, true
	for seg := 0; ; {
		p, skip := nextConstruct(raw[seg:], &comments, &cdata)
		out = append(out, unescape(raw[seg:seg+p])...)
		if skip == 0 {
			return out
		}
		at := seg + p
		if raw[at+2] == '[' {
			out = append(out, raw[at+len(cdataOpen):at+skip-len(cdataClose)]...)
		}
		seg = at + skip
	}
}

// nextConstruct returns the offset p and the length skip of the next comment or CDATA
// section in b; or len(b) and 0 if there is none. It sets *comments or *cdata to false
// if no closed comment or CDATA section, respectively, follows.
func nextConstruct(b []byte, comments, cdata *bool) (p, skip int) {
	for p = 0; ; p++ {
		i := bytes.Index(b[p:], []byte("<!"))
		if i < 0 {
			return len(b), 0
		}
		p += i
		switch rest := b[p:]; {
		case *comments && bytes.HasPrefix(rest, commentOpen):
			skip = constructLen(rest, commentClose)
			*comments = skip > 0
		case *cdata && bytes.HasPrefix(rest, cdataOpen):
			skip = constructLen(rest, cdataClose)
			*cdata = skip > 0
		}
		if skip > 0 {
			return p, skip
		}
	}
}

// lineEnds converts CR LF and CR to LF in place, as XML 1.0 §2.11 requires.
func lineEnds(b []byte) []byte {
	i := bytes.IndexByte(b, '\r')
	if i < 0 {
		return b
	}
	out := b[:i]
	for i < len(b) {
		if i++; i == len(b) || b[i] != '\n' {
			out = append(out, '\n')
		}
		j := bytes.IndexByte(b[i:], '\r')
		if j < 0 {
			j = len(b) - i
		}
		out = append(out, b[i:i+j]...)
		i += j
	}
	return out
}

// unescape decodes character references and the five entities of XML in b, once
// and in place. Other entities are kept: package wikitext decodes those of
// HTML, such as &nbsp;, and an entity that a DOCTYPE declares is never
// expanded.
func unescape(b []byte) []byte {
	i := bytes.IndexByte(b, '&')
	if i < 0 {
		return b
	}
	o := i
	for i < len(b) {
		if c, n := entity(b[i:]); n > 0 {
			b[o] = c
			i, o = i+n, o+1
		} else if r, n := charRef(b[i:]); n > 0 {
			i, o = i+n, o+utf8.EncodeRune(b[o:], r)
		} else {
			b[o] = '&'
			i, o = i+1, o+1
		}
		j := bytes.IndexByte(b[i:], '&')
		if j < 0 {
			j = len(b) - i
		}
		copy(b[o:], b[i:i+j])
		i, o = i+j, o+j
	}
	return b[:o]
}

// entity decodes the entity at the start of b, which is "&". n is its length,
// or 0 if it is not one of the five entities of XML.
func entity(b []byte) (c byte, n int) {
	if len(b) < len("&lt;") {
		return 0, 0
	}
	switch b[1] {
	case 'l':
		if b[2] == 't' && b[3] == ';' {
			return '<', 4
		}
	case 'g':
		if b[2] == 't' && b[3] == ';' {
			return '>', 4
		}
	case 'q':
		if hasPrefix(b, "&quot;") {
			return '"', 6
		}
	case 'a':
		if hasPrefix(b, "&amp;") {
			return '&', 5
		}
		if hasPrefix(b, "&apos;") {
			return '\'', 6
		}
	}
	return 0, 0
}

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

// charRef decodes the character reference at the start of b, &#123; or &#x7b;.
// n is its length, or 0 if there is none or XML 1.0 does not allow the
// character (§2.2).
func charRef(b []byte) (r rune, n int) {
	if !hasPrefix(b, "&#") {
		return 0, 0
	}
	base, i := rune(10), 2
	if len(b) > 2 && b[2] == 'x' {
		base, i = 16, 3
	}
	for first := i; i < len(b) && r <= utf8.MaxRune; i++ {
		d := digit(b[i])
		if d < 0 || d >= base {
			if b[i] == ';' && i > first && isXMLChar(r) {
				return r, i + 1
			}
			break
		}
		r = r*base + d
	}
	return 0, 0
}

func digit(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return rune(c-'A') + 10
	}
	return -1
}

func isXMLChar(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || 0x20 <= r && r <= 0xD7FF ||
		0xE000 <= r && r <= 0xFFFD || 0x10000 <= r && r <= utf8.MaxRune
}

// dropInvalid removes invalid UTF-8 from b in place. dropped is the number of removed
// bytes, first the offset of the first removed byte.
func dropInvalid(b []byte) (valid []byte, dropped, first int) {
	if utf8scan.Valid(b) {
		return b, 0, 0
	}
	o := 0
	for i := 0; i < len(b); {
		n := 1
		if b[i] >= utf8.RuneSelf {
			var r rune
			if r, n = utf8.DecodeRune(b[i:]); r == utf8.RuneError && n == 1 {
				if dropped == 0 {
					first = i
				}
				dropped++
				i++
				continue
			}
		}
		o += copy(b[o:], b[i:i+n])
		i += n
	}
	return b[:o], dropped, first
}
