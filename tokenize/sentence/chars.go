package sentence

import (
	"sort"
	"unicode/utf8"
)

// A classRange assigns a class to the characters lo to hi. A class has bits for
// upper and lower case (the derived properties), decimal digit (\d of Python's
// re), letter (\w without \d), Case_Ignorable, and Cased. The last two
// determine the lower case of a capital sigma.
type classRange struct {
	lo, hi rune
	class  uint8
}

// A lowerRange is a range of characters that have a lower case: c becomes c + delta, for c
// = lo, lo+step, … hi.
type lowerRange struct{ lo, hi, step, delta rune }

// class returns the class of a character, or 0 if it has none of the
// properties.
func class(r rune) uint8 {
	i := sort.Search(len(classRanges), func(i int) bool { return classRanges[i].hi >= r })
	if i < len(classRanges) && classRanges[i].lo <= r {
		return classRanges[i].class
	}
	return 0
}

// lower returns the simple lower-case mapping of a character.
func lower(r rune) rune {
	i := sort.Search(len(lowerRanges), func(i int) bool { return lowerRanges[i].hi >= r })
	if i == len(lowerRanges) || r < lowerRanges[i].lo || (r-lowerRanges[i].lo)%lowerRanges[i].step != 0 {
		return r
	}
	return r + lowerRanges[i].delta
}

// appendLower appends s in lower case as Python's str.lower does: the simple
// mapping of each character, except that İ becomes i with a dot above, and a
// capital sigma at the end of a word becomes ς. Invalid bytes stay unchanged.
func appendLower(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf {
			return appendLowerWide(dst, s, i)
		}
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst
}

// appendLowerWide appends s[i:] in lower case; s may have any characters. It reads s[:i]
// only to decide whether a capital sigma is at the end of a word.
func appendLowerWide(dst []byte, s string, i int) []byte {
	const (
		dottedI    = 'İ'
		sigma      = 'Σ'
		finalSigma = 'ς'
		dotAbove   = "\u0307"
	)
	inWord := endsCased(s[:i])
	for i < len(s) {
		r, width := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && width == 1:
			dst = append(dst, s[i])
		case r == dottedI:
			dst = append(dst, "i"+dotAbove...)
		case r == sigma && inWord && !startsCased(s[i+width:]):
			dst = utf8.AppendRune(dst, finalSigma)
		default:
			dst = utf8.AppendRune(dst, lower(r))
		}
		if c := class(r); c&classIgnorable == 0 {
			inWord = c&classCased != 0
		}
		i += width
	}
	return dst
}

// endsCased reports whether the last character of s that is not
// Case_Ignorable is Cased.
func endsCased(s string) bool {
	for len(s) > 0 {
		r, width := utf8.DecodeLastRuneInString(s)
		if c := class(r); c&classIgnorable == 0 {
			return c&classCased != 0
		}
		s = s[:len(s)-width]
	}
	return false
}

// startsCased reports whether the first character of s that is not
// Case_Ignorable is Cased.
func startsCased(s string) bool {
	for len(s) > 0 {
		r, width := utf8.DecodeRuneInString(s)
		if c := class(r); c&classIgnorable == 0 {
			return c&classCased != 0
		}
		s = s[width:]
	}
	return false
}
