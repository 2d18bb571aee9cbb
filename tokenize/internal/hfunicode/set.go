package hfunicode

import (
	"slices"
	"unicode/utf8"
)

// A Range is a range of code points, First and Last included.
type Range struct{ First, Last rune }

// Ranges is a set of code points, as ranges in ascending order that neither overlap nor
// touch.
type Ranges []Range

// Of returns the union of ranges, which may overlap and be in any order.
func Of(ranges ...Range) Ranges {
	all := slices.Clone(ranges)
	slices.SortFunc(all, func(a, b Range) int { return int(a.First - b.First) })
	var out Ranges
	for _, r := range all {
		if n := len(out); n > 0 && r.First <= out[n-1].Last+1 {
			out[n-1].Last = max(out[n-1].Last, r.Last)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// Union returns the code points in r or s.
func (r Ranges) Union(s Ranges) Ranges { return Of(slices.Concat(r, s)...) }

// Not returns the code points that are not in r.
func (r Ranges) Not() Ranges {
	var out Ranges
	next := rune(0)
	for _, x := range r {
		if next < x.First {
			out = append(out, Range{next, x.First - 1})
		}
		next = x.Last + 1
	}
	if next <= utf8.MaxRune {
		out = append(out, Range{next, utf8.MaxRune})
	}
	return out
}

// And returns the code points in r and s.
func (r Ranges) And(s Ranges) Ranges { return r.Not().Union(s.Not()).Not() }

// pageBits is the number of code points in a page of a Set.
const pageBits = 256

// A Set is a set of code points with fast lookup. It is immutable and may be
// shared.
type Set struct {
	ascii [utf8.RuneSelf]bool
	index []uint16 // by block of 256 code points: index in pages; all later blocks are empty
	pages [][pageBits / 64]uint64
}

// NewSet returns the set of the code points in r.
func NewSet(r Ranges) *Set {
	s := &Set{}
	if len(r) > 0 {
		s.index = make([]uint16, r[len(r)-1].Last/pageBits+1)
	}
	known := map[[pageBits / 64]uint64]uint16{}
	at := 0 // first range that may have code points in this page
	for n := range s.index {
		first, last := rune(n*pageBits), rune(n*pageBits+pageBits-1)
		for at < len(r) && r[at].Last < first {
			at++
		}
		var page [pageBits / 64]uint64
		for _, x := range r[at:] {
			if x.First > last {
				break
			}
			for c := max(x.First, first); c <= min(x.Last, last); c++ {
				page[(c-first)/64] |= 1 << (c % 64)
			}
		}
		i, ok := known[page]
		if !ok {
			i = uint16(len(s.pages))
			known[page] = i
			s.pages = append(s.pages, page)
		}
		s.index[n] = i
	}
	for c := range s.ascii {
		s.ascii[c] = s.wide(rune(c))
	}
	return s
}

// Has reports whether c is in the set. c must be a valid code point.
func (s *Set) Has(c rune) bool {
	if c < utf8.RuneSelf {
		return s.ascii[c]
	}
	return s.wide(c)
}

func (s *Set) wide(c rune) bool {
	if int(c/pageBits) >= len(s.index) {
		return false
	}
	page := &s.pages[s.index[c/pageBits]]
	return page[c%pageBits/64]>>(c%64)&1 != 0
}
