package hf

import "unicode/utf8"

// rawCuts are the cuts of a word of raw bytes, whose symbols may be parts of a character.
// Positions are between characters. A merge crosses such a position if its left token ends
// with the character before it, or is only the end of that character, and its right token
// begins with the character after it, or is only the beginning of that.
type rawCuts struct {
	ascii   [utf8.RuneSelf][utf8.RuneSelf]bool // by left and right character: no merge crosses
	crossed *pairTable                         // pairs of units that a merge crosses
	tails   [256]bool                          // by the last byte of a character: some left token is only its end
	heads   [256]bool                          // by the first byte of a character: some right token is only its beginning
}

// A unit is a character, or one to three bytes of one: the number of the bytes, in bits 24
// and 25, and the bytes.
func unitOf(part string) int32 {
	unit := int32(len(part)) << 24
	for i := range len(part) {
		unit |= int32(part[i]) << (8 * i)
	}
	return unit
}

// newRawCuts returns the cuts of merges, pairs of tokens of ByteLevel's characters. The
// result is nil if a byte has no token, since what is unknown is not cut.
func newRawCuts(pairs [][2]string, ids *[256]int32) *rawCuts {
	for _, id := range ids {
		if id == noToken {
			return nil
		}
	}
	c := &rawCuts{crossed: newPairTable(len(pairs))}
	byChar := byteOf()
	for _, p := range pairs {
		left, ok1 := rawBytes(byChar, p[0])
		right, ok2 := rawBytes(byChar, p[1])
		if !ok1 || !ok2 {
			continue // no symbol of a word
		}
		l, ok1 := c.lastUnit(left)
		r, ok2 := c.firstUnit(right)
		if ok1 && ok2 {
			c.crossed.set(l, r, merged{})
		}
	}
	for left := range int32(utf8.RuneSelf) {
		for right := range int32(utf8.RuneSelf) {
			c.ascii[left][right] = c.crossed.find(left, right) == noMerge
		}
	}
	return c
}

// rawBytes returns the bytes that a token of ByteLevel's characters stands for. It returns
// false if a character stands for none.
func rawBytes(byChar map[rune]byte, token string) (string, bool) {
	raw := make([]byte, 0, len(token))
	for _, r := range token {
		b, ok := byChar[r]
		if !ok {
			return "", false
		}
		raw = append(raw, b)
	}
	return string(raw), true
}

// lastUnit returns the unit with which a left token ends. It returns false if the token
// cannot end at the end of a character.
func (c *rawCuts) lastUnit(token string) (unit int32, ok bool) {
	if r, size := utf8.DecodeLastRuneInString(token); r != utf8.RuneError || size > 1 {
		return r, size > 0
	}
	if len(token) >= utf8.UTFMax {
		return 0, false
	}
	for i := range len(token) {
		if utf8.RuneStart(token[i]) {
			return 0, false
		}
	}
	c.tails[token[len(token)-1]] = true
	return unitOf(token), true
}

// firstUnit returns the unit with which a right token begins. It returns false if the token
// cannot begin at the beginning of a character.
func (c *rawCuts) firstUnit(token string) (unit int32, ok bool) {
	if r, size := utf8.DecodeRuneInString(token); r != utf8.RuneError || size > 1 {
		return r, size > 0
	}
	if len(token) >= utf8.UTFMax || !utf8.RuneStart(token[0]) {
		return 0, false
	}
	c.heads[token[0]] = true
	return unitOf(token), true
}

// next returns the length of the first part of a word: the first position that no merge
// crosses, or the end.
func (c *rawCuts) next(word string) int {
	left, before := utf8.DecodeRuneInString(word)
	for i := before; i < len(word); {
		right, size := rune(word[i]), 1
		switch {
		case right < utf8.RuneSelf && left < utf8.RuneSelf:
			if c.ascii[left][right] {
				return i
			}
		default:
			right, size = utf8.DecodeRuneInString(word[i:])
			if !c.crosses(left, right, word[i-before:i], word[i:i+size]) {
				return i
			}
		}
		left, before = right, size
		i += size
	}
	return len(word)
}

// crosses reports whether a merge may cross the position between two characters, x and y
// in UTF-8.
func (c *rawCuts) crosses(left, right rune, x, y string) bool {
	if left == utf8.RuneError || right == utf8.RuneError || c.crossed.find(left, right) != noMerge {
		return true
	}
	ends, begins := 0, 0
	if c.tails[x[len(x)-1]] {
		ends = len(x) - 1
	}
	if c.heads[y[0]] {
		begins = len(y) - 1
	}
	for k := range begins {
		if c.crossed.find(left, unitOf(y[:k+1])) != noMerge {
			return true
		}
	}
	for n := range ends {
		l := unitOf(x[len(x)-1-n:])
		if c.crossed.find(l, right) != noMerge {
			return true
		}
		for k := range begins {
			if c.crossed.find(l, unitOf(y[:k+1])) != noMerge {
				return true
			}
		}
	}
	return false
}
