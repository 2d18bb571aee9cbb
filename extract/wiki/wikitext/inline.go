package wikitext

import "bytes"

// A mode configures an inline scan: what is markup and where the scan stops.
type mode struct {
	mask  uint16 // classes of bytes that may be markup
	line  bool   // stop before a line feed; if false, write it as a space
	label bool   // the text is the label of a link: no links in it
	colon bool   // stop before a colon outside of tags: it ends a term
}

var (
	modeLine     = mode{mask: classInline, line: true}
	modeTerm     = mode{mask: classInline | classColon, line: true, colon: true}
	modeArgument = mode{mask: classInline}
	modeLabel    = mode{mask: classInline, label: true}
)

// inline renders the text and markup in s.src[i:e] and returns the offset where
// it stopped. It first finds the end of each markup, then writes the plain text
// before the markup, then renders the markup.
func (s *Scanner) inline(i, e int, m mode) int {
	saved, near := s.mode, s.near // near: ends found in the enclosing range
	s.mode = m
	next := s.scan(i, e)
	s.mode = saved
	if !m.line {
		s.near = near
	}
	return next
}

// scan is the loop of [Scanner.inline] over s.src[i:e].
func (s *Scanner) scan(i, e int) int {
	src := s.src[:e] // no bounds check below
	start, counted := i, i
	for mask := s.mode.mask | s.variantClass; ; {
		if mask&^classSpecial == 0 {
			i = s.skip(i, e, mask)
		} else {
			i = skip(src, i, mask)
		}
		if i >= e {
			break
		}
		next, stop := s.markup(start, i, e)
		s.work += i + 1 - counted
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
	s.text(src[start:])
	s.work += e - counted
	return e
}

// markup writes the plain text s.src[start:i] and renders the markup at
// s.src[i]. It returns the offset after the markup. If s.src[i] is plain text,
// it writes nothing and returns i. stop reports that the scan ends at next.
func (s *Scanner) markup(start, i, e int) (next int, stop bool) {
	switch s.src[i] {
	case '\n':
		s.text(s.src[start:i])
		return s.lineFeed(i)
	case ':':
		if s.openTags <= 0 && s.bold&1 == 0 && s.italic&1 == 0 && !s.inURL(start, i, e) {
			s.text(s.src[start:i])
			return i, true
		}
		return i, false
	}
	return s.element(start, i, e), false
}

// element does the work of [Scanner.markup] for the bytes that never end a
// scan. The two have a case for each byte of classInline.
func (s *Scanner) element(start, i, e int) (next int) {
	switch src := s.src[:e]; src[i] {
	case '\'':
		if i+1 < e && src[i+1] == '\'' {
			s.text(src[start:i])
			n := runLength(src, i)
			s.quote(n)
			return i + n
		}
	case '[':
		if !s.mode.label {
			return s.bracket(start, i, e)
		}
	case '{':
		if i+1 < e && src[i+1] == '{' {
			s.text(src[start:i])
			return s.braces(i, e)
		}
	case '<':
		return s.angle(start, i, e)
	case '&':
		if ent, ok := s.entities.at(src, i); ok {
			s.text(src[start:i])
			s.entity(ent)
			return ent.next
		}
	case 0xC2:
		if i+1 < e && src[i+1] == 0xA0 {
			s.text(src[start:i])
			s.str(" ")
			return i + 2
		}
	case '_':
		return s.switchName(start, i, e)
	case '-':
		return s.variantAt(start, i, e)
	}
	return i
}

// lineFeed handles the line feed at s.src[i]: it ends the scan or writes a
// space, depending on the mode.
func (s *Scanner) lineFeed(i int) (next int, stop bool) {
	if s.mode.line {
		return i, true
	}
	if !s.mode.label {
		s.endQuotes()
	}
	s.str(" ")
	return i + 1, false
}

// switchName removes the behaviour switch, such as __TOC__, at s.src[i], after
// writing the plain text s.src[start:i]. It returns i if there is none.
func (s *Scanner) switchName(start, i, e int) (next int) {
	n := switchAt(s.src[i:e], &s.name)
	if n == 0 {
		return i
	}
	s.text(s.src[start:i])
	if string(s.name) == "toc" { // the table of contents is a block
		s.breakLine()
	}
	return i + n
}

// bracket renders the internal or external link at s.src[i], after writing the
// plain text s.src[start:i]. It returns i if there is none.
func (s *Scanner) bracket(start, i, e int) (next int) {
	if i+1 < e && s.src[i+1] == '[' {
		if l, ok := s.linkAt(i, e); ok {
			s.text(s.src[start:i])
			s.link(l)
			return s.afterLink(l, e)
		}
		if l, ok := s.extLinkAt(i+1, e); ok { // [[http://a b]]
			return s.doubleBracketURL(start, i, e, l)
		}
		s.text(s.src[start : i+2])
		return i + 2
	}
	if l, ok := s.extLinkAt(i, e); ok {
		s.text(s.src[start:i])
		s.extLink(l)
		return l.next
	}
	return i
}

// doubleBracketURL renders the external link l at s.src[i+1], before which there
// is another "[", after writing the plain text s.src[start:i]. [[http://a b]] is
// "[b]". In [[http://a|b]] MediaWiki takes "|b" for a part of the address and
// shows "[[1]]"; the author meant the label "b", which is shown.
func (s *Scanner) doubleBracketURL(start, i, e int, l extLink) (next int) {
	bar := bytes.IndexByte(s.src[i:l.label], '|')
	if bar < 0 || l.label < l.labelEnd || l.next >= e || s.src[l.next] != ']' {
		s.text(s.src[start : i+1])
		s.extLink(l)
		return l.next
	}
	s.text(s.src[start:i])
	s.inline(i+bar+1, l.labelEnd, modeArgument)
	return l.next + 1
}

// angle renders the tag at s.src[i], after writing the plain text
// s.src[start:i]. It returns i if there is none.
func (s *Scanner) angle(start, i, e int) (next int) {
	if i+1 >= e || s.src[i+1] != '/' && class[s.src[i+1]]&classLetter == 0 {
		return i
	}
	if t, ok := s.extTagAt(i, e); ok {
		s.text(s.src[start:i])
		s.extension(t)
		return t.next
	}
	t, ok := s.tagAt(i, e)
	if !ok || !s.isMarkup(t, i) {
		return i
	}
	s.text(s.src[start:i])
	return s.tagElement(t, i, e)
}

// isMarkup reports whether the tag t at s.src[i], which is not an extension tag
// with a closing tag, is markup and not text. MediaWiki shows an unclosed
// extension tag as text; unclosed tags such as <ref> count as markup here and
// are dropped.
func (s *Scanner) isMarkup(t htmlTag, i int) bool {
	switch t.kind {
	case tagNowiki:
		return false
	case tagMeta:
		return bytes.Contains(s.src[i:t.next], []byte("itemprop"))
	}
	return true
}

// tagElement renders the tag t at s.src[i], which is not an extension tag with
// a closing tag, and returns the offset after it. A <table>, and an element that
// is not prose, is dropped with its content.
func (s *Scanner) tagElement(t htmlTag, i, e int) (next int) {
	switch {
	case t.closing || t.selfClosed:
	case t.kind == tagTable:
		if end, ok := s.htmlTableEnd(i, e); ok {
			s.breakLine()
			return end
		}
	case t.kind == tagInline || t.kind == tagBlock || t.kind == tagLine:
		if end, ok := s.hiddenEnd(i, t.next, e); ok {
			s.hide(t)
			return end
		}
	case t.kind == tagPre:
		s.pre = true
	case t.kind == tagPoem:
		s.poemEnd, _ = s.closingTag(t.tagInfo, t.next)
	}
	if !s.isOrphan(t) {
		s.tag(t)
	}
	return t.next
}

// isOrphan reports whether t is a closing tag without an opening one: neither
// the page nor a dropped template can have opened its element. It also counts
// the open elements.
func (s *Scanner) isOrphan(t htmlTag) bool {
	switch {
	case t.kind == tagPre && t.closing:
		orphan := !s.pre
		s.pre = false
		return orphan
	case t.kind != tagBlock || t.selfClosed:
		return false
	case !t.closing:
		s.divs++
		return false
	case s.divs > 0:
		s.divs--
		return false
	}
	return !s.residue
}

// inURL reports whether the colon at s.src[i] is part of a URL in the plain
// text from s.src[start] on. It is if a protocol name precedes this colon or an
// earlier colon of the same URL.
func (s *Scanner) inURL(start, i, e int) bool {
	if i < s.freeURL {
		return true
	}
	k := i
	for k > start && i-k < maxProtocol && class[s.src[k-1]]&classLetter != 0 {
		k--
	}
	n := protocolLength(s.src[k:e])
	if n == 0 {
		return false
	}
	end := s.urlEnd(k+n, e)
	for end > k+n && isURLTail(s.src[end-1]) {
		end--
	}
	s.freeURL = end
	return i < end
}

// isURLTail reports whether c, as the last character of a URL in plain text, is
// punctuation of the sentence and not part of the URL
// (Parser::makeFreeExternalLink).
func isURLTail(c byte) bool {
	switch c {
	case ',', ';', '.', ':', '!', '?':
		return true
	}
	return false
}
