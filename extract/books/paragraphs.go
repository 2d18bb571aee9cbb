package books

import (
	"bytes"
	"unicode/utf8"

	"pretext/extract/internal/words"
	"pretext/extract/text"
)

// Constants of the rules for line breaks in the package comment. They were chosen with
// 21 books: 20 are from Project Gutenberg and wrapped at 65 to 73 columns. In these 20,
// 2 to 6 % of the line breaks follow the end of a sentence, and only verse, letters and
// lists have short lines.
const (
	marginPercentile = 98
	maxMargin        = 120
	minMargin        = 30
)

// A lineView is a line as a [collector] stored it.
type lineView struct {
	indent int    // columns before the text
	bytes  []byte // the text, without white space at its ends; empty for a blank line
}

// nextView returns the first of the collected lines b, and the lines after it.
func nextView(b []byte) (v lineView, rest []byte) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		end = len(b)
	}
	line := b[:end]
	rest = b[min(end+1, len(b)):]
	if len(line) == 0 {
		return lineView{}, rest
	}
	// Decoding may have added white space.
	return lineView{int(line[0] - '!'), text.Strip(line[1:])}, rest
}

// columns returns the number of columns of the line, with its indentation.
func (v lineView) columns() int { return v.indent + utf8.RuneCount(v.bytes) }

// paragraphs joins the collected lines of a book to paragraphs, each on one
// line. It overwrites lines.
func (r *Reader) paragraphs(lines []byte) []byte {
	if !r.opts.KeepBoilerplate {
		body, trimmed := trimGutenberg(lines)
		if trimmed {
			r.stats.Trimmed++
		}
		lines = r.withoutApparatus(body)
	}
	keep, margin := r.opts.KeepLines, 0
	if !keep {
		s := measure(lines)
		margin = s.margin()
		keep = s.sentenceEnds*2 >= s.breaks || margin > maxMargin
	}
	return joinLines(lines, keep, margin)
}

// withoutApparatus returns collected lines without what transcribers added. It overwrites
// lines.
func (r *Reader) withoutApparatus(lines []byte) []byte {
	var removed int64
	if isAozora(lines) {
		lines, removed = dropAozora(lines)
		r.stats.Apparatus += removed
	}
	lines, removed = dropApparatus(lines)
	r.stats.Apparatus += removed
	return lines
}

// joinLines joins collected lines to paragraphs and returns the text. If keep is true,
// every line is a paragraph; otherwise margin is the length, in columns, at which lines
// are wrapped. joinLines overwrites lines with its output. The output always fits,
// because each collected line has two more bytes, an indent byte and a line feed.
func joinLines(lines []byte, keep bool, margin int) []byte {
	words := hyphens(nil)
	if !keep {
		words = findHyphens(lines)
	}
	out := lines[:0]
	var prev lineView // the line before v, at its position in out
	v, rest := nextView(lines)
	for len(v.bytes) > 0 || len(rest) > 0 {
		next, after := nextView(rest)
		if len(v.bytes) > 0 {
			switch {
			case len(out) == 0:
			case len(prev.bytes) == 0 || keep || v.staysApart(prev, next, margin):
				out = append(out, '\n')
			case words.divided(prev.bytes, v.bytes), bytes.HasSuffix(prev.bytes, []byte("\u00AD")):
				_, n := utf8.DecodeLastRune(out)
				out = out[:len(out)-n]
			case !joinsBare(prev.bytes, v.bytes):
				out = append(out, ' ')
			}
			out = append(out, v.bytes...)
			prev = lineView{v.indent, out[len(out)-len(v.bytes):]}
		} else {
			prev = lineView{}
		}
		v, rest = next, after
	}
	return out
}

// staysApart reports whether the line break between prev and v, two lines
// without a blank line between them, is kept. next is the line after v.
func (v lineView) staysApart(prev, next lineView, margin int) bool {
	if margin < minMargin {
		return false
	}
	if 4*(prev.columns()+1+firstWord(v.bytes)) <= 3*margin {
		return true
	}
	return v.indent >= prev.indent+2 && (len(next.bytes) == 0 || next.indent < v.indent)
}

// firstWord returns the length, in columns, of the text before the first possible line
// break.
func firstWord(line []byte) int {
	n := 0
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		if text.IsBlank(r) {
			break
		}
		n++
		if spaceless(r) {
			break
		}
		line = line[size:]
	}
	return n
}

// spaceless reports whether r belongs to a script without spaces between words,
// or is punctuation of such a script.
func spaceless(r rune) bool {
	return words.Spaceless(r) || r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFF60
}

// joinsBare reports whether the lines prev and next are joined without a space between
// them.
func joinsBare(prev, next []byte) bool {
	last, n := utf8.DecodeLastRune(prev)
	switch last {
	case '-', '\u2010', '\u2011', '\u2013', '\u2014', '\u00AD':
		before, _ := utf8.DecodeLastRune(prev[:len(prev)-n])
		return len(prev) > n && !text.IsBlank(before)
	}
	first, _ := utf8.DecodeRune(next)
	return spaceless(last) && spaceless(first)
}

// A measurement describes the line breaks inside the paragraphs of a book.
type measurement struct {
	breaks       int
	sentenceEnds int      // breaks after the end of a sentence
	lengths      [256]int // number of lines before breaks, indexed by length in columns
}

func measure(lines []byte) *measurement {
	s := new(measurement)
	v, rest := nextView(lines)
	for len(rest) > 0 {
		next, after := nextView(rest)
		if len(v.bytes) > 0 && len(next.bytes) > 0 {
			s.breaks++
			s.lengths[min(v.columns(), len(s.lengths)-1)]++
			if endsSentence(v.bytes) {
				s.sentenceEnds++
			}
		}
		v, rest = next, after
	}
	return s
}

// margin returns the length, in columns, at which the lines are wrapped: the
// 98th percentile of their lengths.
func (s *measurement) margin() int {
	seen := 0
	for columns, n := range s.lengths {
		seen += n
		if seen*100 >= s.breaks*marginPercentile {
			return columns
		}
	}
	return len(s.lengths)
}

// endsSentence reports whether a line ends with punctuation that ends a
// sentence. Quotation marks and brackets may follow it.
func endsSentence(line []byte) bool {
	for len(line) > 0 {
		r, n := utf8.DecodeLastRune(line)
		switch r {
		case '.', '!', '?', '…', '。', '！', '？', '．', '।', '॥', '؟', '۔', '።', '։':
			return true
		case '"', '\'', '”', '’', '“', '»', '«', '›', ')', ']', '」', '』', '）', ' ', '`':
		default:
			return false
		}
		line = line[:len(line)-n]
	}
	return false
}
