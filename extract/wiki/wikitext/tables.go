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
	matched int         // all tables that begin before this offset are in tables
}

type tableSpan struct{ start, end int } // end < 0: not closed

func (f *tableFinder) reset() {
	if cap(f.tables) > maxKept || cap(f.open) > maxKept {
		f.tables, f.open = nil, nil
	}
	f.tables, f.open, f.matched = f.tables[:0], f.open[:0], 0
}

// search returns the index in f.tables of the first table that begins at or after
// offset i, and whether it begins exactly at i.
func (f *tableFinder) search(i int) (k int, found bool) {
	return slices.BinarySearchFunc(f.tables, i, func(t tableSpan, start int) int { return t.start - start })
}

// find returns the end of the table that begins at offset i, or -1 if it is not
// closed. known is false if the page was not scanned up to i.
func (f *tableFinder) find(i int) (end int, known bool) {
	if k, ok := f.search(i); ok {
		return f.tables[k].end, true
	}
	return -1, i < f.matched
}

// nested reports whether another table begins inside the table [i, end).
func (f *tableFinder) nested(i, end int) bool {
	k, _ := f.search(i + 1)
	return k < len(f.tables) && f.tables[k].start < end
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

// startsTable reports whether rest, the source after a line's white space, begins a
// table: with "{|", or with "{" and a template for the bar, "{{{!}}" or "{{(!}}".
func startsTable(rest []byte) bool {
	return len(rest) > 1 && rest[0] == '{' &&
		(rest[1] == '|' && !bytes.HasPrefix(rest, []byte("{|}}")) ||
			bytes.HasPrefix(rest, []byte("{{{!}}")) || bytes.HasPrefix(rest, []byte("{{(!}}")))
}

// tableStop returns the length of the mark "|}" that ends a table, if rest begins with
// it, or 0. The bar may be written as a template, "{{!}}}". "|}}" is not such a mark:
// it ends a template whose last argument is empty.
func tableStop(rest []byte) int {
	switch {
	case bytes.HasPrefix(rest, []byte("|}")) && !bytes.HasPrefix(rest, []byte("|}}")):
		return 2
	case bytes.HasPrefix(rest, []byte("{{!}}}")), bytes.HasPrefix(rest, []byte("{{!)}}")):
		return 6
	}
	return 0
}

// tableEnd returns the end of the table that begins at src[i]; ok is false if
// it is not closed before e.
func (f *finder) tableEnd(i, e int) (end int, ok bool) {
	end, known := f.tables.find(i)
	if !known {
		f.matchTables(i)
		end, _ = f.tables.find(i)
	}
	return end, end >= 0 && end <= e
}

// matchTables pairs the starts and ends of tables from the table at src[i]
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

// skipIndent returns the offset after the spaces, tabs and colons at src[i],
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

// tables removes wikitext tables from a page. Of a table, only text that is in no cell is
// rendered.
type tables struct {
	in      *finder
	w       *writer
	inline  *inline
	residue bool // a dropped template or an earlier line may have opened a table
	open    bool // a table of the page is not closed: lines that look like rows are rows, up to the end
}

// drop drops the table at src[i] and returns its end. If the table is not closed, its
// rows are dropped; if no cell follows its first line, only that line is dropped.
func (t *tables) drop(i, e int) (next int, closed bool) {
	if end, ok := t.in.tableEnd(i, e); ok {
		t.fostered(i, end)
		return end, true
	}
	t.residue, t.open = true, true
	next = min(t.in.lineEnd(i, e)+1, e)
	first := next
	for first < e && (isBlank(t.in.src[first]) || t.in.src[first] == '\n') {
		first++
	}
	if first < e && t.in.src[first] != '|' && t.in.src[first] != '!' {
		return next, false
	}
	return t.rowsEnd(next, e), false
}

// minProse is the minimum length, in bytes, of a line that is taken for prose
// and not for the content of a cell.
const minProse = 40

// rowsEnd returns the end of the rows of an unclosed table, from the line at i on: the
// next heading, or the next paragraph of prose after an empty line. MediaWiki puts all
// text up to the end of the page into the last cell, so without this rule a forgotten
// mark would drop the text of a whole section.
func (t *tables) rowsEnd(i, e int) int {
	for empty := false; i < e; i = min(t.in.lineEnd(i, e)+1, e) {
		switch c := t.in.src[i]; {
		case c == '\n':
			empty = true
			continue
		case c == '=':
			if _, ok := t.in.headingAt(i, e); ok {
				return i
			}
		case c == '|' || c == '!' || c == '{':
			empty = false
		}
		if empty && t.in.lineEnd(i, e)-i >= minProse {
			return i
		}
	}
	return e
}

var rowMark = []byte("\n|-")

// fostered renders the text of the table src[i:end] that is outside of its cells: text
// between its first line, or the line of a row, and the next cell. Browsers show such
// text before the table. If the table contains another one, only the text after its
// first line is rendered.
func (t *tables) fostered(i, end int) {
	t.fosteredLines(i, end)
	if t.in.tables.nested(i, end) {
		return
	}
	for {
		k := bytes.Index(t.in.src[i:end], rowMark)
		t.in.work += max(k, 0)
		if k < 0 {
			return
		}
		i += k + 1
		t.fosteredLines(i, end)
	}
}

// fosteredLines renders the lines after the line at src[i], as text outside of cells (see
// [tables.fostered]). It stops at the first line that begins a cell, a row or a table, or
// whose markup may produce one.
func (t *tables) fosteredLines(i, end int) {
	for {
		k := bytes.IndexByte(t.in.src[i:end], '\n')
		if k < 0 {
			return
		}
		i += k + 1
		line := t.in.src[i:end]
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
		t.w.endLine()
		t.inline.render(i, i+len(line), modeLine)
		t.w.endLine()
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

// htmlTableEnd returns the end of the <table> element at src[i]; ok is false if it is
// not closed before e. It pairs tags from src[i] on, until all tables are closed.
func (g *tagFinder) htmlTableEnd(i, e int) (end int, ok bool) {
	f := &g.html
	end, known := f.find(i)
	if !known {
		f.matched = len(g.src)
		for at, tag := range g.tagsFrom(i) {
			if tag.kind == tagTable && !tag.closing {
				f.begin(at)
			} else if tag.kind == tagTable && len(f.open) > 0 && f.finish(tag.next) {
				f.matched = tag.next
				break
			}
		}
		f.open = f.open[:0]
		end, _ = f.find(i)
	}
	return end, end >= 0 && end <= e
}
