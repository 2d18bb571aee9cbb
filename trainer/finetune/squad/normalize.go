package squad

import (
	"strings"
	"unicode"
)

// Normalize implements normalize_answer of the official metrics: it
// lower-cases, removes ASCII punctuation (so "a-b" becomes "ab"), replaces the
// words a, an and the by a blank, and collapses white space.
func Normalize(s string) string {
	return strings.Join(fields(dropArticles(dropPunctuation(lower(s)))), " ")
}

// lower implements Python's str.lower: Unicode's full mapping. Go's simple
// mapping lacks the capital I with a dot and the final sigma.
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

// finalSigma reports whether the capital sigma at i ends a word: a cased letter comes
// before it and none after it, skipping case-ignorable characters (Unicode, table
// 3-17). It skips a limited number of characters, so time is linear even for many
// sigmas among many ignorable characters.
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

// cased reports Unicode's property Cased.
func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// caseIgnorable reports Unicode's property Case_Ignorable. The listed
// characters are those with Word_Break MidLetter, MidNumLet and Single_Quote.
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

// dropArticles replaces every match of \b(a|an|the)\b by a blank, as Python's re does:
// word characters are letters, numbers and "_", but not combining accents.
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
