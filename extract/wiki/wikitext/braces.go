package wikitext

import "slices"

// A braceFinder finds the ends of templates, parameters and lines. It pairs the page's
// braces once and stores the result.
type braceFinder struct {
	tagFinder
	elements []element // pairs of braces, and pairs of brackets inside braces
	matched  int       // all pairs that begin before this offset are in elements
	pieces   []piece   // scratch of match: open runs of braces or brackets
}

// maxKept is the maximum capacity, in entries, of a buffer that is reused for the next
// page. Larger buffers, which only hostile pages need, are released.
const maxKept = 1 << 16

// load starts a page with the source src.
func (b *braceFinder) load(src []byte) {
	b.tagFinder.load(src)
	b.special = b.special.mark(src)
	if cap(b.elements) > maxKept {
		b.elements = nil
	}
	if cap(b.pieces) > maxKept {
		b.pieces = nil
	}
	b.elements, b.pieces, b.matched = b.elements[:0], b.pieces[:0], 0
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
	slot       int  // index in elements of the next pair that this run closes
	kind       byte // '{' or '['
}

// elementAt returns the template, parameter or link that begins exactly at
// src[i]; ok is false if there is none or it is not closed.
func (b *braceFinder) elementAt(i int) (el element, ok bool) {
	if i >= b.matched {
		if b.src[i] != '{' {
			return element{}, false // brackets are paired inside braces only
		}
		b.match(i)
	}
	k := b.lastElement(i)
	if k < 0 || int(b.elements[k].start) != i || b.elements[k].end < 0 {
		return element{}, false
	}
	return b.elements[k], true
}

// lastElement returns the index of the last element that begins at or before i,
// or -1.
func (b *braceFinder) lastElement(i int) int {
	lo, hi := 0, len(b.elements)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if int(b.elements[m].start) <= i {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo - 1
}

// elementInRun returns the outermost closed template or parameter that begins
// in the run of braces src[i:i+run], but after its first brace. ok is false
// if there is none.
func (b *braceFinder) elementInRun(i, run int) (el element, ok bool) {
	for k := b.lastElement(i + run - 1); k >= 0 && int(b.elements[k].start) > i && b.elements[k].end >= 0; k-- {
		el, ok = b.elements[k], true
	}
	return el, ok
}

// bracesEnd returns the end of the template or parameter at src[i], which is "{". It
// returns i if no template or parameter begins there and ends at or before e.
func (b *braceFinder) bracesEnd(i, e int) int {
	if i+1 >= e || b.src[i+1] != '{' {
		return i
	}
	if el, ok := b.elementAt(i); ok && int(el.end) <= e {
		return int(el.end)
	}
	return i
}

// step returns the end of the template, comment or extension tag at src[i],
// or i+1 if there is none.
func (b *braceFinder) step(i, e int) int {
	end := i
	switch b.src[i] {
	case '{':
		end = b.bracesEnd(i, e)
	case '<':
		end = b.opaqueEnd(i, e)
	}
	return max(end, i+1)
}

// match pairs braces from src[i] on until all are closed, or to the end of
// the page. It follows MediaWiki's preprocessor: a run of closing braces closes
// three braces of the innermost open run if both runs have three, else two; the
// content of extension tags is skipped. Unlike MediaWiki, a closing brace
// discards the brackets left open inside, so that an unclosed "[[" does not
// hide the text after the template.
func (b *braceFinder) match(i int) {
	src, n := b.src, len(b.src)
	start := i
	b.pieces = b.pieces[:0]
	for {
		if i = b.skipToBracket(i, n); i >= n {
			break
		}
		switch src[i] {
		case '{', '[':
			run := runLength(src, i)
			if run >= 2 {
				b.open(i, run)
			}
			i += run
		case '}', ']':
			i = b.close(i, runLength(src, i))
			if len(b.pieces) == 0 {
				b.matched = i
				b.work += i - start
				return
			}
		default:
			if j := b.opaqueEnd(i, n); j > i {
				i = j
			} else {
				i++
			}
		}
	}
	b.matched = n
	b.work += n - start
}

// runLength returns the number of bytes equal to src[i] from i on.
func runLength(src []byte, i int) int {
	j := i + 1
	for j < len(src) && src[j] == src[i] {
		j++
	}
	return j - i
}

// open pushes the run of opening braces or brackets at src[i] on the stack. It also
// reserves an element for each pair that the run can hold. These elements are filled
// from the last to the first, so that elements stay sorted by start.
func (b *braceFinder) open(i, run int) {
	slots := run / 2
	b.elements = slices.Grow(b.elements, slots)
	for range slots {
		b.elements = append(b.elements, element{start: int32(i), end: -1})
	}
	b.pieces = append(b.pieces, piece{pos: i, count: run, slot: len(b.elements) - 1, kind: b.src[i]})
}

// close pairs the run of closing braces or brackets at src[i] with the open
// ones. It returns the end of the run, or the end of the brace that closed the
// last open run.
func (b *braceFinder) close(i, run int) int {
	brace := b.src[i] == '}'
	for run >= 2 {
		top := b.top(brace)
		if top == nil {
			break
		}
		width := 2
		if brace && run >= 3 && top.count >= 3 {
			width = 3
		}
		b.elements[top.slot] = element{start: int32(top.pos + top.count - width), end: int32(i + width), width: int32(width)}
		top.slot--
		top.count -= width
		i += width
		run -= width
		if top.count < 2 {
			b.pieces = b.pieces[:len(b.pieces)-1]
			if len(b.pieces) == 0 {
				return i
			}
		}
	}
	return i + run
}

// top returns the open run that a closing brace (or, if brace is false, a closing
// bracket) closes; nil if there is none. A brace first removes the open brackets above
// its run.
func (b *braceFinder) top(brace bool) *piece {
	k := len(b.pieces) - 1
	if !brace {
		if k >= 0 && b.pieces[k].kind == '[' {
			return &b.pieces[k]
		}
		return nil
	}
	for k >= 0 && b.pieces[k].kind == '[' {
		k--
	}
	if k < 0 {
		return nil
	}
	b.pieces = b.pieces[:k+1]
	return &b.pieces[k]
}
