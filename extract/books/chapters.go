package books

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the chapter rules.
const (
	maxHeadingBytes = 120 // maximum length of a chapter heading
	minChapterRunes = 200 // minimum length of a chapter; a shorter part is a title page or the like
)

// chapterWords are the words that begin chapter headings, in lower case, in English,
// German, French, Spanish, Portuguese, Italian, Dutch, Danish and Norwegian, Polish,
// Czech, Russian and Finnish.
var chapterWords = []string{"chapter", "book", "part", "letter", "canto", "stave", "adventure", "act", "volume",
	"kapitel", "capitel", "buch", "teil", "chapitre", "livre", "partie", "capítulo", "capitulo", "libro", "capitolo", "parte",
	"hoofdstuk", "deel", "rozdział", "kapitola", "глава", "часть", "luku", "osa"}

// numberWords are the English words for numbers in chapter headings.
var numberWords = []string{"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
	"fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "thirty", "forty", "fifty", "sixty",
	"the", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "last"}

// isHeading reports whether a line is the heading of a chapter: a word in
// chapterWords, a number in digits, Roman numerals or English words, and an
// optional title.
func isHeading(line []byte) bool {
	if len(line) == 0 || len(line) > maxHeadingBytes {
		return false
	}
	word, rest, ok := strings.Cut(string(line), " ")
	if !ok || !containsFold(chapterWords, word) {
		return false
	}
	number := strings.TrimLeft(rest, " ")
	if i := strings.IndexFunc(number, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }); i >= 0 {
		number = number[:i]
	}
	switch {
	case number == "":
		return false
	case strings.Trim(number, "0123456789") == "", strings.Trim(number, "IVXLCDM") == "":
		return true
	}
	// "part one of …" in lower case begins a sentence. In a heading, the line ends
	// after the number, or punctuation follows it.
	after := strings.TrimLeft(rest, " ")[len(number):]
	ends := after == "" || strings.ContainsAny(after[:1], ".:-,;—")
	return ends && strings.Trim(number, "ivxlcdm") == "" || containsFold(numberWords, number) && (ends || word == strings.ToUpper(word))
}

func containsFold(words []string, word string) bool {
	for _, w := range words {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// cutChapters splits a text before each chapter heading.
func cutChapters(text []byte) (parts [][]byte) {
	start := 0
	for at := 0; at < len(text); {
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			end = len(text) - at
		}
		if at > start && isHeading(text[at:at+end]) {
			parts = append(parts, text[start:at-1])
			start = at
		}
		at += end + 1
	}
	return append(parts, text[start:])
}

// joinShort joins each part that is too short for a chapter to the next part, or, if
// there is none, to the last chapter.
func joinShort(parts [][]byte) (chapters [][]byte) {
	var open []byte
	for _, p := range parts {
		if len(p) == 0 {
			continue
		}
		if len(open) > 0 {
			p = bytes.Join([][]byte{open, p}, []byte("\n"))
		}
		if open = p; len(p) >= minChapterRunes*utf8.UTFMax || utf8.RuneCount(p) >= minChapterRunes {
			chapters, open = append(chapters, p), nil
		}
	}
	switch {
	case len(open) == 0:
	case len(chapters) == 0:
		chapters = append(chapters, open)
	default:
		last := len(chapters) - 1
		chapters[last] = bytes.Join([][]byte{chapters[last], open}, []byte("\n"))
	}
	return chapters
}
