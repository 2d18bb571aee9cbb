package books

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"pretext/extract/text"
)

// What transcribers of books add to the author's text, and what pages had besides it.
// The forms are those of the transcribers' own guidelines (Distributed Proofreaders'
// "Formatting Guidelines") and of Project Gutenberg's files.

// maxBracketLines is the maximum number of lines of a note in square brackets.
const maxBracketLines = 200

// creditBytes is the number of bytes at the start of a text that are searched for
// credits of transcribers.
const creditBytes = 8 << 10

// brackets are the words, in lower case, that begin a note in square brackets which is
// not the author's text.
var brackets = [][]byte{[]byte("illustration"), []byte("footnote"), []byte("transcriber"), []byte("transcription note"), []byte("frontispiece"),
	[]byte("decoration"), []byte("blank page"), []byte("sidenote"), []byte("page "), []byte("pg "), []byte("pg. "), []byte("* ")}

// pictures are the ends of names of image files, in lower case.
var pictures = [...]string{".jpg", ".jpeg", ".png", ".gif"}

// maxCaptionLines is the maximum number of lines of a caption in braces.
const maxCaptionLines = 8

// credits are the beginnings, in lower case, of paragraphs that name transcribers.
var credits = [][]byte{[]byte("produced by "), []byte("e-text prepared by "), []byte("etext prepared by "), []byte("this etext was "), []byte("this e-text was "),
	[]byte("this ebook was "), []byte("transcribed by "), []byte("transcribed from "), []byte("scanned by "), []byte("scanned and proofed by "), []byte("proofreading by "), []byte("transcriber's note"), []byte("transcriber’s note")}

// dropApparatus removes illustrations' captions, footnotes, page numbers, lines of stars,
// credits and notes of transcribers, marks of italics and repeated spaces from collected
// lines. It overwrites lines, and returns how many lines it removed as a whole.
func dropApparatus(lines []byte) (_ []byte, removed int64) {
	out := lines[:0]
	blank := true // the line before is blank
	for at := 0; at < len(lines); {
		v, rest := nextView(lines[at:])
		after := len(lines) - len(rest)
		if len(v.bytes) == 0 {
			out = appendBlank(out)
			at, blank = after, true
			continue
		}
		end, n := bracketed(lines, at)
		if n == 0 && blank {
			end, n = captioned(lines, at)
		}
		if n > 0 {
			removed += n
			out = appendBlank(out)
			at, blank = end, true
			continue
		}
		if blank && at < creditBytes && hasFoldedPrefix(v.bytes, credits) {
			for len(v.bytes) > 0 {
				removed++
				at = after
				v, rest = nextView(lines[at:])
				after = len(lines) - len(rest)
			}
			continue
		}
		if isOrnament(v.bytes) || isPageLine(v.bytes) {
			removed++
			at = after // blank lines around it remain: a page ends inside a paragraph
			continue
		}
		if blank && isDropCap(v.bytes) {
			v.bytes = v.bytes[1:]
		}
		begin := len(out)
		out = append(out, lines[at])
		if out = appendCleaned(out, v.bytes); len(text.Strip(out[begin+1:])) == 0 {
			out = out[:begin]
			removed++
		} else {
			out = append(out, '\n')
			blank = false
		}
		at = after
	}
	return out, removed
}

// appendBlank appends a blank line, unless the last line is blank.
func appendBlank(out []byte) []byte {
	if len(out) == 0 || bytes.HasSuffix(out, []byte("\n\n")) {
		return out
	}
	return append(out, '\n')
}

// hasFoldedPrefix reports whether b begins with one of the words, which are in lower case.
func hasFoldedPrefix(b []byte, words [][]byte) bool {
	for _, w := range words {
		if len(b) >= len(w) && bytes.EqualFold(b[:len(w)], w) {
			return true
		}
	}
	return false
}

// bracketed returns the end of the note in square brackets that begins the line at
// lines[at:], and its number of lines; n is 0 if there is none. The note ends at its
// closing bracket, which must end a line.
func bracketed(lines []byte, at int) (end int, n int64) {
	v, _ := nextView(lines[at:])
	if len(v.bytes) < 2 || v.bytes[0] != '[' || !hasFoldedPrefix(v.bytes[1:], brackets) {
		return 0, 0
	}
	depth := 0
	for at < len(lines) && n < maxBracketLines {
		v, rest := nextView(lines[at:])
		for _, c := range v.bytes {
			switch c {
			case '[':
				depth++
			case ']':
				depth--
			}
		}
		at = len(lines) - len(rest)
		n++
		if depth <= 0 {
			if bytes.HasSuffix(v.bytes, []byte("]")) {
				return at, n
			}
			return 0, 0
		}
	}
	return 0, 0
}

