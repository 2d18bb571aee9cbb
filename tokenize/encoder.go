package tokenize

import (
	"math/bits"
	"unicode/utf8"
)

// An Encoder turns text into token ids. It caches the words it has seen, in 6
// MiB. It must not be used by several goroutines at once; make one for each
// with [Tokenizer.NewEncoder].
type Encoder struct {
	*Tokenizer

	words  WordSplitter
	lower  uint64 // 0x20 in every byte if DoLowerCase, else 0
	cache  *wordCache
	pieces *pieceCache
	ids    []int32 // scratch of AppendTokens
	valid  []byte  // scratch of appendKeeping
}

// NewEncoder returns an encoder with empty caches.
func (t *Tokenizer) NewEncoder() *Encoder {
	t.built.Do(t.build)
	e := &Encoder{Tokenizer: t, words: *newWordSplitter(t.options, t.rules), cache: new(wordCache), pieces: new(pieceCache)}
	if t.options.DoLowerCase {
		e.lower = bytes20
	}
	return e
}

// AppendIDs appends the token ids of text to dst.
func (e *Encoder) AppendIDs(dst []int32, text string) []int32 {
	if e.special == nil {
		return appendIDs(e, dst, text)
	}
	if utf8.ValidString(text) {
		return appendKeeping(e, dst, text)
	}
	e.valid = appendValid(e.valid[:0], text)
	return appendKeeping(e, dst, e.valid)
}

// AppendIDsBytes appends the token ids of text to dst. It does the same as
// [Encoder.AppendIDs], for a byte slice.
func (e *Encoder) AppendIDsBytes(dst []int32, text []byte) []int32 {
	if e.special == nil {
		return appendIDs(e, dst, text)
	}
	if utf8.Valid(text) {
		return appendKeeping(e, dst, text)
	}
	e.valid = appendValid(e.valid[:0], text)
	return appendKeeping(e, dst, e.valid)
}

// AppendTokens appends the tokens of text to dst, as FullTokenizer.tokenize of
// google-research/bert returns them. A word that the vocabulary cannot express
// is "[UNK]".
func (e *Encoder) AppendTokens(dst []string, text string) []string {
	e.ids = e.AppendIDs(e.ids[:0], text)
	for _, id := range e.ids {
		dst = append(dst, e.vocab.tokens[id])
	}
	return dst
}

// appendIDs appends the ids of the words of s, none of which is a special
// token. It handles the common cases itself: white space, ASCII punctuation,
// and words of at most 15 ASCII letters and digits that end before white space
// or ASCII punctuation. appendOther handles all other text.
//
// It is longer than other functions, because splitting it up costs a third more
// time.
func appendIDs[T bytestring](e *Encoder, dst []int32, s T) []int32 {
	for i := 0; i < len(s); {
		lo, hi := load16(s, i)
		capitals := letters(lo)
		n := 0 // bytes of the word; 16 if appendOther must handle it
		if end := others(lo, capitals); end != 0 {
			n = bits.TrailingZeros64(end) >> 3
			if n == 0 {
				if id := e.ascii[s[i]]; id >= 0 {
					dst = append(dst, id)
					i++
					continue
				} else if id == asciiSpace {
					i++
					continue
				}
				n = 16
			}
			lo = (lo | capitals>>2&e.lower) & (1<<(8*uint(n)&63) - 1)
			hi = 0
		} else {
			lo |= capitals >> 2 & e.lower
			capitals = letters(hi)
			n = 8 + bits.TrailingZeros64(others(hi, capitals))>>3
			hi = (hi | capitals>>2&e.lower) & (1<<(8*uint(n-8)&63) - 1)
		}
		end := int32(asciiSpace) // the character after the word
		if i+n < len(s) {
			end = e.ascii[s[i+n]]
		}
		if n == 16 || end == asciiOther {
			dst, i = appendOther(e, dst, s, i)
			continue
		}
		i += n
		if end == asciiSpace {
			i++
		}
		slot := &e.cache[slotOf(lo, hi)]
		switch {
		case slot.lo != lo || slot.hi&lowBytes != hi:
			dst = e.fillSlot(dst, lo, hi)
		case slot.hi>>56 == 1:
			dst = append(dst, slot.ids[0])
		default:
			dst = append(dst, slot.ids[:slot.hi>>56&7]...)
		}
	}
	return dst
}

// appendOther appends the ids of the text at s[i] that appendIDs does not
// handle: a run of three-byte characters that are words by themselves, else a
// piece for the pieceCache, else a single word. It returns the position after
// that text.
func appendOther[T bytestring](e *Encoder, dst []int32, s T, i int) ([]int32, int) {
	for wide := false; ; wide = true {
		id, ok := wideID(e.Tokenizer, s, i)
		if !ok && wide {
			return dst, i
		} else if !ok {
			break
		}
		if id >= 0 {
			dst = append(dst, id)
		}
		i += 3
	}
	key, n := pieceAt(e, s, i)
	slot := &e.pieces[key.slot()]
	if n > 0 && slot.key == key {
		return append(dst, slot.ids[:slot.count]...), i + n
	}
	if n == 0 || hasSigma(s, i, i+n) {
		i = nextWord(&e.words, s, i)
		return e.appendWord(dst), i
	}
	start, end := len(dst), i+n
	for i < end {
		i = nextWord(&e.words, s[:end], i)
		dst = e.appendPieces(dst)
	}
	slot.keep(key, dst[start:])
	return dst, end
}

