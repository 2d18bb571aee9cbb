package wikitext

import "math/bits"

// classSpecial contains the classes that are searched most often. A [specialMap] marks
// their bytes.
const classSpecial = classInline | classLine | classBrace | classLabel | classArgument

// A source is the wikitext of a page.
type source struct {
	src     []byte
	special specialMap
	work    int // number of bytes scanned, for tests that time is linear
}

func (s *source) bytes(p span) []byte { return s.src[p.start:p.end] }

// A specialMap marks the bytes of classSpecial in a page, so that plain text is skipped
// 64 bytes at a time. It is computed once per page with vector instructions. On a CPU
// without AVX2 or NEON it is nil.
type specialMap []mark64

// A mark64 has one bit in each field for each of 64 bytes.
type mark64 struct {
	special uint64 // set for all bytes of classSpecial, and for a few rare others
	bracket uint64 // set for exactly the bytes of classBrace
}

// mark returns the map for src. It reuses the memory of m.
func (m specialMap) mark(src []byte) specialMap {
	if !canMark() {
		return nil
	}
	blocks := len(src) / 64
	if cap(m) > maxKept && cap(m) > 4*blocks || cap(m) <= blocks {
		m = make(specialMap, blocks+1, blocks+blocks/4+64)
	}
	m = m[:blocks+1]
	if blocks > 0 {
		markBlocks(&src[0], blocks, &m[0])
	}
	m[blocks] = mark64{}
	for k, c := range src[64*blocks:] {
		if class[c]&classSpecial != 0 {
			m[blocks].special |= 1 << k
		}
		if class[c]&classBrace != 0 {
			m[blocks].bracket |= 1 << k
		}
	}
	return m
}

// skip returns the offset of the first byte in src[i:e] that has one of the classes, or
// e. The classes must be in classSpecial. skip uses the specialMap if it is not nil.
func (s *source) skip(i, e int, classes uint16) int {
	if s.special == nil || i >= e {
		return skip(s.src[:e], i, classes)
	}
	k := i >> 6
	word := s.special[k].special >> (i & 63) << (i & 63)
	for {
		for word == 0 {
			if k++; k<<6 >= e {
				return e
			}
			word = s.special[k].special
		}
		j := k<<6 + bits.TrailingZeros64(word)
		if j >= e {
			return e
		}
		if class[s.src[j]]&classes != 0 {
			return j
		}
		word &= word - 1
	}
}

// skipToBracket returns the offset of the first brace, bracket or "<" in
// src[i:e], or e.
func (s *source) skipToBracket(i, e int) int {
	if s.special == nil || i >= e {
		return skip(s.src[:e], i, classBrace)
	}
	k := i >> 6
	word := s.special[k].bracket >> (i & 63) << (i & 63)
	for word == 0 {
		if k++; k<<6 >= e {
			return e
		}
		word = s.special[k].bracket
	}
	return min(k<<6+bits.TrailingZeros64(word), e)
}
