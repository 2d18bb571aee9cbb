package dedup

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	hashSeed  = 0x9E3779B97F4A7C15 // 2^64 / golden ratio
	hashPrime = 0x100000001B3      // FNV's
)

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xBF58476D1CE4E5B9
	h = (h ^ h>>27) * 0x94D049BB133111EB
	return h ^ h>>31
}

// words calls visit for each word of a text, in NFKC and lower case. The word
// is in buf, which words returns for reuse, possibly grown.
func words(text string, buf []byte, visit func(word []byte)) []byte {
	if !norm.NFKC.IsNormalString(text) {
		text = norm.NFKC.String(text)
	}
	word := buf[:0]
	alone := false // the word is a character of a script without spaces
	end := func() {
		if len(word) > 0 {
			visit(word)
			word, alone = word[:0], false
		}
	}
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			i++
			switch {
			case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			case 'A' <= c && c <= 'Z':
				c += 'a' - 'A'
			default:
				end()
				continue
			}
			if alone {
				end()
			}
			word = append(word, c)
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		switch {
		case unicode.IsMark(r):
			if len(word) > 0 { // a mark alone is not a word
				word = utf8.AppendRune(word, r)
			}
		case spaceless(r):
			end()
			word, alone = utf8.AppendRune(word, r), true
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			if alone {
				end()
			}
			word = utf8.AppendRune(word, unicode.ToLower(r))
		default:
			end()
		}
	}
	end()
	return word
}

// spaceless reports whether r belongs to a script without spaces between words.
func spaceless(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// hashWord is FNV-1a with the finalizer of SplitMix64.
func hashWord(word []byte) uint64 {
	h := uint64(hashSeed)
	for _, c := range word {
		h = (h ^ uint64(c)) * hashPrime
	}
	return mix(h)
}

// A shingler computes the hashes of shingles from a stream of words: a
// polynomial rolling hash of the last n word hashes.
type shingler struct {
	n      int
	last   []uint64 // ring buffer of the hashes of the last n words
	words  int
	hash   uint64
	oldest uint64 // the base to the power n, to remove the oldest word
}

func newShingler(n int) shingler {
	power := uint64(1)
	for range n {
		power *= hashSeed
	}
	return shingler{n: n, last: make([]uint64, n), oldest: power}
}

func (s *shingler) reset() {
	clear(s.last)
	s.words, s.hash = 0, 0
}

// add adds a word and returns the shingle that ends with it; ok is false for
// the first n-1 words.
func (s *shingler) add(word uint64) (shingle uint64, ok bool) {
	at := s.words % s.n
	s.hash = s.hash*hashSeed + word - s.oldest*s.last[at]
	s.last[at] = word
	s.words++
	return mix(s.hash), s.words >= s.n
}

// rest returns the only shingle of a text with fewer than n words.
func (s *shingler) rest() (shingle uint64, ok bool) {
	return mix(s.hash ^ uint64(s.words)), s.words > 0 && s.words < s.n
}
