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
	lengths := h.lengths()
	for len(lines) > 0 {
		var v lineView
		v, lines = nextView(lines)
		for word := range bytes.FieldsFuncSeq(v.bytes, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) }) {
			if lengths.may(word) {
				h.count(bytes.ToLower(word))
			}
		}
	}
	return h
}

// count counts an occurrence of a word in lower case.
func (h hyphens) count(word []byte) {
	if n, ok := h[string(word)]; ok {
		h[string(word)] = n + 1
	} else if bytes.Count(word, []byte("-")) == 1 {
		joined := bytes.Replace(word, []byte("-"), nil, 1)
		if n, ok := h[string(joined)]; ok {
			h[string(joined)] = n - 1
		}
	}
}

// wordLengths has, for each first byte of words, a bit for each of their lengths. Few words of
// a book are divided somewhere, so most words need not be looked up.
type wordLengths [utf8.RuneSelf]uint64

// lengths returns the lengths of the words of h that begin with an ASCII character.
func (h hyphens) lengths() *wordLengths {
	l := new(wordLengths)
	for word := range h {
		if word != "" && word[0] < utf8.RuneSelf {
			l[word[0]] |= 1 << min(len(word), 63)
		}
	}
	return l
}

// may reports whether h may have a word, in lower case, as it is or without a hyphen.
func (l *wordLengths) may(word []byte) bool {
	n := len(word)
	for _, c := range word {
		if c == '-' {
			n--
		} else if c >= utf8.RuneSelf {
			return true // in lower case it may have another length
		}
	}
	first := word[0]
	if 'A' <= first && first <= 'Z' {
		first += 'a' - 'A'
	}
	return first == '-' || l[first]>>min(n, 63)&1 != 0
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
