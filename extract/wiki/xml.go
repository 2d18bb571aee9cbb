package wiki

import "bytes"

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
