package wikitext

import "bytes"

// blocks renders the lines of src[i:e].
func (s *Scanner) blocks(i, e int) {
	for i < e {
		i = s.block(i, e)
	}
	s.endLine()
}

// block renders the construct (heading, list item, table, paragraph) whose
// first line begins at s.src[i] and returns the offset where the next line
// begins. The page, or the argument being rendered, ends at e.
func (s *Scanner) block(i, e int) int {
	src := s.src
	if !s.pre {
		if k := s.vanishing(i, e); k < e && isList(src[k]) {
			return s.list(k, e)
		}
	}
	if next := s.invisible(i, e); next > i {
		return next
	}
	s.prefix = s.prefix[:0]
	switch src[i] {
	case '\n':
		s.endLine()
		return i + 1
	case ' ', '\t', '\r':
		return s.indented(i, e)
	case '=':
		if next, ok := s.heading(i, e); ok {
			s.residue = false
			return next
		}
	case '{':
		if startsTable(s.src[i:e]) {
			return s.tableLine(i, e)
		}
		s.residue = s.residue || i+1 < e && src[i+1] == '{'
	case '|', '!':
		if s.isResidue(i, e) {
			return s.residueLine(i, e)
		}
	case '-':
		if bytes.HasPrefix(src[i:e], []byte("----")) {
			s.endLine()
			return s.paragraphLine(i+runLength(src[:e], i), e)
		}
	}
	return s.paragraph(i, e)
}

// invisible returns the end of the behaviour switch, such as __TOC__, at the
// start of the line at s.src[i], or i if there is none. The text after the
// switch still counts as the start of the line.
func (s *Scanner) invisible(i, e int) int {
	if s.src[i] == '_' {
		return i + switchAt(s.src[i:e], &s.name)
	}
	return i
}

// vanishing returns the end of the links to categories and other languages at
// s.src[i], which are not shown; or i if there are none. The text after them
// still counts as the start of the line.
func (s *Scanner) vanishing(i, e int) int {
	for i+1 < e && s.src[i] == '[' && s.src[i+1] == '[' {
		// The byte after the link rules out most lines that begin with a link.
		if k := i + bytes.IndexByte(s.src[i:min(e, i+maxTitleBytes)], ']'); k < i || k+2 >= e || !isList(s.src[k+2]) && s.src[k+2] != '[' {
			break
		}
		l, ok := s.linkAt(i, e)
		if !ok || !l.odd {
			break
		}
		if w := namespaceOf(s.src[l.target:l.targetEnd], &s.name); w != wordCategory && w != wordLanguage {
			break
		}
		i = l.next
	}
	return i
}

// paragraph renders the line of text at s.src[i], which continues the paragraph
// of the line above if there is one. It returns the start of the next line.
func (s *Scanner) paragraph(i, e int) int {
	if s.soft {
		s.softBreak()
	}
	return s.paragraphLine(i, e)
}

// paragraphLine renders the line of text at s.src[i] and returns the start of
// the next line.
func (s *Scanner) paragraphLine(i, e int) int {
	i = s.inline(i, e, modeLine)
	s.endQuotes()
	s.soft = !s.bol
	if i < s.poemEnd {
		s.breakLine()
	}
	return min(i+1, e)
}

// indented renders a line that begins with white space: an empty line, a table,
// or a preformatted line. It returns the start of the next line.
func (s *Scanner) indented(i, e int) int {
	j := i
	for j < e && isBlank(s.src[j]) {
		j++
	}
	switch {
	case j == e:
		return e
	case s.src[j] == '\n':
		s.endLine()
		return j + 1
	case startsTable(s.src[j:e]):
		return s.tableLine(j, e)
	}
	if s.src[i] != ' ' {
		return s.paragraph(j, e)
	}
	s.endLine()
	next := s.paragraphLine(j, e)
	s.endLine()
	return next
}

// isResidue reports whether the line at s.src[i] is a table row, or the end of
// a table, whose start is in a dropped template.
func (s *Scanner) isResidue(i, e int) bool {
	return s.residue && (s.src[i] == '|' || i+1 < e && s.src[i+1] == ' ')
}

// residueLine drops the line of a table for which [Scanner.isResidue] is true.
// Text after the mark that ends the table is rendered.
func (s *Scanner) residueLine(i, e int) int {
	if n := tableStop(s.src[i:e]); n > 0 {
		s.endLine()
		return s.paragraphLine(i+n, e)
	}
	return min(s.lineEnd(i, e)+1, e)
}

// isList reports whether a line that begins with c is a list item.
func isList(c byte) bool { return c == '*' || c == '#' || c == ':' || c == ';' }

// list renders the list item at s.src[i], without its markers, and returns the
// start of the next line.
func (s *Scanner) list(i, e int) int {
	j := i
	for j < e && isList(s.src[j]) {
		j++
	}
	terms := s.terms(s.src[i:j])
	s.endLine()
	text := j
	for text < e && isBlank(s.src[text]) {
		text++
	}
	if text < e && startsTable(s.src[text:e]) && s.skipIndent(i) == text {
		return s.tableLine(text, e)
	}
	start, heads := len(s.out), s.heads.n
	s.openTags, s.freeURL = 0, 0
	for ; terms > 0; terms-- {
		text = s.inline(text, e, modeTerm)
		if text >= e || s.src[text] != ':' {
			break
		}
		s.breakLine()
		text++
	}
	if text < e && s.src[text] != '\n' {
		text = s.inline(text, e, modeLine)
	}
	s.endLine()
	if !s.opt.Lists {
		s.out, s.line, s.heads.n = s.out[:start], start, heads
		s.quotes.reset(start)
	}
	return min(text+1, e)
}

// terms returns how many terms ("; term : definition") a line with these list
// markers may define. A new list has as many terms as its markers have
// semicolons; a line that continues the list above, with a semicolon last, has
// one (BlockLevelPass::execute in MediaWiki).
func (s *Scanner) terms(markers []byte) int {
	same := len(markers) == len(s.prefix)
	common, n := 0, 0
	for k, c := range markers {
		p := c
		if p == ';' {
			p = ':'
		}
		if k < len(s.prefix) {
			same = same && s.prefix[k] == p
			if common == k && s.prefix[k] == c {
				common++
			}
		}
	}
	if same {
		if markers[len(markers)-1] == ';' {
			n = 1
		}
	} else {
		for _, c := range markers[common:] {
			if c == ';' {
				n++
			}
		}
	}
	s.prefix = append(s.prefix[:0], markers...)
	for k, c := range s.prefix {
		if c == ';' {
			s.prefix[k] = ':'
		}
	}
	return n
}
