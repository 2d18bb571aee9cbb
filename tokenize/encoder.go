package tokenize

import (
	"unicode/utf8"

	"pretext/internal/hugepages"
)

// An Encoder turns text into token ids. Its caches of words take 8 MiB. An Encoder must not
// be used by several goroutines at once; make one for each goroutine with
// [Tokenizer.NewEncoder].
type Encoder struct {
	*Tokenizer

	words  WordSplitter
	cuts   cuts
	lower  uint64 // 0x20 in every byte if DoLowerCase, else 0
	cache  *wordCache
	pieces *pieceCache
	ids    []int32 // buffer of AppendTokens
	valid  []byte  // buffer for text without invalid UTF-8
}

// NewEncoder returns an encoder with empty caches.
func (t *Tokenizer) NewEncoder() *Encoder {
	t.built.Do(t.build)
	e := &Encoder{Tokenizer: t, words: *newWordSplitter(t.options, t.rules), cache: new(wordCache), pieces: new(pieceCache)}
	hugepages.Advise(e.cache[:])
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
// google-research/bert returns them. A word that cannot be composed of tokens is "[UNK]".
func (e *Encoder) AppendTokens(dst []string, text string) []string {
	e.ids = e.AppendIDs(e.ids[:0], text)
	for _, id := range e.ids {
		dst = append(dst, e.vocab.tokens[id])
	}
	return dst
}

// appendIDs appends the ids of the words of s. Special tokens in s are treated as text.
func appendIDs[T bytestring](e *Encoder, dst []int32, s T) []int32 {
	for i := 0; i < len(s); {
		parts, length := take(&e.cuts, s[i:], e.lower)
		if length == 0 { // the first part is longer than a stretch
			dst, i = appendLong(e, dst, s, i)
			continue
		}
		var end int
		dst, end = appendParts(e, dst, s, i, parts)
		i += max(length, end)
	}
	return dst
}

// appendParts appends the ids of the first parts of e.cuts, whose text begins at s[i].
// Words can extend beyond the parts, because deleted characters join words. In this case it
// returns the end of the last word, as a position in the text of e.cuts.
func appendParts[T bytestring](e *Encoder, dst []int32, s T, i, parts int) ([]int32, int) {
	c := &e.cuts
	other, end, fetched := c.nextOther(0), 0, 0
	for k := 0; k < parts; {
		n := c.fill(k, parts, other, e.cache)
		dst = e.appendQueue(dst, n)
		if k += n; k == parts || n == queueLength {
			continue
		}
		if k >= fetched {
			fetched = c.fetch(k, parts, e.pieces)
		}
		dst, end = appendRun(e, dst, s, i, k)
		for k++; k < parts && int(c.starts[k]) < end; k++ {
			if end < int(c.ends[k]) { // the part has more words
				c.starts[k] = uint16(end)
				dst, end = appendRun(e, dst, s, i, k)
			}
		}
		if other < end {
			other = c.nextOther(min(end, int(c.ends[k-1])))
		}
	}
	return dst, end
}

// appendRun appends the ids of part k of e.cuts, whose text begins at s[base]. It returns
// the end of the last word, as a position in the text of e.cuts. This may be after the
// part.
func appendRun[T bytestring](e *Encoder, dst []int32, s T, base, k int) ([]int32, int) {
	c := &e.cuts
	from, to := int(c.starts[k]), int(c.ends[k])
	for from < to {
		if dst, from = appendWide(e, dst, c.text[:to], from); from == to {
			break
		}
		if n := to - from; n <= maxPiece && !c.controls {
			key := c.pieceAt(from, n)
			slot := &e.pieces[key.slot()]
			if slot.key == key {
				return append(dst, slot.ids[:slot.count]...), to
			}
			if !hasSigma(c.text[:to], from, to) {
				return appendPiece(e, dst, slot, key, s[base+from:base+to]), to
			}
		}
		from = nextWord(&e.words, s, base+from) - base
		dst = e.appendWord(dst)
	}
	return dst, from
}

// appendPiece appends the ids of a piece of text that does not depend on its neighbours,
// and stores them in slot.
func appendPiece[T bytestring](e *Encoder, dst []int32, slot *pieceSlot, key pieceKey, piece T) []int32 {
	start := len(dst)
	for i := 0; i < len(piece); {
		i = nextWord(&e.words, piece, i)
		dst = e.appendPieces(dst)
	}
	slot.keep(key, dst[start:])
	return dst
}

// appendLong appends the ids of the text at s[i]: of all three-byte characters that are
// words by themselves, or, if there are none, of one word. It returns the position after
// that text.
func appendLong[T bytestring](e *Encoder, dst []int32, s T, i int) ([]int32, int) {
	dst, next := appendWide(e, dst, s, i)
	if next > i {
		return dst, next
	}
	next = nextWord(&e.words, s, i)
	return e.appendWord(dst), next
}

// appendWide appends the ids of the three-byte characters at s[i] that are words
// by themselves, and returns the position after them.
func appendWide[T bytestring](e *Encoder, dst []int32, s T, i int) ([]int32, int) {
	for {
		id, ok := wideID(e.Tokenizer, s, i)
		if !ok {
			return dst, i
		}
		if id >= 0 {
			dst = append(dst, id)
		}
		i += 3
	}
}

// wideID returns the id of the three-byte character at s[i] if it is always a
// word by itself, such as an ideograph, and wideSpace if it is white space.
// For any other text ok is false.
func wideID[T bytestring](t *Tokenizer, s T, i int) (id int32, ok bool) {
	if i+2 >= len(s) || s[i] < wideFirst>>12|0xe0 || s[i] > wideLast>>12|0xe0 || s[i+1]&0xc0 != 0x80 || s[i+2]&0xc0 != 0x80 {
		return 0, false
	}
	id = t.wide[int(s[i]&0x0f)<<12+int(s[i+1]&0x3f)<<6+int(s[i+2]&0x3f)-wideFirst]
	return id, id != wideOther
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

// pieceAt returns n bytes of c.text as a key for the pieceCache. The ids of a run without
// ASCII white space and punctuation do not depend on its context, unless it contains a
// capital sigma or a deleted character.
func (c *cuts) pieceAt(at, n int) pieceKey {
	text, mask := c.text[at:], &keyMasks[n]
	return pieceKey{load8(text, 0) & mask[0], load8(text, 8) & mask[1], load8(text, 16) & mask[2], load8(text, 24) & mask[3]}
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

// loadTail returns the bytes of s from i to its end as little-endian integers, zero-padded
// to sixteen bytes. There must be fewer than sixteen.
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

// letters returns an integer in which the highest bit of a byte is set if that byte of x is
// an ASCII letter; all other bits are 0. Each comparison is an addition that moves a byte
// above 0x7f if it is at least some value. The highest bits are cleared first, so nothing
// carries into the next byte.
func letters(x uint64) uint64 {
	l := x&bytes7f | bytes20
	return (l + (0x80-'a')*bytes01) &^ (l + (0x7f-'z')*bytes01) &^ x & bytes80
}

// others returns an integer in which the highest bit of a byte is set if that byte of x is
// neither an ASCII letter nor a digit; all other bits are 0. The parameter letters is the
// result of the function letters for x.
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
		return e.appendCached(dst, wordKey{lo, hi})
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
