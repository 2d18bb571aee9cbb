package wikitext

import "slices"

// A finder finds the ends of constructs and caches them. It never repeats a
// scan: for each kind of construct it records what was found and how far the
// page was scanned. So hostile input (unclosed, deeply nested) takes linear
// time. Most lookups are in source order.
type finder struct {
	elements []element // pairs of braces, and pairs of brackets inside braces
	matched  int       // braces that begin before this offset are in elements
	pieces   []piece   // buffer of match: open runs

	tables  tableFinder
	html    tableFinder // <table>
	hidden  hiddenFinder
	ext     extFinder
	variant variantFinder
	near    nearFinder
	work    int // bytes scanned, for tests of linear time
}

// A nearFinder caches the ends of constructs that end inside the range being
// rendered: a link label, a template argument, or the whole page.
type nearFinder struct {
	image imageFinder
	label failure // of links
	url   failure // of external links
}

// maxKept is the maximum number of scratch entries that are kept for the next
// page. A hostile page may need more; its memory is released.
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
	f.hidden.reset()
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
// fit in 32 bits. MediaWiki limits pages to 2 MiB.
const maxPage = 1<<31 - 1

// A piece is a run of opening braces or brackets, some of which are not closed yet.
type piece struct {
	pos, count int
	slot       int  // index in elements for the next pair that this run closes
	kind       byte // '{' or '['
}

// elementAt returns the template, parameter or link that begins exactly at
// s.src[i]; ok is false if there is none or it is not closed.
func (s *Scanner) elementAt(i int) (el element, ok bool) {
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

// elementInRun returns the outermost closed template or parameter that begins
// in the run of braces s.src[i:i+run], but after its first brace. ok is false
// if there is none.
func (f *finder) elementInRun(i, run int) (el element, ok bool) {
	for k := f.lastElement(i + run - 1); k >= 0 && int(f.elements[k].start) > i && f.elements[k].end >= 0; k-- {
		el, ok = f.elements[k], true
	}
	return el, ok
}

// bracesEnd returns the end of the template or parameter at s.src[i], which is
// "{"; or i if there is none that ends at or before e.
func (s *Scanner) bracesEnd(i, e int) int {
	if i+1 >= e || s.src[i+1] != '{' {
		return i
	}
	if el, ok := s.elementAt(i); ok && int(el.end) <= e {
		return int(el.end)
	}
	return i
}

// step returns the end of the template, comment or extension tag at s.src[i],
// or i+1 if there is none.
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

// match pairs braces from s.src[i] on until all are closed, or to the end of
// the page. It follows MediaWiki's preprocessor: a run of closing braces closes
// three braces of the innermost open run if both runs have three, else two; the
// content of extension tags is skipped. Unlike MediaWiki, a closing brace
// discards the brackets left open inside, so that an unclosed "[[" does not
// hide the text after the template.
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

// runLength returns the number of bytes equal to src[i] from i on.
func runLength(src []byte, i int) int {
	j := i + 1
	for j < len(src) && src[j] == src[i] {
		j++
	}
	return j - i
}

// open pushes the run of opening braces or brackets at s.src[i] on the stack.
// It also reserves an element for each pair that the run can hold; they are
// filled from the last to the first, so that elements stay sorted by start.
func (s *Scanner) open(i, run int) {
	slots := run / 2
	s.elements = slices.Grow(s.elements, slots)
	for range slots {
		s.elements = append(s.elements, element{start: int32(i), end: -1})
	}
	s.pieces = append(s.pieces, piece{pos: i, count: run, slot: len(s.elements) - 1, kind: s.src[i]})
}

// close pairs the run of closing braces or brackets at s.src[i] with the open
// ones. It returns the end of the run, or the end of the brace that closed the
// last open run.
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

// top returns the open run that a closing brace or bracket closes, or nil.
// brace tells which of the two it is. A brace removes the open brackets above
// its run.
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
