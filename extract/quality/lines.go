package quality

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"pretext/extract/internal/words"
)

// lineFacts holds counts about the lines of a document.
type lineFacts struct {
	lines      int // lines that are not blank
	bullets    int
	ellipses   int // lines that end in an ellipsis
	punctuated int
	short      int
	sentences  int // sentences in the lines that C4 keeps
	lorem      int // lines containing "lorem ipsum"
}

// Constants of the published code of C4 and FineWeb.
const (
	c4WordsPerLine  = 3
	c4WordLength    = 1000
	shortLineLength = 30
)

// c4Phrases are the phrases that make C4 drop a line.
var c4Phrases = [...]string{"javascript", "terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies"}

// bullets are the characters that mark list items: the characters in Gopher's rule, and
// similar characters. Hyphens and asterisks are not included, because other lines begin
// with them too.
const bullets = "•‣▪◦●○■·⁃"

// keptBuffer is the maximum capacity, in bytes, of a buffer that is reused for the next
// document.
const keptBuffer = 1 << 20

func (p *profile) lineFacts() *lineFacts {
	if !p.haveLines {
		p.haveLines, p.lines = true, lineFacts{}
		for line := range linesOf(p.doc.Text) {
			p.lines.line(line, &p.lower)
		}
		if cap(p.lower) > keptBuffer {
			p.lower = nil
		}
	}
	return &p.lines
}

// linesOf yields the lines of text that are not blank, without leading and
// trailing white space.
func linesOf(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); line != "" && !yield(line) {
				return
			}
		}
	}
}

func (f *lineFacts) line(line string, lower *[]byte) {
	f.lines++
	first, _ := utf8.DecodeRuneInString(line)
	if strings.ContainsRune(bullets, first) {
		f.bullets++
	}
	ellipsis := strings.HasSuffix(line, "...") || strings.HasSuffix(line, "…")
	if ellipsis {
		f.ellipses++
	}
	ends := endsInMark(line)
	if ends {
		f.punctuated++
	}
	if len(line) <= shortLineLength*utf8.UTFMax && width(line) <= shortLineLength {
		f.short++
	}
	*lower = appendLower((*lower)[:0], line)
	if bytes.Contains(*lower, []byte("lorem ipsum")) {
		f.lorem++
	}
	if ends && !ellipsis && c4Keeps(line, *lower) {
		f.sentences += countSentences(line)
	}
}

// spacelessWidth is the number of characters that a character of a script without spaces
// counts as, in the length of a short line.
const spacelessWidth = 3

// width returns the number of characters in a line, where one of a script without spaces
// counts as spacelessWidth.
func width(line string) (n int) {
	for _, r := range line {
		n++
		if words.Spaceless(r) {
			n += spacelessWidth - 1
		}
	}
	return n
}

// c4Keeps reports whether C4 keeps a line: the line has enough words, no word is too
// long, and it has no phrase of c4Phrases. lower is the line in lower case.
func c4Keeps(line string, lower []byte) bool {
	count := 0
	for start, end := range wordsOf(line) {
		if end-start > c4WordLength && utf8.RuneCountInString(line[start:end]) > c4WordLength {
			return false
		}
		count++
	}
	if count < c4WordsPerLine {
		return false
	}
	for _, phrase := range c4Phrases {
		if bytes.Contains(lower, []byte(phrase)) {
			return false
		}
	}
	return true
}

// appendLower appends s with ASCII letters in lower case.
func appendLower(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// isMark reports whether r is punctuation that ends a sentence.
func isMark(r rune) bool {
	switch r {
	case '.', '!', '?', '。', '！', '？', '．', '।', '॥', '؟', '۔', '።', '։', '…':
		return true
	}
	return false
}

// isCloser reports whether r is a quotation mark or bracket that may follow the
// punctuation at the end of a sentence.
func isCloser(r rune) bool {
	switch r {
	case '"', '\'', '”', '’', '»', '«', '›', ')', ']', '」', '』', '）':
		return true
	}
	return false
}

// endsInMark reports whether a line ends as C4 and FineWeb require: in
// punctuation that ends a sentence, or in a quotation mark.
func endsInMark(line string) bool {
	last, _ := utf8.DecodeLastRuneInString(line)
	return isMark(last) || last == '"' || last == '\'' || last == '”' || last == '’' || last == '»' || last == '」'
}

// countSentences returns the number of sentence ends in a line that ends in a mark
// (endsInMark). The result is at least 1.
func countSentences(line string) (n int) {
	marked := false
	for i, r := range line {
		switch {
		case isMark(r):
			marked = true
			if r >= 0x3000 && r != '．' { // no white space follows full-width marks
				n++
				marked = false
			}
		case marked && unicode.IsSpace(r):
			n++
			marked = false
		case !isCloser(r) || i == 0:
			marked = false
		}
	}
	if marked {
		n++
	}
	return max(n, 1)
}

func (p *profile) bulletLines() (float64, bool) { return ratio(p.lineFacts().bullets, p.lines.lines) }
func (p *profile) ellipsisLines() (float64, bool) {
	return ratio(p.lineFacts().ellipses, p.lines.lines)
}
func (p *profile) punctuatedLines() (float64, bool) {
	return ratio(p.lineFacts().punctuated, p.lines.lines)
}
func (p *profile) shortLines() (float64, bool)  { return ratio(p.lineFacts().short, p.lines.lines) }
func (p *profile) c4Sentences() (float64, bool) { return float64(p.lineFacts().sentences), true }
func (p *profile) loremIpsum() (float64, bool)  { return float64(p.lineFacts().lorem), true }
