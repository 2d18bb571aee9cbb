package squad

import (
	"unicode/utf8"
)

// A word is a byte range of a paragraph between white space.
type word struct{ from, to int32 }

// isWhite implements is_whitespace of run_squad.py, which differs from Python's
// str.isspace.
func isWhite(r rune) bool {
	return r == ' ' || r == '\t' || r == '\r' || r == '\n' || r == 0x202f
}

// split returns the words of a text.
func split(text string) []word {
	var words []word
	from := -1
	for i, r := range text {
		switch {
		case isWhite(r) && from >= 0:
			words = append(words, word{int32(from), int32(i)})
			from = -1
		case !isWhite(r) && from < 0:
			from = i
		}
	}
	if from >= 0 {
		words = append(words, word{int32(from), int32(len(text))})
	}
	return words
}

// wordOfChar returns the word number of every character of a text. White space gets the
// number of the word before it, or -1 at the beginning.
func wordOfChar(text string) []int32 {
	at := make([]int32, 0, utf8.RuneCountInString(text))
	n, inWord := int32(-1), false
	for _, r := range text {
		switch {
		case isWhite(r):
			inWord = false
		case !inWord:
			n, inWord = n+1, true
		}
		at = append(at, n)
	}
	return at
}
