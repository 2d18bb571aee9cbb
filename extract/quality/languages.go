package quality

import (
	"math"
	"strings"
	"sync"
)

// NoSpaces is the prefix of limits for documents in scripts without spaces between words:
// more than half of the words are single characters.
const NoSpaces = "no-spaces"

// withoutSpaces are limits for documents in scripts without spaces, where a run of five
// words is a run of five characters. As in FineWeb-2 (Penedo et al. 2025, arXiv 2506.20920,
// section 3.4), they are taken from the distribution in articles of Wikipedia in such a
// language, here the 1st and 99th percentile of 548 Japanese articles (for max-short-lines
// also of 23 Chinese ones), if these are beyond the published limit.
var withoutSpaces = sync.OnceValue(func() map[string]float64 {
	return map[string]float64{
		"min-alphabetic-words":         0.72,
		"min-punctuated-lines":         0.05,
		"max-repeated-line-characters": 0.03,
		"max-short-lines":              0.80,
		"max-top-4-gram":               0.18,
		"max-duplicate-5-grams":        0.28,
		"max-duplicate-6-grams":        0.24,
		"max-duplicate-7-grams":        0.20,
		"max-duplicate-8-grams":        0.19,
		"max-duplicate-9-grams":        0.17,
		"max-duplicate-10-grams":       0.13,
	}
})

// SplitLimit splits a key of [Options].Limits into the language, or [NoSpaces], and the
// name of the rule. The language is "" if the limit holds for all documents.
func SplitLimit(key string) (lang, rule string) {
	if lang, rule, ok := strings.Cut(key, ":"); ok {
		return lang, rule
	}
	return "", key
}

// NoLimit returns a limit that no document violates.
func NoLimit(rule string) float64 {
	if strings.HasPrefix(rule, "min-") {
		return 0
	}
	return math.MaxFloat64
}

// isPrefix reports whether a limit may begin with lang: a language code, in lower case and
// without script or country, or [NoSpaces].
func isPrefix(lang string) bool {
	return lang == NoSpaces || len(lang) >= 2 && len(lang) <= 8 && strings.Trim(lang, "abcdefghijklmnopqrstuvwxyz") == ""
}

// BaseLang returns a document's language without script and country, as in limits.
func BaseLang(lang string) string {
	lang, _, _ = strings.Cut(strings.ToLower(lang), "-")
	return lang
}

func (p *profile) baseLang() string { return BaseLang(p.doc.Lang) }

// noSpaces reports whether the document is in a script without spaces.
func (p *profile) noSpaces() bool { return 2*p.wordFacts().spaced < p.words.words }

// limitFor returns the limit for a document: that for its language, else that for scripts
// without spaces, else that for all. ok is false if there is none.
func (a *asked) limitFor(p *profile) (limit float64, ok bool) {
	if a.langs != nil {
		if limit, ok := a.langs[p.baseLang()]; ok {
			return limit, true
		}
		if limit, ok := a.langs[NoSpaces]; ok && p.noSpaces() {
			return limit, true
		}
	}
	return a.limit, a.all
}
