package wikitext

import "bytes"

// blocks renders the lines of a page: headings, list items, tables and paragraphs.
type blocks struct {
	opt    Options
	in     *finder
	w      *writer
	tables *tables
	inline *inline
	tags   *tags // is a <pre> or <poem> open?

	prefix []byte // list markers of the previous line, with ":" for ";"
	outer  []byte // stack: list markers of the lines around each argument being rendered
	name   []byte // scratch: a folded name
}

// render renders the lines of src[i:e].
func (b *blocks) render(i, e int) {
	for i < e {
		i = b.block(i, e)
	}
	b.w.endLine()
}

// block renders the construct (heading, list item, table, paragraph) whose
// first line begins at src[i] and returns the offset where the next line
// begins. The page, or the argument being rendered, ends at e.
func (b *blocks) block(i, e int) int {
	src := b.in.src
	if !b.tags.pre {
		if k := b.vanishing(i, e); k < e && isList(src[k]) {
			return b.list(k, e)
		}
	}
	if src[i] == '_' { // the text after a behaviour switch is still at the start of the line
		if n := switchAt(src[i:e], &b.name); n > 0 {
			return i + n
		}
	}
	b.prefix = b.prefix[:0]
	switch src[i] {
	case '\n':
		b.w.endLine()
		return i + 1
	case ' ', '\t', '\r':
		return b.indented(i, e)
	case '=':
		if next, ok := b.heading(i, e); ok {
			b.tables.residue = b.tables.open
			return next
		}
	case '{':
		if startsTable(src[i:e]) {
			return b.table(i, e)
		}
		b.tables.residue = b.tables.residue || i+1 < e && src[i+1] == '{'
	case '|', '!':
		if b.tables.residue && (src[i] == '|' || i+1 < e && src[i+1] == ' ') {
			return b.residue(i, e)
		}
	case '-':
		if bytes.HasPrefix(src[i:e], []byte("----")) {
			b.w.endLine()
			return b.paragraphLine(i+runLength(src[:e], i), e)
		}
	}
	return b.paragraph(i, e)
}

// vanishing returns the end of the links at src[i] that are not shown: links to
// categories and to other languages. It returns i if there are none. The text after
// such links still counts as the start of the line.
func (b *blocks) vanishing(i, e int) int {
	for i+1 < e && b.in.src[i] == '[' && b.in.src[i+1] == '[' {
		// The byte after the link rules out most lines that begin with a link.
		if k := i + bytes.IndexByte(b.in.src[i:min(e, i+maxTitleBytes)], ']'); k < i || k+2 >= e || !isList(b.in.src[k+2]) && b.in.src[k+2] != '[' {
			break
		}
		l, ok := b.in.linkAt(i, e)
		if !ok || !l.odd {
			break
		}
		if w := namespaceOf(b.in.src[l.target:l.targetEnd], &b.name); w != wordCategory && w != wordLanguage {
			break
		}
		i = l.next
	}
	return i
}

// paragraph renders the line of text at src[i]. If the line above belongs to a
// paragraph, the line continues it. paragraph returns the start of the next line.
func (b *blocks) paragraph(i, e int) int {
	if b.w.soft {
		b.w.softBreak()
	}
	return b.paragraphLine(i, e)
}

// paragraphLine renders the line of text at src[i] and returns the start of
// the next line.
func (b *blocks) paragraphLine(i, e int) int {
	i = b.inline.render(i, e, modeLine)
	b.w.endQuotes()
	b.w.soft = !b.w.bol
	if i < b.tags.poemEnd {
		b.w.breakLine()
	}
	return min(i+1, e)
}

// indented renders a line that begins with white space: an empty line, a table,
// or a preformatted line. It returns the start of the next line.
func (b *blocks) indented(i, e int) int {
	j := i
	for j < e && isBlank(b.in.src[j]) {
		j++
	}
	switch {
	case j == e:
		return e
	case b.in.src[j] == '\n':
		b.w.endLine()
		return j + 1
	case startsTable(b.in.src[j:e]):
		return b.table(j, e)
	}
	if b.in.src[i] != ' ' {
		return b.paragraph(j, e)
	}
	if !b.opt.Code && !b.tags.pre {
		if end := sourceCode(b.in.src[:e], i); end > i {
			b.w.endLine()
			return end
		}
	}
	b.w.endLine()
	next := b.paragraphLine(j, e)
	b.w.endLine()
	return next
}

// sourceCode returns the end of the lines at src[i] that begin with a space if they are
// source code, else i. At least two of them, and half of all, must look like it.
func sourceCode(src []byte, i int) int {
	lines, code, end := 0, 0, i
	for end < len(src) && src[end] == ' ' {
		line, _, _ := bytes.Cut(src[end:], []byte("\n"))
		end = min(end+len(line)+1, len(src))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			break
		}
		lines++
		if looksLikeCode(line) {
			code++
		}
	}
	if code < 2 || 2*code < lines {
		return i
	}
	return end
}