// captioned returns the end of the paragraph at lines[at:] that is the caption of an image
// file, such as "{A portrait: p12.jpg}", and its number of lines; n is 0 if it is none.
func captioned(lines []byte, at int) (end int, n int64) {
	if v, _ := nextView(lines[at:]); len(v.bytes) == 0 || v.bytes[0] != '{' {
		return 0, 0
	}
	for at < len(lines) && n < maxCaptionLines {
		v, rest := nextView(lines[at:])
		at = len(lines) - len(rest)
		n++
		inner, closed := bytes.CutSuffix(v.bytes, []byte("}"))
		if !closed {
			continue
		}
		for _, picture := range pictures {
			if bytes.HasSuffix(bytes.ToLower(inner), []byte(picture)) {
				return at, n
			}
		}
		return 0, 0
	}
	return 0, 0
}

// isDropCap reports whether the first line of a paragraph begins with "|", by which
// transcribers mark a large initial. Rows of tables have more than one.
func isDropCap(line []byte) bool {
	if len(line) < 2 || line[0] != '|' || bytes.IndexByte(line[1:], '|') >= 0 {
		return false
	}
	first, _ := utf8.DecodeRune(line[1:])
	return unicode.IsUpper(first)
}

// isOrnament reports whether a line consists of at least three stars, dashes or similar
// marks, with spaces between them.
func isOrnament(line []byte) bool {
	n := 0
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		line = line[size:]
		switch r {
		case '*', '-', '_', '=', '~', '•', '·', '—', '–', '#', '+':
			n++
		case ' ', '\t', '\u00a0', '\u3000':
		default:
			return false
		}
	}
	return n >= 3
}

// isPageLine reports whether a line is the number of a page: "{12}", "[12]", "- 12 -".
// Digits alone may be a heading and are not.
func isPageLine(line []byte) bool {
	if len(line) > 0 && unicode.IsLetter(rune(line[0])) && line[0] < utf8.RuneSelf {
		return false // most lines: bytes.Trim is slower
	}
	inner := bytes.Trim(line, "{[-–— ]}")
	if len(inner) == len(line) || len(inner) == 0 || len(inner) > 4 {
		return false
	}
	return len(bytes.Trim(inner, "0123456789")) == 0
}

// appendCleaned appends a line without page numbers, marks of footnotes and italics, and
// repeated spaces.
func appendCleaned(dst, line []byte) []byte {
	if isClean(line) { // most lines
		return append(dst, line...)
	}
	return appendCleanedBytes(dst, line)
}

// isClean reports whether a line has nothing that appendCleaned might change.
func isClean(line []byte) bool {
	return !bytes.HasPrefix(line, []byte(" ")) && !bytes.Contains(line, []byte("  ")) &&
		bytes.IndexByte(line, '[') < 0 && bytes.IndexByte(line, '_') < 0 && bytes.IndexByte(line, '{') < 0
}

func appendCleanedBytes(dst, line []byte) []byte {
	begin := len(dst)
	for i := 0; i < len(line); {
		switch c := line[i]; c {
		case '{', '[':
			if n := markLength(line[i:], i > 0 && line[i-1] != ' '); n > 0 {
				i += n
				continue
			}
		case '_':
			if isItalics(line, i) {
				i++
				continue
			}
		case ' ':
			if len(dst) == begin || dst[len(dst)-1] == ' ' {
				i++
				continue
			}
		}
		dst = append(dst, line[i])
		i++
	}
	return dst
}

// markLength returns the length of the page number or footnote mark that begins b:
// "{12}", "[Pg 12]", and, attached to a word, "[12]", "[A]" or "[*]"; 0 if there is none.
func markLength(b []byte, attached bool) int {
	const longest = 12
	closing := byte(']')
	if b[0] == '{' {
		closing = '}'
	}
	end := bytes.IndexByte(b[:min(len(b), longest)], closing)
	if end < 2 {
		return 0
	}
	inner := b[1:end]
	isNumber := len(inner) <= 4 && len(bytes.Trim(inner, "0123456789")) == 0
	switch {
	case closing == '}':
		if !isNumber {
			return 0
		}
	case hasFoldedPrefix(inner, [][]byte{[]byte("pg "), []byte("pg. "), []byte("page ")}):
	case attached && (isNumber && len(inner) <= 3 || len(inner) == 1 && (inner[0] == '*' || inner[0] >= 'A' && inner[0] <= 'Z')):
	default:
		return 0
	}
	return end + 1
}

// isItalics reports whether the underscore at line[i] marks italics. It does not inside a
// word, next to another underscore, or between spaces.
func isItalics(line []byte, i int) bool {
	before, _ := utf8.DecodeLastRune(line[:i])
	after, _ := utf8.DecodeRune(line[i+1:])
	if i == 0 {
		before = ' '
	}
	if i+1 == len(line) {
		after = ' '
	}
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	return before != '_' && after != '_' && !(isWord(before) && isWord(after)) && !(before == ' ' && after == ' ')
}
