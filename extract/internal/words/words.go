// Package words has the rule and the hash by which packages books, dedup and
// quality find and compare words.
package words

import "unicode"

// Constants of [Hash].
const (
	Seed  = 0x9E3779B97F4A7C15 // 2^64 / golden ratio
	prime = 0x100000001B3      // FNV's
)

// Spaceless reports whether r belongs to a script written without spaces
// between words.
func Spaceless(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// Hash is FNV-1a, beginning with Seed and finished by [Mix].
func Hash[S string | []byte](word S) uint64 {
	h := uint64(Seed)
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * prime
	}
	return Mix(h)
}

// Mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
func Mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xBF58476D1CE4E5B9
	h = (h ^ h>>27) * 0x94D049BB133111EB
	return h ^ h>>31
}
