package books

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// hyphens decides, by the other words of a book, whether a hyphen at the end of a line
// divides a word: "won-" and "derful" are one word if the book has "wonderful" more
// often than "won-derful".
type hyphens map[string]int // joined word, in lower case → its occurrences less those with the hyphen

// findHyphens collects the words that are divided at line ends, and counts how the book
// writes them elsewhere.
func findHyphens(lines []byte) hyphens {
	h := hyphens{}
	v, rest := nextView(lines)
	for len(rest) > 0 {
		next, after := nextView(rest)
		if key, ok := dividedWord(v.bytes, next.bytes); ok {
			h[key] = 0
		}
		v, rest = next, after
	}
	if len(h) == 0 {
		return nil
	}
	for len(lines) > 0 {
		var v lineView
		v, lines = nextView(lines)
		for word := range bytes.FieldsFuncSeq(v.bytes, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) }) {
			word = bytes.ToLower(word)
			if n, ok := h[string(word)]; ok {
				h[string(word)] = n + 1
			} else if joined := bytes.ReplaceAll(word, []byte("-"), nil); len(joined) < len(word) {
				if n, ok := h[string(joined)]; ok && len(joined) == len(word)-1 {
					h[string(joined)] = n - 1
				}
			}
		}
	}
	return h
}

// divided reports whether the hyphen at the end of the line prev divides a word that
// ends in the line next.
func (h hyphens) divided(prev, next []byte) bool {
	if len(h) == 0 {
		return false
	}
	key, ok := dividedWord(prev, next)
	return ok && h[key] > 0
}

// dividedWord returns the word, in lower case and without the hyphen, of which prev may
// end with the first part and next begin with the second; ok is false if prev does not
// end with a letter and a hyphen, or next does not begin with a small letter.
func dividedWord(prev, next []byte) (word string, ok bool) {
	head, ok := bytes.CutSuffix(prev, []byte("-"))
	if !ok {
		return "", false
	}
	last, _ := utf8.DecodeLastRune(head)
	first, _ := utf8.DecodeRune(next)
	if !unicode.IsLetter(last) || !unicode.IsLower(first) {
		return "", false
	}
	head = head[bytes.LastIndexFunc(head, func(r rune) bool { return !unicode.IsLetter(r) })+1:]
	tail := next
	if end := bytes.IndexFunc(next, func(r rune) bool { return !unicode.IsLetter(r) }); end >= 0 {
		tail = next[:end]
	}
	if len(head)+len(tail) > 64 {
		return "", false
	}
	return string(bytes.ToLower(append(bytes.Clone(head), tail...))), true
}
