package wikitext

import "bytes"

// A mode configures an inline scan: what is markup and where the scan stops.
type mode struct {
	mask  uint16 // classes of bytes that may be markup
	line  bool   // stop before a line feed; if false, write it as a space
	label bool   // the text is the label of a link: no links in it
	colon bool   // stop before a colon outside of tags, which ends a term
}

var (
	modeLine     = mode{mask: classInline, line: true}
	modeTerm     = mode{mask: classInline | classColon, line: true, colon: true}
	modeArgument = mode{mask: classInline}
	modeLabel    = mode{mask: classInline, label: true}
)

// inline renders the text and markup within a line. It finds the markup and renders
// entities, quotes and language variants itself; other markup is rendered by links,
// tags and templates.
type inline struct {
	in        *finder
	w         *writer
	links     *links
	tags      *tags
	templates *templates

	variantClass uint16 // classVariant if the language has variants
	mode         mode
	depth        int    // nesting depth of templates, parameters and variants being rendered
	freeURL      int    // end of the last URL in the line's plain text
	name         []byte // scratch: a folded name
}

// reset starts a page of a wiki in the given language.
func (n *inline) reset(lang string) {
	n.variantClass, n.depth, n.freeURL = 0, 0, 0
	if hasVariants(lang) {
		n.variantClass = classVariant
	}
}

// render renders the text and markup in src[i:e] and returns the offset where
// it stopped. It first finds the end of each markup, then writes the plain text
// before the markup, then renders the markup.
func (n *inline) render(i, e int, m mode) int {
	saved, near := n.mode, n.in.near // near: ends found in the enclosing range
	n.mode = m
	i = n.scan(i, e)
	n.mode = saved
	if !m.line {
		n.in.near = near
	}
	return i
}

// scan is the loop of [inline.render] over src[i:e].
func (n *inline) scan(i, e int) int {
	src := n.in.src[:e] // no bounds check below
	start, counted := i, i
	for mask := n.mode.mask | n.variantClass; ; {
		if mask&^classSpecial == 0 {
			i = n.in.skip(i, e, mask)
		} else {
			i = skip(src, i, mask)
		}
		if i >= e {
			break
		}
		next, stop := n.markup(src, start, i)
		n.in.work += i + 1 - counted
		if stop {
			return next
		}
		if next > i {
			start, i = next, next
		} else {
			i++
		}
		counted = i
	}
	n.w.text(src[start:])
	n.in.work += e - counted
	return e
}

// markup writes the plain text src[start:i] and renders the markup at src[i]. It
// returns the offset after the markup. If src[i] is plain text, it writes nothing and
// returns i. If stop is true, the scan ends at next. markup has a case for each byte of
// classInline.
func (n *inline) markup(src []byte, start, i int) (next int, stop bool) {
	e := len(src)
	switch src[i] {
	case '\n':
		n.w.text(src[start:i])
		if n.mode.line {
			return i, true
		}
		if !n.mode.label {
			n.w.endQuotes()
		}
		n.w.str(" ")
		return i + 1, false
	case ':':
		if n.tags.open <= 0 && n.w.bold&1 == 0 && n.w.italic&1 == 0 && !n.inURL(start, i, e) {
			n.w.text(src[start:i])
			return i, true
		}
	case '\'':
		if i+1 < e && src[i+1] == '\'' {
			n.w.text(src[start:i])
			run := runLength(src, i)
			n.w.quote(run)
			return i + run, false
		}
	case '[':
		if !n.mode.label {
			return n.links.bracket(start, i, e), false
		}
	case '{':
		if i+1 < e && src[i+1] == '{' {
			n.w.text(src[start:i])
			return n.templates.braces(i, e), false
		}
	case '<':
		return n.tags.angle(start, i, e), false
	case '&':
		if ent, ok := n.in.entities.at(src, i); ok {
			n.w.text(src[start:i])
			n.w.entity(ent)
			return ent.next, false
		}
	case 0xC2:
		if i+1 < e && src[i+1] == 0xA0 {
			n.w.text(src[start:i])
			n.w.str(" ")
			return i + 2, false
		}
	case '_':
		if length := switchAt(src[i:], &n.name); length > 0 {
			n.w.text(src[start:i])
			if string(n.name) == "toc" { // the table of contents is a block
				n.w.breakLine()
			}
			return i + length, false
		}
	case '-':
		return n.variantAt(start, i, e), false
	}
	return i, false
}

// inURL reports whether the colon at src[i] is part of a URL in the plain text that
// begins at src[start]: a protocol name precedes this colon or an earlier colon of the
// same URL.
func (n *inline) inURL(start, i, e int) bool {
	if i < n.freeURL {
		return true
	}
	k := i
	for k > start && i-k < maxProtocol && class[n.in.src[k-1]]&classLetter != 0 {
		k--
	}
	protocol := protocolLength(n.in.src[k:e])
	if protocol == 0 {
		return false
	}
	end := n.in.urlEnd(k+protocol, e)
	for end > k+protocol && bytes.IndexByte(urlTail, n.in.src[end-1]) >= 0 {
		end--
	}
	n.freeURL = end
	return i < end
}

// urlTail is the punctuation that belongs to the sentence, and not to the URL, after a
// URL in plain text (Parser::makeFreeExternalLink).
var urlTail = []byte(",;.:!?")
