package wikitext

import "slices"

// A finder finds the ends of constructs and caches them. No scan is repeated: for
// each kind of construct it records what was found and how far the page was
// scanned. So hostile input (unclosed, deeply nested) takes linear time. Most
// lookups are in source order.
type finder struct {
	elements []element // pairs of braces, and of brackets inside braces
	matched  int       // braces that begin before this place are in elements
	pieces   []piece   // buffer of match: open runs

	tables  tableFinder
	html    tableFinder // <table>
	ext     extFinder
	variant variantFinder
	near    nearFinder
	work    int // bytes scanned, for tests of linear time
}

// A nearFinder caches the ends of constructs closed within the range being
// rendered: a label, an argument, or the lines of the page.
type nearFinder struct {
	image imageFinder
	label failure // of links
	url   failure // of external links
}

// maxKept is the number of scratch entries kept from page to page; a hostile
// page may need more.
const maxKept = 1 << 16

func (f *finder) reset(size int) {
	if cap(f.elements) > maxKept {
		f.elements = nil
	}
	if cap(f.pieces) > maxKept {
		f.pieces = nil
	}
	f.elements, f.pieces, f.matched = f.elements[:0], f.pieces[:0], 0
	f.tables.reset()
	f.html.reset()
	f.ext.reset(size)
	f.variant.reset()
	f.near = nearFinder{}
}

// An element is a template {{…}}, a parameter {{{…}}} or a link [[…]].
// Several elements may begin in one run of braces.
type element struct {
	start, end int32 // end < 0: not closed
	width      int32 // braces at each end: 2, or 3 for a parameter
}

// maxPage is the maximum number of bytes of a page that are scanned, so that offsets
// fit in 32 bits. MediaWiki's own limit is 2 MiB.
const maxPage = 1<<31 - 1

// A piece is a run of opening braces or brackets, some of which are not closed yet.
type piece struct {
	pos, count int
	slot       int  // index of its next element; they are reserved when it opens
	kind       byte // '{' or '['
}

// elementAt returns the element that begins exactly at i.
func (s *Scanner) elementAt(i int) (element, bool) {
	if i >= s.matched {
		if s.src[i] != '{' {
			return element{}, false // brackets are paired inside braces only
		}
		s.match(i)
	}
	k := s.lastElement(i)
	if k < 0 || int(s.elements[k].start) != i || s.elements[k].end < 0 {
		return element{}, false
	}
	return s.elements[k], true
}

// lastElement returns the index of the last element that begins at or before i,
// or -1.
func (f *finder) lastElement(i int) int {
	lo, hi := 0, len(f.elements)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if int(f.elements[m].start) <= i {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo - 1
}

// elementInRun returns the outermost closed element that begins inside the run
// of braces at i, after its first brace.
func (f *finder) elementInRun(i, run int) (el element, ok bool) {
	for k := f.lastElement(i + run - 1); k >= 0 && int(f.elements[k].start) > i && f.elements[k].end >= 0; k-- {
		el, ok = f.elements[k], true
	}
	return el, ok
}

// bracesEnd returns the end of the template or parameter at i, "{"; or i if
// there is none that ends before e.
func (s *Scanner) bracesEnd(i, e int) int {
	if i+1 >= e || s.src[i+1] != '{' {
		return i
	}
	if el, ok := s.elementAt(i); ok && int(el.end) <= e {
		return int(el.end)
	}
	return i
}

// step returns the end of the template, comment or extension tag at i; i+1 if
// there is none.
func (s *Scanner) step(i, e int) int {
	end := i
	switch s.src[i] {
	case '{':
		end = s.bracesEnd(i, e)
	case '<':
		end = s.opaqueEnd(i, e)
	}
	return max(end, i+1)
}

// match pairs braces from i on until all are closed, or to the end of the
// page. It follows MediaWiki's preprocessor: a closing run takes three braces
// from the innermost open run where both have three, else two; comments and
// extension tags are opaque. Unlike there, a closing brace discards brackets
// left open inside: a "[[" must not hide the text after it.
func (s *Scanner) match(i int) {
	src, n := s.src, len(s.src)
	start := i
	s.pieces = s.pieces[:0]
	for {
		if i = s.skipToBracket(i, n); i >= n {
			break
		}
		switch src[i] {
		case '{', '[':
			run := runLength(src, i)
			if run >= 2 {
				s.open(i, run)
			}
			i += run
		case '}', ']':
			i = s.close(i, runLength(src, i))
			if len(s.pieces) == 0 {
				s.matched = i
				s.work += i - start
				return
			}
		default:
			if j := s.opaqueEnd(i, n); j > i {
				i = j
			} else {
				i++
			}
		}
	}
	s.matched = n
	s.work += n - start
}

// runLength returns the length of the run of equal bytes at i.
func runLength(src []byte, i int) int {
	j := i + 1
	for j < len(src) && src[j] == src[i] {
		j++
	}
	return j - i
}

// open puts a run on the stack and reserves the elements it can give. They
// are filled from the last to the first, so elements stay sorted by start.
func (s *Scanner) open(i, run int) {
	slots := run / 2
	s.elements = slices.Grow(s.elements, slots)
	for range slots {
		s.elements = append(s.elements, element{start: int32(i), end: -1})
	}
	s.pieces = append(s.pieces, piece{pos: i, count: run, slot: len(s.elements) - 1, kind: s.src[i]})
}

// close matches a run of closing braces or brackets with the open pieces. It
// returns the end of the run, or of the brace that closed the last piece.
func (s *Scanner) close(i, run int) int {
	brace := s.src[i] == '}'
	for run >= 2 {
		top := s.top(brace)
		if top == nil {
			break
		}
		width := 2
		if brace && run >= 3 && top.count >= 3 {
			width = 3
		}
		s.elements[top.slot] = element{start: int32(top.pos + top.count - width), end: int32(i + width), width: int32(width)}
		top.slot--
		top.count -= width
		i += width
		run -= width
		if top.count < 2 {
			s.pieces = s.pieces[:len(s.pieces)-1]
			if len(s.pieces) == 0 {
				return i
			}
		}
	}
	return i + run
}

// top returns the piece that a closing brace or bracket closes; nil if none.
func (s *Scanner) top(brace bool) *piece {
	k := len(s.pieces) - 1
	if !brace {
		if k >= 0 && s.pieces[k].kind == '[' {
			return &s.pieces[k]
		}
		return nil
	}
	for k >= 0 && s.pieces[k].kind == '[' {
		k--
	}
	if k < 0 {
		return nil
	}
	s.pieces = s.pieces[:k+1]
	return &s.pieces[k]
}
