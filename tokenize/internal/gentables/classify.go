package main

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// The parts of a class. They must equal the constants of package tokenize (unicode.go),
// whose tests compare every code point with an independent implementation of the rules.
const (
	kindKeep   = 0
	kindRemove = 1
	kindSpace  = 2
	kindCJK    = 3
	kindPunct  = 4

	lowerSame      = 0 << 3
	lowerMap       = 1 << 3
	lowerPunct     = 2 << 3
	lowerDrop      = 3 << 3
	lowerDropBreak = 4 << 3
	lowerReorder   = 5 << 3
	lowerMapTail   = 6 << 3
	lowerHangul    = 7 << 3

	sigmaCased      = 1 << 6
	sigmaIgnorable  = 2 << 6
	sigmaUnassigned = 3 << 6
)

// classify returns the class of a code point. If lower-casing, decomposing and
// removing accents change it to another text, that text is the replacement;
// otherwise the replacement is empty.
func classify(r rune) (class byte, replacement string, err error) {
	if r >= 0xd800 && r <= 0xdfff {
		return kindRemove, "", nil // never decoded from valid UTF-8
	}
	k := kind(r)
	class = k | sigmaContext(r)
	if k == kindRemove || k == kindSpace {
		return class, "", nil
	}
	action, replacement, err := lowered(r)
	if err != nil {
		return 0, "", err
	}
	if k == kindPunct && action != lowerSame && action != lowerPunct {
		return 0, "", fmt.Errorf("%U is punctuation, and its lower case without accents is %+q: the tables can only store one punctuation character", r, replacement)
	}
	if k == kindCJK && action != lowerSame && action != lowerMap {
		return 0, "", fmt.Errorf("%U is an ideograph, and lowering it needs action %d: the tables can only store lowerSame and lowerMap", r, action)
	}
	if k == kindCJK && class>>6 != 0 && class>>6 != sigmaUnassigned>>6 {
		return 0, "", fmt.Errorf("%U is an ideograph, and a capital sigma beside it is lowered in another way: the tables cannot store that", r)
	}
	return class | action, replacement, nil
}

// kind returns the class bits of r for cleaning and splitting into words, which
// follow _clean_text, _tokenize_chinese_chars, str.split and _is_punctuation of
// the reference.
func kind(r rune) byte {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return kindSpace
	case r == 0 || r == 0xfffd || unicode.In(r, unicode.Cc, unicode.Cf):
		return kindRemove
	case unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp):
		return kindSpace
	case isCJK(r):
		return kindCJK
	case isPunct(r):
		return kindPunct
	}
	return kindKeep
}

func isPunct(r rune) bool {
	ascii := r > ' ' && r < 0x7f && !('0' <= r && r <= '9') && !('a' <= r|0x20 && r|0x20 <= 'z')
	return ascii || unicode.Is(unicode.P, r)
}

func isCJK(r rune) bool {
	for _, block := range [][2]rune{
		{0x4e00, 0x9fff}, {0x3400, 0x4dbf}, {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
		{0x2b740, 0x2b81f}, {0x2b820, 0x2ceaf}, {0xf900, 0xfaff}, {0x2f800, 0x2fa1f},
	} {
		if block[0] <= r && r <= block[1] {
			return true
		}
	}
	return false
}

// lowered returns the class bits of r for lower-casing, decomposing and
// removing accents, and the resulting text if it differs from r. It fails if r
// breaks an assumption of the word splitter.
func lowered(r rune) (action byte, replacement string, err error) {
	if r >= 0xac00 && r <= 0xd7a3 {
		return lowerHangul, "", nil
	}
	full := []rune(norm.NFD.String(lower(r)))
	var kept []rune
	reorder, starters := 0, 0
	for i, c := range full {
		ccc := norm.NFD.PropertiesString(string(c)).CCC()
		if ccc == 0 {
			starters++
		}
		if starters > 0 && ccc == 0 && i > 0 && norm.NFD.PropertiesString(string(full[0])).CCC() != 0 {
			return 0, "", fmt.Errorf("decomposition begins with a non-starter and has a starter")
		}
		if unicode.Is(unicode.Mn, c) {
			continue
		}
		if ccc != 0 {
			reorder++
		} else if reorder > 0 {
			return 0, "", fmt.Errorf("decomposition has a combining character that is not removed (category other than Mn) before a starter")
		}
		if k := kind(c); k == kindRemove || k == kindSpace || k == kindPunct && len(kept) > 0 {
			return 0, "", fmt.Errorf("decomposition contains %+q, which splits or joins words", c)
		}
		kept = append(kept, c)
	}
	switch {
	case len(kept) == 0 && starters > 0:
		return lowerDropBreak, "", nil
	case len(kept) == 0:
		return lowerDrop, "", nil
	case reorder == 1 && len(kept) == 1 && kept[0] == r:
		return lowerReorder, "", nil
	case reorder > 0:
		return lowerMapTail, string(kept), nil
	case kind(kept[0]) == kindPunct && len(kept) > 1:
		return 0, "", fmt.Errorf("decomposition has punctuation and other characters: %+q", kept)
	case len(kept) == 1 && kept[0] == r:
		return lowerSame, "", nil
	case kind(kept[0]) == kindPunct:
		return lowerPunct, string(kept), nil
	}
	return lowerMap, string(kept), nil
}

// lower returns the lower case of a single character, as Python's str.lower
// does. It uses the full mapping of SpecialCasing.txt, whose only unconditional
// entry with more than one character is U+0130. The word splitter handles the
// final sigma, which depends on context.
func lower(r rune) string {
	if r == 0x130 {
		return "i\u0307"
	}
	return string(unicode.ToLower(r))
}

// wordBreakIgnorable has the characters with Word_Break MidLetter, MidNumLet or
// Single_Quote, which are Case_Ignorable (Unicode, chapter 3.13, D136).
const wordBreakIgnorable = "'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a"

// sigmaContext returns the class bits of r for the rule of the final sigma: r is skipped
// (Case_Ignorable), is a letter with case (Cased), or ends the word. Unassigned and private
// use characters also end the word, but have their own value.
func sigmaContext(r rune) byte {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk),
		strings.ContainsRune(wordBreakIgnorable, r):
		return sigmaIgnorable
	case unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase):
		return sigmaCased
	case unicode.In(r, unicode.Co, unicode.Cn):
		return sigmaUnassigned
	}
	return 0
}

// A caseRange is an element of lowerRanges in package tokenize.
type caseRange struct{ first, last, step, delta rune }

// lowerRanges returns the simple lower-case mappings as ranges. The full
// mappings (str.lower) differ only for U+0130, and for sigma, which depends on
// its position.
func lowerRanges() (out []caseRange) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		delta := unicode.ToLower(r) - r
		if delta == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].delta == delta {
			last := &out[n-1]
			step := r - last.last
			if step <= 2 && (last.first == last.last || last.step == step) {
				last.last, last.step = r, step
				continue
			}
		}
		out = append(out, caseRange{r, r, 1, delta})
	}
	return out
}

// strippedCapitals returns the characters that both lower-casing and removing
// accents change, each followed by the capital without its accents.
func strippedCapitals() (out []rune) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.ToLower(r) == r {
			continue
		}
		var kept []rune
		for _, c := range norm.NFD.String(string(r)) {
			if !unicode.Is(unicode.Mn, c) {
				kept = append(kept, c)
			}
		}
		if len(kept) != 1 {
			panic(fmt.Sprintf("%U without accents is %+q, want one character", r, kept))
		}
		if kept[0] != r {
			out = append(out, r, kept[0])
		}
	}
	return out
}