// wideID returns the id of the three-byte character at s[i] if it is always a
// word by itself, such as an ideograph, and asciiSpace if it is white space.
// For any other text ok is false.
func wideID[T bytestring](t *Tokenizer, s T, i int) (id int32, ok bool) {
	if i+2 >= len(s) || s[i] < wideFirst>>12|0xe0 || s[i] > wideLast>>12|0xe0 || s[i+1]&0xc0 != 0x80 || s[i+2]&0xc0 != 0x80 {
		return 0, false
	}
	id = t.wide[int(s[i]&0x0f)<<12+int(s[i+1]&0x3f)<<6+int(s[i+2]&0x3f)-wideFirst]
	return id, id != asciiOther
}

// hasSigma reports whether s[from:to] contains a capital sigma.
func hasSigma[T bytestring](s T, from, to int) bool {
	for i := from; i+1 < to; i++ {
		if s[i] == "Σ"[0] && s[i+1] == "Σ"[1] {
			return true
		}
	}
	return false
}

// pieceAt returns the text from s[i] up to the next ASCII white space or
// punctuation as a key for the pieceCache, and its length n in bytes. ASCII
// letters are lower-cased if the options say so. n is 0 if the text does not
// fit a key, or if the next character is deleted, so that its neighbours form
// one word. The ids of a piece do not depend on its context, unless it contains
// a capital sigma.
func pieceAt[T bytestring](e *Encoder, s T, i int) (key pieceKey, n int) {
	for k := range key {
		x, at := uint64(0), i+8*k
		if at+8 <= len(s) {
			x = load8(s, at)
		} else if at < len(s) {
			x, _ = loadTail(s, at)
		}
		capitals := letters(x)
		end := others(x, capitals) &^ x
		x |= capitals >> 2 & e.lower
		if end == 0 {
			key[k] = x
			continue
		}
		n = bits.TrailingZeros64(end) >> 3
		key[k] = x & (1<<(8*uint(n)&63) - 1)
		n += 8 * k
		if i+n < len(s) && e.ascii[s[i+n]] == asciiOther {
			return key, 0 // a deleted character joins its neighbours
		}
		return key, n
	}
	return key, 0
}

const (
	bytes01 = 0x0101010101010101
	bytes20 = 0x2020202020202020
	bytes7f = 0x7f7f7f7f7f7f7f7f
	bytes80 = 0x8080808080808080
)

// load8 returns the eight bytes of s at i as a little-endian integer. The
// compiler turns it into a single load.
func load8[T bytestring](s T, i int) uint64 {
	b := s[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// load16 returns the sixteen bytes of s at i, zero-padded after the end of s.
func load16[T bytestring](s T, i int) (lo, hi uint64) {
	if i+16 <= len(s) {
		return load8(s, i), load8(s, i+8)
	}
	return loadTail(s, i)
}

// loadTail returns the bytes of s at i, of which there are fewer than sixteen,
// zero-padded to sixteen.
func loadTail[T bytestring](s T, i int) (lo, hi uint64) {
	rest := len(s) - i
	switch {
	case rest >= 8:
		return load8(s, i), load8(s, len(s)-8) >> (8 * (16 - uint(rest)))
	case len(s) >= 8:
		return load8(s, len(s)-8) >> (8 * (8 - uint(rest))), 0
	}
	for j := len(s) - 1; j >= i; j-- {
		lo = lo<<8 | uint64(s[j])
	}
	return lo, 0
}

// letters returns an integer that has the highest bit of a byte set if that
// byte of x is an ASCII letter; all other bits are 0. Each comparison is an
// addition that moves a byte above 0x7f if it is at least some value. The
// highest bits are cleared before, so nothing carries into the next byte.
func letters(x uint64) uint64 {
	l := x&bytes7f | bytes20
	return (l + (0x80-'a')*bytes01) &^ (l + (0x7f-'z')*bytes01) &^ x & bytes80
}

// others returns an integer that has the highest bit of a byte set if that byte
// of x is neither an ASCII letter nor a digit; all other bits are 0. The
// parameter letters is the result of the function letters for x.
func others(x, letters uint64) uint64 {
	d := x & bytes7f
	digits := (d + (0x80-'0')*bytes01) &^ (d + (0x7f-'9')*bytes01) &^ x
	return ^(letters | digits) & bytes80
}

// appendWord appends the ids of the word in e.words.word, from the cache if the
// word is there.
func (e *Encoder) appendWord(dst []int32) []int32 {
	switch {
	case e.words.chars == 0:
		return dst
	case e.words.chars > e.words.limit:
		return append(dst, e.vocab.unk)
	case len(e.words.word) <= maxCached:
		lo, hi := loadTail(e.words.word, 0)
		slot := &e.cache[slotOf(lo, hi)]
		if slot.lo == lo && slot.hi&lowBytes == hi {
			return append(dst, slot.ids[:slot.hi>>56&7]...)
		}
		return e.fillSlot(dst, lo, hi)
	}
	return e.trie.appendPieces(dst, e.words.word, e.vocab.unk)
}

// appendPieces appends the ids of the word in e.words.word without using the
// cache.
func (e *Encoder) appendPieces(dst []int32) []int32 {
	switch {
	case e.words.chars == 0:
		return dst
	case e.words.chars > e.words.limit:
		return append(dst, e.vocab.unk)
	}
	return e.trie.appendPieces(dst, e.words.word, e.vocab.unk)
}
