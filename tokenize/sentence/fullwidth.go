package sentence

import (
	"strings"
	"unicode/utf8"
)

// hasFullWidthStops reports whether texts in lang lack the full stops and
// spaces that Punkt needs: Japanese, Thai, and the Chinese languages written in
// Chinese characters. lang is a code of a Wikipedia edition or a BCP 47 tag.
// zh-min-nan (nan) is written in Latin letters, so the result for it is false.
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

// A fullWidth splitter ends a sentence after full-width sentence marks and the
// closing quotes and brackets that follow them, and at the end of a line.
type fullWidth struct{}

func (fullWidth) AppendSpans(dst []Span, text string) []Span {
	for start := 0; start < len(text); {
		end := lineEnd(text, start)
		dst = appendMarked(dst, text[:end], start)
		start = end + 1
	}
	return dst
}

// appendMarked appends the spans of the sentences of line[start:].
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

// endsSentence reports whether the mark r ends a sentence. before is the
// character before r, or -1. A full-width full stop after a digit does not end
// a sentence: it is a decimal point or belongs to a list number.
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
