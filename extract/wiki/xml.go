package wiki

import (
	"bytes"
	"unicode/utf8"
)

// The XML of a dump is read by what its tags look like, not by a parser that
// must understand a whole file: nothing is expanded, nothing outside the file is
// read, and damage in one page cannot reach another.

var (
	commentOpen  = []byte("<!--")
	commentClose = []byte("-->")
	cdataOpen    = []byte("<![CDATA[")
	cdataClose   = []byte("]]>")
)

// A tag is what stands between < and >.
type tag struct {
	name  []byte
	attrs []byte // what follows the name
	end   bool   // </name>
	empty bool   // <name/>
}

// A walker goes through the tags of a piece of XML.
type walker struct {
	b   []byte
	pos int
}

// next returns the next tag, and steps behind it. Comments, CDATA sections,
// declarations and processing instructions between tags are skipped. ok is false
// at the end, and where a construct has no end.
func (w *walker) next() (t tag, ok bool) {
	for {
		i := bytes.IndexByte(w.b[w.pos:], '<')
		if i < 0 || w.pos+i+1 == len(w.b) {
			return tag{}, false
		}
		w.pos += i
		closer := closerOf(w.b[w.pos:])
		if closer == nil {
			return w.tag()
		}
		j := bytes.Index(w.b[w.pos:], closer)
		if j < 0 {
			return tag{}, false
		}
		w.pos += j + len(closer)
	}
}

// closerOf returns what ends the construct at the beginning of b, nil for a tag.
func closerOf(b []byte) []byte {
	switch {
	case b[1] != '!' && b[1] != '?':
		return nil
	case bytes.HasPrefix(b, commentOpen):
		return commentClose
	case bytes.HasPrefix(b, cdataOpen):
		return cdataClose
	}
	return []byte(">")
}

// tag reads the tag at w.pos. An attribute may hold a raw quotation mark, as
// some titles in redirects do, so a tag ends at the first > whatever is quoted:
// MediaWiki writes &gt; inside attributes.
func (w *walker) tag() (tag, bool) {
	b := w.b[w.pos+1:]
	n := bytes.IndexByte(b, '>')
	if n < 0 {
		return tag{}, false
	}
	w.pos += n + 2
	b = b[:n]
	var t tag
	if n > 0 && b[0] == '/' {
		t.end, b = true, b[1:]
	} else if n > 0 && b[n-1] == '/' {
		t.empty, b = true, b[:n-1]
	}
	k := 0
	for k < len(b) && !isSpace(b[k]) {
		k++
	}
	t.name, t.attrs = b[:k], b[k:]
	return t, true
}

// content returns what stands between w.pos and the end tag of name, and steps
// behind that tag; markup says that it holds a < (a comment, a CDATA section,
// or one that ought to have been escaped). ok is false without an end tag.
func (w *walker) content(name []byte) (raw []byte, markup, ok bool) {
	start, p := w.pos, w.pos
	comments, cdata := true, true // some are left: what was not found once is not looked for again
	for {
		i := bytes.IndexByte(w.b[p:], '<')
		if i < 0 {
			return nil, false, false
		}
		p += i
		rest := w.b[p:]
		if isEndTag(rest, name) {
			w.pos = p + 2 + len(name)
			if j := bytes.IndexByte(w.b[w.pos:], '>'); j >= 0 {
				w.pos += j + 1
			} else {
				w.pos = len(w.b)
			}
			return w.b[start:p], markup, true
		}
		markup = true
		skip := 0
		switch {
		case comments && bytes.HasPrefix(rest, commentOpen):
			skip = constructLen(rest, commentClose)
			comments = skip > 0
		case cdata && bytes.HasPrefix(rest, cdataOpen):
			skip = constructLen(rest, cdataClose)
			cdata = skip > 0
		}
		p += max(skip, 1)
	}
}

// constructLen returns the length of the construct at the beginning of b that
// ends with closer, 0 when it has no end.
func constructLen(b, closer []byte) int {
	if j := bytes.Index(b, closer); j >= 0 {
		return j + len(closer)
	}
	return 0
}

// isEndTag reports whether b begins with the end tag of name.
func isEndTag(b, name []byte) bool {
	n := 2 + len(name)
	return len(b) >= n && b[1] == '/' && string(b[2:n]) == string(name) &&
		(len(b) == n || b[n] == '>' || isSpace(b[n]))
}

// hasAttr reports whether the attributes of a tag hold one called name,
// whatever its value. Values are skipped by their quotes.
func hasAttr(attrs []byte, name string) bool {
	_, ok := attr(attrs, name)
	return ok
}

// attr returns the value of the attribute called name, still escaped.
func attr(attrs []byte, name string) (value []byte, ok bool) {
	for {
		attrs = bytes.TrimLeft(attrs, " \t\r\n")
		eq := bytes.IndexByte(attrs, '=')
		if eq < 0 {
			return nil, false
		}
		key := bytes.TrimRight(attrs[:eq], " \t\r\n")
		attrs = bytes.TrimLeft(attrs[eq+1:], " \t\r\n")
		if len(attrs) == 0 || attrs[0] != '"' && attrs[0] != '\'' {
			return nil, false
		}
		n := bytes.IndexByte(attrs[1:], attrs[0])
		if n < 0 {
			return nil, false
		}
		if string(key) == name {
			return attrs[1 : 1+n], true
		}
		attrs = attrs[n+2:]
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// characters turns the raw content of an element into the characters that it
// stands for, in place: line ends become LF, references are decoded once, and
// where markup is set comments vanish and CDATA sections give their content as
// it is. Anything else that is not well formed stays as it stands.
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

// nextConstruct finds the next comment or CDATA section: where it begins and
// how long it is. Without one, p is len(b) and skip 0.
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

// lineEnds turns CR LF and lone CRs into LF, in place: what XML 1.0 §2.11 asks
// of every reader.
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

// unescape decodes the five entities of XML and character references, once and
// in place. Others stay as they are: the wikitext knows &nbsp; by itself, and an
// entity that a DOCTYPE declares is never expanded.
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

// entity decodes the entity at the beginning of b, which is a &, and returns
// its length, 0 for anything else.
func entity(b []byte) (byte, int) {
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

// charRef decodes &#123; or &#x7b; at the beginning of b, which is a &, for the
// characters that XML 1.0 allows (§2.2), and returns its length, 0 for anything
// else.
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

// dropInvalid removes the bytes of b that are not valid UTF-8, in place, and
// returns how many they were and where the first one stood.
func dropInvalid(b []byte) (valid []byte, dropped, first int) {
	if utf8.Valid(b) {
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
