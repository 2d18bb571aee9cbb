package squad

import (
	"strings"
	"unicode"
)

// Normalize is normalize_answer of the official metrics: lower case, ASCII
// punctuation dropped (so "a-b" becomes "ab"), the words a, an and the replaced
// by a blank, white space squeezed.
func Normalize(s string) string {
	return strings.Join(fields(dropArticles(dropPunctuation(lower(s)))), " ")
}

// lower is Python's str.lower: Unicode's full mapping, of which Go's simple one
// lacks the capital I with a dot and the sigma that ends a word.
func lower(s string) string {
	if !strings.ContainsAny(s, "İΣ") {
		return strings.ToLower(s)
	}
	runes := []rune(s)
	var out strings.Builder
	for i, r := range runes {
		switch {
		case r == 'İ':
			out.WriteString("i\u0307")
		case r == 'Σ' && finalSigma(runes, i):
			out.WriteRune('ς')
		default:
			out.WriteRune(unicode.ToLower(r))
		}
	}
	return out.String()
}

// finalSigma reports whether the capital sigma at i ends a word: a letter with
// case before it and none after it, ignorable characters not counted (Unicode,
// table 3-17). A run of ignorable characters is looked through from both sides,
// so time is linear but for many sigmas in one such run, which the limit ends.
func finalSigma(s []rune, i int) bool {
	const far = 64
	before, after := i-1, i+1
	for before >= 0 && i-before <= far && caseIgnorable(s[before]) {
		before--
	}
	for after < len(s) && after-i <= far && caseIgnorable(s[after]) {
		after++
	}
	return before >= 0 && cased(s[before]) && (after == len(s) || !cased(s[after]))
}

// cased is Unicode's property Cased.
func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// caseIgnorable is Unicode's property Case_Ignorable. The characters listed are
// those of Word_Break MidLetter, MidNumLet and Single_Quote.
func caseIgnorable(r rune) bool {
	return strings.ContainsRune("'.:·\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a", r) ||
		unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

// punctuation is Python's string.punctuation.
const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

func dropPunctuation(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(punctuation, r) {
			return -1
		}
		return r
	}, s)
}

// dropArticles replaces \b(a|an|the)\b of Python's re by a blank. Word
// characters are letters, numbers and "_", not accents that follow a letter.
func dropArticles(s string) string {
	var out strings.Builder
	isWord := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }
	for s != "" {
		n := strings.IndexFunc(s, func(r rune) bool { return !isWord(r) })
		if n < 0 {
			n = len(s)
		}
		switch word := s[:n]; word {
		case "a", "an", "the":
			out.WriteByte(' ')
		default:
			out.WriteString(word)
		}
		gap := strings.IndexFunc(s[n:], isWord)
		if gap < 0 {
			gap = len(s) - n
		}
		out.WriteString(s[n : n+gap])
		s = s[n+gap:]
	}
	return out.String()
}
