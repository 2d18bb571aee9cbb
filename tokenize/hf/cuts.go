package hf

import "unicode/utf8"

// cuts finds positions in a word that no merge crosses. Such a position is between two
// characters of the vocabulary, where no merge has a left token that ends with the first
// character and a right token that begins with the second. The parts of the word between
// these positions are encoded separately, most of them from the cache. This matters without
// a pre-tokenizer, where a word is the whole text and few merges cross a space.
type cuts struct {
	ascii   [utf8.RuneSelf][utf8.RuneSelf]bool // by left and right character: no merge crosses
	crossed *pairTable                         // pairs that a merge crosses; not used for two ASCII
	known   *pairTable                         // from (character of the vocabulary, 0) to its id
	raw     *rawCuts                           // used instead of all above for words of raw bytes
}

// minCut is the minimum length in bytes of a word that is cut. Words from a pre-tokenizer
// are usually shorter, and are cached whole.
const minCut = 24

// newCuts returns the cuts of a model. crossing has the pairs of characters that a merge
// crosses. The result is nil if the model's symbols are not characters of the text.
func newCuts(b *bpe, crossing map[[2]rune]bool) *cuts {
	if b.prefix != "" || b.suffix != "" {
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

// next returns the length of the first part of a word: the first position that no merge
// crosses, or the end.
func (c *cuts) next(word string) int {
	if c.raw != nil {
		return c.raw.next(word)
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

// addCrossing adds to crossing the pair of characters at the border between left and right,
// two tokens that a merge joins.
func addCrossing(crossing map[[2]rune]bool, left, right string) {
	x, _ := utf8.DecodeLastRuneInString(left)
	y, _ := utf8.DecodeRuneInString(right)
	crossing[[2]rune{x, y}] = true
}
