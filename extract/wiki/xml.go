package wiki

import "bytes"

// The XML of a dump is scanned for tags instead of parsed as a whole: entities are
// not expanded, no other file is read, and malformed XML in one page cannot affect
// another page.

var (
	commentOpen  = []byte("<!--")
	commentClose = []byte("-->")
	cdataOpen    = []byte("<![CDATA[")
	cdataClose   = []byte("]]>")
)

// A tag is the content between < and >.
type tag struct {
	name  []byte
	attrs []byte // the text after the name
	end   bool   // </name>
	empty bool   // <name/>
}

// A walker iterates over the tags in a piece of XML.
type walker struct {
	b   []byte
	pos int
}

// next returns the next tag and moves w.pos after it. It skips comments, CDATA
// sections, declarations and processing instructions. ok is false at the end of
// the XML, and if a tag, comment or section is not closed.
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

// closerOf returns the end mark of the comment, CDATA section, declaration or
// processing instruction at the start of b; nil for a tag.
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

// tag parses the tag at w.pos; ok is false if it has no end. A tag ends at the
// first >, even inside quotation marks: MediaWiki writes &gt; in attributes,
// but leaves raw quotation marks in the titles of some redirects.
func (w *walker) tag() (t tag, ok bool) {
	b := w.b[w.pos+1:]
	n := bytes.IndexByte(b, '>')
	if n < 0 {
		return tag{}, false
	}
	w.pos += n + 2
	b = b[:n]
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

// content returns the content from w.pos up to the end tag </name>, and moves w.pos
// after that tag. markup reports whether the content contains "<": in a comment, a
// CDATA section or as an unescaped character. ok is false if there is no end tag.
func (w *walker) content(name []byte) (raw []byte, markup, ok bool) {
	start, p := w.pos, w.pos
	comments, cdata := true, true // false: no closed comment, CDATA section follows
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

// constructLen returns the length of the comment or CDATA section at the start
// of b, which ends with closer; 0 if it is not closed.
func constructLen(b, closer []byte) int {
	if j := bytes.Index(b, closer); j >= 0 {
		return j + len(closer)
	}
	return 0
}

// isEndTag reports whether b begins with the end tag </name>.
func isEndTag(b, name []byte) bool {
	n := 2 + len(name)
	return len(b) >= n && b[1] == '/' && string(b[2:n]) == string(name) &&
		(len(b) == n || b[n] == '>' || isSpace(b[n]))
}

// hasAttr reports whether a tag has the attribute called name.
func hasAttr(attrs []byte, name string) bool {
	_, ok := attr(attrs, name)
	return ok
}

// attr returns the raw value of the attribute called name in attrs, the text of
// a tag after its name. ok is false if there is none.
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