// codeMarks are parts of lines of source code that text hardly has.
var codeMarks = [...]string{"();", " := ", " == ", " != ", " += ", "#include"}

// looksLikeCode reports whether a line ends like a statement or block of source code, or
// has one of codeMarks. Lines with markup of MediaWiki do not.
func looksLikeCode(line []byte) bool {
	if bytes.Contains(line, []byte("{{")) || bytes.Contains(line, []byte("}}")) || bytes.Contains(line, []byte("[[")) {
		return false
	}
	if last := line[len(line)-1]; last == ';' || last == '{' || last == '}' {
		return true
	}
	for _, mark := range codeMarks {
		if bytes.Contains(line, []byte(mark)) {
			return true
		}
	}
	return false
}

// table drops the table at src[i], renders the text after it on its last line, and
// returns the start of the next line.
func (b *blocks) table(i, e int) int {
	b.w.endLine()
	next, closed := b.tables.drop(i, e)
	if !closed {
		return next
	}
	b.w.endLine()
	return b.paragraphLine(next, e)
}

// residue drops the line at src[i]: a table row, or the end of a table, whose start is
// in a dropped template. Text after a mark that ends the table is rendered. residue
// returns the start of the next line.
func (b *blocks) residue(i, e int) int {
	if n := tableStop(b.in.src[i:e]); n > 0 {
		b.w.endLine()
		return b.paragraphLine(i+n, e)
	}
	return min(b.in.lineEnd(i, e)+1, e)
}

// isList reports whether a line that begins with c is a list item.
func isList(c byte) bool { return c == '*' || c == '#' || c == ':' || c == ';' }

// list renders the list item at src[i], without its markers, and returns the
// start of the next line.
func (b *blocks) list(i, e int) int {
	j := i
	for j < e && isList(b.in.src[j]) {
		j++
	}
	terms := b.terms(b.in.src[i:j])
	b.w.endLine()
	text := j
	for text < e && isBlank(b.in.src[text]) {
		text++
	}
	if text < e && startsTable(b.in.src[text:e]) && b.in.skipIndent(i) == text {
		return b.table(text, e)
	}
	start, heads := len(b.w.out), b.w.heads.n
	b.tags.open, b.inline.freeURL = 0, 0
	for ; terms > 0; terms-- {
		text = b.inline.render(text, e, modeTerm)
		if text >= e || b.in.src[text] != ':' {
			break
		}
		b.w.breakLine()
		text++
	}
	if text < e && b.in.src[text] != '\n' {
		text = b.inline.render(text, e, modeLine)
	}
	b.w.endLine()
	if !b.opt.Lists {
		b.w.out, b.w.line, b.w.heads.n = b.w.out[:start], start, heads
		b.w.quotes.reset(start)
	}
	return min(text+1, e)
}

// terms returns how many terms ("; term : definition") a line with these list markers
// may define (BlockLevelPass::execute in MediaWiki). If the previous line has the same
// markers, the line may define one term, and only if its last marker is a semicolon.
// Otherwise it may define one term for each semicolon among its new markers.
func (b *blocks) terms(markers []byte) int {
	same := len(markers) == len(b.prefix)
	common, n := 0, 0
	for k, c := range markers {
		p := c
		if p == ';' {
			p = ':'
		}
		if k < len(b.prefix) {
			same = same && b.prefix[k] == p
			if common == k && b.prefix[k] == c {
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
	b.prefix = append(b.prefix[:0], markers...)
	for k, c := range b.prefix {
		if c == ';' {
			b.prefix[k] = ':'
		}
	}
	return n
}

// lines renders an argument as separate output lines.
func (b *blocks) lines(p span) {
	if p.empty() {
		return
	}
	if b.w.head || b.w.line > len(b.w.out) { // inside a heading or captured text: no new lines
		b.inline.render(p.start, p.end, modeArgument)
		return
	}
	mark := len(b.outer)
	b.outer = append(b.outer, b.prefix...)
	quotes, soft, near := b.w.quotes, b.w.soft, b.in.near
	b.w.breakLine()
	b.w.quotes.reset(len(b.w.out))
	b.prefix = b.prefix[:0]
	b.render(p.start, p.end)
	b.prefix = append(b.prefix[:0], b.outer[mark:]...)
	b.outer = b.outer[:mark]
	quotes.chunk = len(b.w.out)
	b.w.quotes, b.w.soft, b.in.near = quotes, soft, near
}
