package sentence

import (
	"strings"
	"unicode/utf8"
)

// hasFullWidthStops reports whether a language is written without the full
// stops and spaces that Punkt needs: Chinese in varieties written in Chinese
// characters, Japanese and Thai. Codes are those of Wikipedia editions and of
// BCP 47. zh-min-nan (nan) is written in Latin letters and does not count.
func hasFullWidthStops(lang string) bool {
	lang = strings.ToLower(lang)
	switch lang {
	case "zh-min-nan", "zh_min_nan":
		return false
	}
	switch primary(lang) {
	case "zh", "yue", "wuu", "lzh", "gan", "hsn", "cmn", "ja", "th":
		return true
	}
	return false
}

// fullWidth ends a sentence after a run of full-width sentence marks with
// closing quotes and brackets, and at the end of a line.
type fullWidth struct{}

func (fullWidth) AppendSpans(dst []Span, text string) []Span {
	for start := 0; start < len(text); {
		end := lineEnd(text, start)
		dst = appendMarked(dst, text[:end], start)
		start = end + 1
	}
	return dst
}

// appendMarked appends the sentences of line[start:].
func appendMarked(dst []Span, line string, start int) []Span {
	start = skipSpace(line, start)
	before := rune(-1)
	for i := start; i < len(line); {
		r, width := utf8.DecodeRuneInString(line[i:])
		i += width
		if !endsSentence(before, r) {
			before = r
			continue
		}
		i = skipClosers(line, i)
		dst = append(dst, Span{start, i})
		start = skipSpace(line, i)
		i, before = start, -1
	}
	if stop := trimEnd(line, start, len(line)); stop > start {
		dst = append(dst, Span{start, stop})
	}
	return dst
}

// endsSentence reports whether the mark r ends a sentence. A full-width full
// stop does, unless a digit precedes it: then it is a decimal point or belongs
// to a list number.
func endsSentence(before, r rune) bool {
	switch r {
	case '。', '！', '？', '｡', '‼', '⁇', '⁈', '⁉', '︒', '︕', '︖':
		return true
	case '．':
		return !('0' <= before && before <= '9' || '０' <= before && before <= '９')
	}
	return false
}

// skipClosers returns the position after the sentence marks and closing quotes
// and brackets at s[i:].
func skipClosers(s string, i int) int {
	for i < len(s) {
		r, width := utf8.DecodeRuneInString(s[i:])
		if !endsSentence(-1, r) && !strings.ContainsRune("」』）】〉》］｝〕〗〙〛｠｣”’»\"')]", r) {
			break
		}
		i += width
	}
	return i
}
