package dedup

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"pretext/extract/internal/words"
)

// eachWord calls visit for each word of a text, in NFKC and lower case. The word is
// valid only during the call. buf is scratch memory; eachWord returns it, possibly
// enlarged.
func eachWord(text string, buf []byte, visit func(word []byte)) []byte {
	if !norm.NFKC.IsNormalString(text) {
		text = norm.NFKC.String(text)
	}
	s := wordScanner{word: buf[:0], visit: visit}
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(text[i:])
			s.rune(r)
			i += n
			continue
		}
		i++
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		default:
			s.end()
			continue
		}
		if s.alone {
			s.end()
		}
		s.word = append(s.word, c)
	}
	s.end()
	return s.word
}

// A wordScanner holds the word that is being scanned.
type wordScanner struct {
	word  []byte
	alone bool // the word is a character of a script without spaces
	visit func(word []byte)
}

func (s *wordScanner) end() {
	if len(s.word) > 0 {
		s.visit(s.word)
		s.word, s.alone = s.word[:0], false
	}
}

// rune processes a character that is not ASCII: it adds it to the word or ends
// the word.
func (s *wordScanner) rune(r rune) {
	switch {
	case unicode.IsMark(r):
		if len(s.word) > 0 { // a mark alone is not a word
			s.word = utf8.AppendRune(s.word, r)
		}
	case words.Spaceless(r):
		s.end()
		s.word, s.alone = utf8.AppendRune(s.word, r), true
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		if s.alone {
			s.end()
		}
		s.word = utf8.AppendRune(s.word, unicode.ToLower(r))
	default:
		s.end()
	}
}

// A shingler computes the hashes of the shingles in a stream of words. It uses a
// polynomial rolling hash over the hashes of the last n words.
type shingler struct {
	n      int
	last   []uint64 // ring buffer of the hashes of the last n words
	words  int
	hash   uint64
	oldest uint64 // the base to the power n, for removing the oldest word
}

func newShingler(n int) shingler {
	power := uint64(1)
	for range n {
		power *= words.Seed
	}
	return shingler{n: n, last: make([]uint64, n), oldest: power}
}

func (s *shingler) reset() {
	clear(s.last)
	s.words, s.hash = 0, 0
}

// add adds the hash of a word and returns the shingle that ends with it; ok is
// false for the first n-1 words.
func (s *shingler) add(word uint64) (shingle uint64, ok bool) {
	at := s.words % s.n
	s.hash = s.hash*words.Seed + word - s.oldest*s.last[at]
	s.last[at] = word
	s.words++
	return words.Mix(s.hash), s.words >= s.n
}

// rest returns the only shingle of a text with fewer than n words; ok is false
// for other texts.
func (s *shingler) rest() (shingle uint64, ok bool) {
	return words.Mix(s.hash ^ uint64(s.words)), s.words > 0 && s.words < s.n
}
