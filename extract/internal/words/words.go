// Package words has the functions for words that packages books, dedup and quality
// share: scripts without spaces, and hashes.
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

// Hash returns the 64-bit FNV-1a hash of word, with Seed as the initial value,
// passed through [Mix].
func Hash[S string | []byte](word S) uint64 {
	h := uint64(Seed)
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * prime
	}
	return Mix(h)
}

// Mix scrambles the bits of h with the last step of SplitMix64 (Steele, Lea,
// Flood 2014).
func Mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xBF58476D1CE4E5B9
	h = (h ^ h>>27) * 0x94D049BB133111EB
	return h ^ h>>31
}
