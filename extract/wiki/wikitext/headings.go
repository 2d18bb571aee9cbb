package wikitext

import "bytes"

// pendingHeadings holds headings whose sections have no text yet. They are
// written before the first text that follows, so the heading of an empty
// section is never written.
type pendingHeadings struct {
	buf  []byte
	head [maxHeadingLevel]pendingHeading
	n    int
}

const maxHeadingLevel = 6

type pendingHeading struct {
	level      int
	start, end int // in buf
}

func (h *pendingHeadings) reset() { h.buf, h.n = h.buf[:0], 0 }

// push adds a heading and removes the pending headings of the same or a deeper
// level, whose sections are empty. For a heading that is not shown, text is
// empty.
func (h *pendingHeadings) push(level int, text []byte) {
	for h.n > 0 && h.head[h.n-1].level >= level {
		h.n--
	}
	start := 0
	if h.n > 0 {
		start = h.head[h.n-1].end
	}
	h.buf = append(h.buf[:start], text...)
	h.head[h.n] = pendingHeading{level: level, start: start, end: len(h.buf)}
	h.n++
}

// writeHeadings writes the pending headings, each as a line.
func (w *writer) writeHeadings() {
	h := &w.heads
	for _, p := range h.head[:h.n] {
		if p.end > p.start {
			w.out = append(w.out, h.buf[p.start:p.end]...)
			w.out = append(w.out, '\n')
		}
	}
	if h.n > 0 {
		w.line = len(w.out)
		w.chunk = max(w.chunk, w.line)
		h.n = 0
	}
}

// A headingLine is a source line "== text ==", given by offsets.
type headingLine struct {
	level      int
	start, end int // of the text between the signs
	next       int // where the next line begins
}

// headingAt parses the line at src[i], which is "=". ok is false if the line
// is not a heading. White space may follow the closing signs.
func (b *braceFinder) headingAt(i, e int) (h headingLine, ok bool) {
	eol := b.lineEnd(i, e)
	end := eol
	for end > i && isBlank(b.src[end-1]) {
		end--
	}
	open := i
	for open < end && b.src[open] == '=' {
		open++
	}
	shut := end
	for shut > open && b.src[shut-1] == '=' {
		shut--
	}
	level := min(open-i, end-shut, maxHeadingLevel)
	if open == end { // a line of only "=": the middle ones are the text
		level = min((end-i-1)/2, maxHeadingLevel)
	}
	if level <= 0 {
		return headingLine{}, false
	}
	h = headingLine{level: level, start: i + level, end: end - level, next: min(eol+1, e)}
	return h, true
}

// heading renders the heading at src[i]. It returns where the next line
// begins, or the next section if this section is dropped because it is back
// matter (references, external links). ok is false if there is no heading.
func (b *blocks) heading(i, e int) (next int, ok bool) {
	h, ok := b.in.headingAt(i, e)
	if !ok {
		return i, false
	}
	b.w.endLine()
	saved := b.w.divert()
	b.inline.render(h.start, h.end, modeArgument)
	text := bytes.TrimSpace(b.w.resume(saved))
	backMatter, end := false, h.next
	if !b.opt.BackMatter && h.level <= maxBackMatterLevel {
		var mayBeSubject bool
		if backMatter, mayBeSubject = isBackMatter(text, &b.name); backMatter {
			end = b.in.sectionEnd(h.next, e, h.level)
			backMatter = !mayBeSubject || !isProse(b.in.src[h.next:end])
		}
	}
	if !b.opt.Headings || backMatter {
		text = nil
	}
	b.w.heads.push(h.level, text)
	b.w.quotes.reset(len(b.w.out))
	if backMatter {
		return end, true
	}
	return h.next, true
}

// maxBackMatterLevel is the deepest heading level (number of "=") at which a section
// can be back matter. A deeper heading, even "Notes", belongs to an ordinary section.
const maxBackMatterLevel = 3

// sectionEnd returns the offset of the next heading whose level is at most
// level, or e.
func (b *braceFinder) sectionEnd(i, e, level int) int {
	for i < e {
		if b.src[i] == '=' {
			if h, ok := b.headingAt(i, e); ok && h.level <= level {
				return i
			}
		}
		i = min(b.lineEnd(i, e)+1, e)
	}
	return e
}

// lineEnd returns the end of the source line at src[i]: the next line feed
// that is not inside a template, comment or extension tag.
func (b *braceFinder) lineEnd(i, e int) int { return b.outside(i, e, '\n') }
