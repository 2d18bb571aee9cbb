package wikitext

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// A tableFinder pairs the starts and ends of the page's tables, which may be
// nested.
type tableFinder struct {
	tables  []tableSpan // sorted by start
	open    []int       // scratch: indices of unclosed tables
	matched int         // tables that begin before this offset are in tables
}

type tableSpan struct{ start, end int } // end < 0: not closed

func (f *tableFinder) reset() {
	if cap(f.tables) > maxKept || cap(f.open) > maxKept {
		f.tables, f.open = nil, nil
	}
	f.tables, f.open, f.matched = f.tables[:0], f.open[:0], 0
}

// find returns the end of the table that begins at offset i, or -1 if it is not
// closed. known is false if the page was not scanned up to i.
func (f *tableFinder) find(i int) (end int, known bool) {
	if k, ok := slices.BinarySearchFunc(f.tables, i, func(t tableSpan, start int) int { return t.start - start }); ok {
		return f.tables[k].end, true
	}
	return -1, i < f.matched
}

func (f *tableFinder) begin(i int) {
	f.open = append(f.open, len(f.tables))
	f.tables = append(f.tables, tableSpan{start: i, end: -1})
}

// finish closes the innermost open table at offset end and reports whether all
// tables are closed now.
func (f *tableFinder) finish(end int) bool {
	k := f.open[len(f.open)-1]
	f.open = f.open[:len(f.open)-1]
	f.tables[k].end = end
	return len(f.open) == 0
}

// startsTable reports whether a table begins with rest, after the white space of a
// line: "{|", or "{" or the bar written as a template, "{{{!}}" and "{{(!}}".
func startsTable(rest []byte) bool {
	return len(rest) > 1 && rest[0] == '{' &&
		(rest[1] == '|' && !bytes.HasPrefix(rest, []byte("{|}}")) ||
			bytes.HasPrefix(rest, []byte("{{{!}}")) || bytes.HasPrefix(rest, []byte("{{(!}}")))
}

// tableStop returns the length of the mark "|}" with which rest begins and that
// ends a table, or 0. "|}}" is not such a mark: it ends a template whose last
// argument is empty.
func tableStop(rest []byte) int {
	switch {
	case bytes.HasPrefix(rest, []byte("|}")) && !bytes.HasPrefix(rest, []byte("|}}")):
		return 2
	case bytes.HasPrefix(rest, []byte("{{!}}}")), bytes.HasPrefix(rest, []byte("{{!)}}")):
		return 6
	}
	return 0
}

// tableEnd returns the end of the table that begins at f.src[i]; ok is false if
// it is not closed before e.
func (f *finder) tableEnd(i, e int) (end int, ok bool) {
	end, known := f.tables.find(i)
	if !known {
		f.matchTables(i)
		end, _ = f.tables.find(i)
	}
	return end, end >= 0 && end <= e
}

// matchTables pairs the starts and ends of tables from the table at f.src[i]
// on, until all are closed.
func (f *finder) matchTables(i int) {
	n := len(f.src)
	start := i
	for atStart := true; i < n; {
		if atStart {
			atStart = false
			switch at := f.skipIndent(i); {
			case startsTable(f.src[at:n]):
				f.tables.begin(at)
				i = at + 2
				continue
			case tableStop(f.src[at:n]) > 0:
				i = at + tableStop(f.src[at:n])
				if len(f.tables.open) > 0 && f.tables.finish(i) {
					f.tables.matched = i
					f.work += i - start
					return
				}
				continue
			}
		}
		if i = f.skip(i, n, classLine); i < n {
			i, atStart = f.step(i, n), f.src[i] == '\n'
		}
	}
	f.tables.matched, f.tables.open = n, f.tables.open[:0]
	f.work += n - start
}

// skipIndent returns the offset after the spaces, tabs and colons at s.src[i],
// which may precede a table.
func (s *source) skipIndent(i int) int {
	for i < len(s.src) {
		switch s.src[i] {
		case ' ', '\t', ':':
			i++
		default:
			return i
		}
	}
	return i
}

