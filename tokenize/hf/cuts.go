package hf

import "unicode/utf8"

// cuts finds places in a word that no merge crosses: between two characters of
// the vocabulary, for which no merge has a left token that ends with the one and
// a right token that begins with the other. The parts of the word are then
// encoded alone, most of them from the cache: without a pre-tokenizer a word is
// the whole text, and few merges cross a space.
type cuts struct {
	ascii   [utf8.RuneSelf][utf8.RuneSelf]bool // by left and right character: no merge crosses
	crossed *pairTable                         // of characters, unless both are ASCII
	known   *pairTable                         // of a character and 0: its id
	bytes   *[256][256]bool                    // in place of all, for words of bytes
}

// minCut is the length in bytes of the shortest word that is cut. Words of a
// pre-tokenizer are shorter and in the cache as they are.
const minCut = 24

// newCuts returns the cuts of a model, or nil if its symbols are not characters
// of the text or if a whole word can have an id of its own.
func newCuts(b *bpe, crossing map[[2]rune]bool) *cuts {
	if b.prefix != "" || b.suffix != "" || b.ignoreMerges {
		return nil
	}
	c := &cuts{crossed: newPairTable(len(crossing)), known: newPairTable(len(b.vocab))}
	for token, id := range b.vocab {
		if r, size := utf8.DecodeRuneInString(token); size > 0 && size == len(token) {
			c.known.set(r, 0, merged{id: id})
		}
	}
	for p := range crossing {
		c.crossed.set(p[0], p[1], merged{})
	}
	for left := range rune(utf8.RuneSelf) {
		for right := range rune(utf8.RuneSelf) {
			c.ascii[left][right] = !crossing[[2]rune{left, right}] && c.has(left) && c.has(right)
		}
	}
	return c
}

func (c *cuts) has(r rune) bool {
	_, ok := c.known.get(r, 0)
	return ok
}

// useRaw makes c cut words of bytes, which have the given ids and stand for
// characters of ByteLevel.
func (c *cuts) useRaw(ids *[256]int32) {
	c.bytes = new([256][256]bool)
	for left := range c.bytes {
		for right := range c.bytes[left] {
			_, crossed := c.crossed.get(byteChar(byte(left)), byteChar(byte(right)))
			c.bytes[left][right] = !crossed && ids[left] != noToken && ids[right] != noToken
		}
	}
}

// next returns the length of the first part of a word.
func (c *cuts) next(word string) int {
	if c.bytes != nil {
		for i := 1; i < len(word); i++ {
			if c.bytes[word[i-1]][word[i]] {
				return i
			}
		}
		return len(word)
	}
	left, i := utf8.DecodeRuneInString(word)
	for i < len(word) {
		right, size := rune(word[i]), 1
		if right < utf8.RuneSelf && left < utf8.RuneSelf {
			if c.ascii[left][right] {
				return i
			}
		} else {
			right, size = utf8.DecodeRuneInString(word[i:])
			if _, crossed := c.crossed.get(left, right); !crossed && c.has(left) && c.has(right) {
				return i
			}
		}
		left = right
		i += size
	}
	return len(word)
}

// addCrossing adds the characters between which a merge of two tokens joins.
func addCrossing(crossing map[[2]rune]bool, left, right string) {
	x, _ := utf8.DecodeLastRuneInString(left)
	y, _ := utf8.DecodeRuneInString(right)
	crossing[[2]rune{x, y}] = true
}