// tableLine drops the table at s.src[i], renders the text after it on its last
// line, and returns the start of the next line. Of an unclosed table, the rows
// are dropped; but if no cell follows, only the first line.
func (s *Scanner) tableLine(i, e int) int {
	s.endLine()
	if end, ok := s.tableEnd(i, e); ok {
		s.fostered(i, end)
		s.endLine()
		return s.paragraphLine(end, e)
	}
	s.residue = true
	next := min(s.lineEnd(i, e)+1, e)
	first := next
	for first < e && (isBlank(s.src[first]) || s.src[first] == '\n') {
		first++
	}
	if first < e && s.src[first] != '|' && s.src[first] != '!' {
		return next
	}
	return s.rowsEnd(next, e)
}

// minProse is the minimum length, in bytes, of a line that is taken for prose
// and not for the content of a cell.
const minProse = 40

// rowsEnd returns the end of the rows of an unclosed table from the line at i on:
// the next heading, or the next paragraph of prose that is set off by an empty
// line. To MediaWiki all text up to the end of the page is in the last cell; then
// a mark that was forgotten would cost the text of a section.
func (s *Scanner) rowsEnd(i, e int) int {
	for empty := false; i < e; i = min(s.lineEnd(i, e)+1, e) {
		switch c := s.src[i]; {
		case c == '\n':
			empty = true
			continue
		case c == '=':
			if _, ok := s.headingAt(i, e); ok {
				return i
			}
		case c == '|' || c == '!' || c == '{':
			empty = false
		}
		if empty && s.lineEnd(i, e)-i >= minProse {
			return i
		}
	}
	return e
}

var rowMark = []byte("\n|-")

// fostered renders the text of the table s.src[i:end] that is in none of its
// cells: after its first line, or after the line of a row, and before a cell.
// Browsers show it before the table. Of a table in which another is nested only
// the text after the first line is rendered.
func (s *Scanner) fostered(i, end int) {
	s.fosteredLines(i, end)
	if k, found := slices.BinarySearchFunc(s.finder.tables.tables, i+1, func(t tableSpan, start int) int { return t.start - start }); found || k < len(s.finder.tables.tables) && s.finder.tables.tables[k].start < end {
		return
	}
	for {
		k := bytes.Index(s.src[i:end], rowMark)
		s.work += max(k, 0)
		if k < 0 {
			return
		}
		i += k + 1
		s.fosteredLines(i, end)
	}
}

// fosteredLines renders the lines after that at s.src[i] up to the first that
// begins a cell, a row or a table, or whose markup may give one.
func (s *Scanner) fosteredLines(i, end int) {
	for {
		k := bytes.IndexByte(s.src[i:end], '\n')
		if k < 0 {
			return
		}
		i += k + 1
		line := s.src[i:end]
		if k := bytes.IndexByte(line, '\n'); k >= 0 {
			line = line[:k]
		}
		text := trimSpace(line)
		if len(text) == 0 {
			continue
		}
		if class[text[0]]&classLetter == 0 && text[0] < utf8.RuneSelf && text[0] != '\'' && text[0] != '[' || bytes.ContainsAny(text, "{}|=") || hasTableTag(text) {
			return
		}
		s.endLine()
		s.inline(i, i+len(line), modeLine)
		s.endLine()
	}
}

// hasTableTag reports whether a line may have an HTML tag of a table.
func hasTableTag(line []byte) bool {
	for rest := line; ; {
		_, after, ok := bytes.Cut(rest, []byte("<"))
		if !ok {
			return false
		}
		rest = after
		if name := bytes.ToLower(bytes.TrimPrefix(after[:min(len(after), 8)], []byte("/"))); bytes.HasPrefix(name, []byte("t")) || bytes.HasPrefix(name, []byte("caption")) {
			return true
		}
	}
}

// htmlTableEnd returns the end of the <table> element at g.src[i]; ok is false
// if it is not closed before e.
func (g *tags) htmlTableEnd(i, e int) (end int, ok bool) {
	end, known := g.html.find(i)
	if !known {
		g.matchHTMLTables(i)
		end, _ = g.html.find(i)
	}
	return end, end >= 0 && end <= e
}

// matchHTMLTables pairs <table> tags from the tag at g.src[i] on, until all are
// closed.
func (g *tags) matchHTMLTables(i int) {
	f := &g.html
	for at, tag := range g.tagsFrom(i) {
		if tag.kind == tagTable && !tag.closing {
			f.begin(at)
		} else if tag.kind == tagTable && len(f.open) > 0 && f.finish(tag.next) {
			f.matched = tag.next
			return
		}
	}
	f.matched, f.open = len(g.src), f.open[:0]
}
