package lua

import (
	"unicode"
	"unicode/utf8"
)

// A unit is an element of a text in which a pattern is searched: a byte for the library
// string, a character for mw.ustring.
type unit interface{ ~byte | ~rune }

// A matcher matches a pattern of Lua against a text. Each step of it counts.
type matcher[T unit] struct {
	m        *Machine
	is       func(c T, class byte) bool
	src, pat []T
	level    int // number of captures
	captures [maxCaptures]capture
	depth    int
}

const (
	maxCaptures  = 32
	maxRecursion = 200

	openCapture     = -1
	positionCapture = -2
)

type capture struct{ start, size int }

func (t *matcher[T]) tick() { t.m.Step(1) }

// classEnd returns the end of the single item of a pattern at p.
func (t *matcher[T]) classEnd(p int) int {
	c := t.pat[p]
	p++
	switch c {
	case '%':
		if p >= len(t.pat) {
			t.m.Throw("malformed pattern (ends with '%%')")
		}
		return p + 1
	case '[':
		if p < len(t.pat) && t.pat[p] == '^' {
			p++
		}
		for first := true; ; first = false {
			if p >= len(t.pat) {
				t.m.Throw("malformed pattern (missing ']')")
			}
			c := t.pat[p]
			if c == ']' && !first {
				return p + 1
			}
			p++
			if c == '%' {
				p++
			}
		}
	}
	return p
}

// single reports whether the unit c matches the item pat[p:ep].
func (t *matcher[T]) single(c T, p, ep int) bool {
	switch t.pat[p] {
	case '.':
		return true
	case '%':
		return t.class(c, t.pat[p+1])
	case '[':
		return t.set(c, p, ep-1)
	}
	return t.pat[p] == c
}

// class reports whether c belongs to the class %cl.
func (t *matcher[T]) class(c, cl T) bool {
	if cl >= 'a' && cl <= 'z' || cl >= 'A' && cl <= 'Z' {
		lower := byte(cl) | 0x20
		switch lower {
		case 'a', 'c', 'd', 'l', 'p', 's', 'u', 'w', 'x', 'z':
			return t.is(c, lower) == (byte(cl) == lower)
		}
	}
	return cl == c
}

// set reports whether c is in the set pat[p:end], where pat[p] is "[".
func (t *matcher[T]) set(c T, p, end int) bool {
	in := true
	p++
	if t.pat[p] == '^' {
		in = false
		p++
	}
	for p < end {
		t.tick()
		switch {
		case t.pat[p] == '%' && p+1 < len(t.pat):
			if t.class(c, t.pat[p+1]) {
				return in
			}
			p += 2
		case p+2 < end && t.pat[p+1] == '-':
			if t.pat[p] <= c && c <= t.pat[p+2] {
				return in
			}
			p += 3
		default:
			if t.pat[p] == c {
				return in
			}
			p++
		}
	}
	return !in
}

// match matches pat[p:] at src[s:]. It returns the end of the match, or -1.
func (t *matcher[T]) match(s, p int) int {
	if t.depth++; t.depth > maxRecursion {
		t.m.Throw("pattern too complex")
	}
	defer func() { t.depth-- }()
	for {
		t.tick()
		if p >= len(t.pat) {
			return s
		}
		switch t.pat[p] {
		case '(':
			if p+1 < len(t.pat) && t.pat[p+1] == ')' {
				return t.open(s, p+2, positionCapture)
			}
			return t.open(s, p+1, openCapture)
		case ')':
			return t.close(s, p+1)
		case '$':
			if p+1 == len(t.pat) {
				if s == len(t.src) {
					return s
				}
				return -1
			}
		case '%':
			if end, next, special := t.escaped(s, p); special {
				if end < 0 {
					return -1
				}
				s, p = end, next
				continue
			}
		}
		ep := t.classEnd(p)
		next := T(0)
		if ep < len(t.pat) {
			next = t.pat[ep]
		}
		here := s < len(t.src) && t.single(t.src[s], p, ep)
		switch next {
		case '?':
			if here {
				if end := t.match(s+1, ep+1); end >= 0 {
					return end
				}
			}
			p = ep + 1
		case '*', '+':
			if next == '+' {
				if !here {
					return -1
				}
				return t.most(s+1, p, ep)
			}
			return t.most(s, p, ep)
		case '-':
			return t.least(s, p, ep)
		default:
			if !here {
				return -1
			}
			s, p = s+1, ep
		}
	}
}

// escaped matches %b, %f and %1 at pat[p:]; special is false for all else. It returns the end
// of the match, or -1, and the end of the item.
func (t *matcher[T]) escaped(s, p int) (end, next int, special bool) {
	if p+1 >= len(t.pat) {
		return 0, 0, false
	}
	switch c := t.pat[p+1]; {
	case c == 'b':
		return t.balanced(s, p+2), p + 4, true
	case c == 'f':
		if next = t.frontier(s, p+2); next < 0 {
			return -1, 0, true
		}
		return s, next, true
	case c >= '0' && c <= '9':
		return t.back(s, int(c-'1')), p + 2, true
	}
	return 0, 0, false
}

// most matches as many of an item as possible, and then the rest.
func (t *matcher[T]) most(s, p, ep int) int {
	n := 0
	for s+n < len(t.src) && t.single(t.src[s+n], p, ep) {
		t.tick()
		n++
	}
	for ; n >= 0; n-- {
		if end := t.match(s+n, ep+1); end >= 0 {
			return end
		}
	}
	return -1
}

// least matches as few of an item as possible, and then the rest.
func (t *matcher[T]) least(s, p, ep int) int {
	for {
		if end := t.match(s, ep+1); end >= 0 {
			return end
		}
		if s >= len(t.src) || !t.single(t.src[s], p, ep) {
			return -1
		}
		s++
	}
}

func (t *matcher[T]) open(s, p, kind int) int {
	if t.level >= maxCaptures {
		t.m.Throw("too many captures")
	}
	t.captures[t.level] = capture{s, kind}
	t.level++
	end := t.match(s, p)
	if end < 0 {
		t.level--
	}
	return end
}

func (t *matcher[T]) close(s, p int) int {
	k := t.level - 1
	for k >= 0 && t.captures[k].size != openCapture {
		k--
	}
	if k < 0 {
		t.m.Throw("invalid pattern capture")
	}
	t.captures[k].size = s - t.captures[k].start
	end := t.match(s, p)
	if end < 0 {
		t.captures[k].size = openCapture
	}
	return end
}

// balanced matches %bxy, whose x is pat[p].
func (t *matcher[T]) balanced(s, p int) int {
	if p+1 >= len(t.pat) {
		t.m.Throw("missing arguments to '%%b'")
	}
	if s >= len(t.src) || t.src[s] != t.pat[p] {
		return -1
	}
	open, end, depth := t.pat[p], t.pat[p+1], 1
	for s++; s < len(t.src); s++ {
		t.tick()
		switch t.src[s] {
		case end:
			if depth--; depth == 0 {
				return s + 1
			}
		case open:
			depth++
		}
	}
	return -1
}

// frontier matches %f[set], whose set begins at pat[p], and returns the end of the set.
func (t *matcher[T]) frontier(s, p int) int {
	if p >= len(t.pat) || t.pat[p] != '[' {
		t.m.Throw("missing '[' after '%%f' in pattern")
	}
	end := t.classEnd(p)
	var before, after T
	if s > 0 {
		before = t.src[s-1]
	}
	if s < len(t.src) {
		after = t.src[s]
	}
	if t.set(before, p, end-1) || !t.set(after, p, end-1) {
		return -1
	}
	return end
}

// back matches the text of capture k again.
func (t *matcher[T]) back(s, k int) int {
	if k < 0 || k >= t.level || t.captures[k].size == openCapture {
		t.m.Throw("invalid capture index")
	}
	c := t.captures[k]
	for n := range max(c.size, 0) {
		t.tick()
		if s+n >= len(t.src) || t.src[s+n] != t.src[c.start+n] {
			return -1
		}
	}
	return s + max(c.size, 0)
}

// find searches for the pattern from position init on. It returns the bounds of the
// first match; ok is false if there is none.
func (t *matcher[T]) find(init int) (s, e int, ok bool) {
	if len(t.pat) > 0 && t.pat[0] == '^' {
		return t.search(init, 1, true)
	}
	return t.search(init, 0, false)
}

// search searches for pat[p:] from position init on, or only there.
func (t *matcher[T]) search(init, p int, anchored bool) (s, e int, ok bool) {
	for s = init; s <= len(t.src); s++ {
		t.level, t.depth = 0, 0
		if e = t.match(s, p); e >= 0 {
			return s, e, true
		}
		if anchored {
			break
		}
	}
	return 0, 0, false
}

// byteIs reports whether a byte belongs to a class of the library string.
func byteIs(c, class byte) bool {
	switch class {
	case 'a':
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	case 'c':
		return c < 32 || c == 127
	case 'd':
		return isDigit(c)
	case 'l':
		return c >= 'a' && c <= 'z'
	case 'p':
		return c > 32 && c < 127 && !isDigit(c) && !byteIs(c, 'a')
	case 's':
		return c == ' ' || c >= '\t' && c <= '\r'
	case 'u':
		return c >= 'A' && c <= 'Z'
	case 'w':
		return isDigit(c) || byteIs(c, 'a')
	case 'x':
		return isHex(c)
	}
	return c == 0 // %z
}

// runeIs reports whether a character belongs to a class of mw.ustring.
func runeIs(c rune, class byte) bool {
	switch class {
	case 'a':
		return unicode.IsLetter(c)
	case 'c':
		return unicode.Is(unicode.Cc, c)
	case 'd':
		return unicode.Is(unicode.Nd, c)
	case 'l':
		return unicode.Is(unicode.Ll, c)
	case 'p':
		return unicode.IsPunct(c)
	case 's':
		return unicode.IsSpace(c)
	case 'u':
		return unicode.Is(unicode.Lu, c)
	case 'w':
		return unicode.IsLetter(c) || unicode.IsNumber(c)
	case 'x':
		return c < utf8.RuneSelf && isHex(byte(c)) || c >= '０' && c <= '９' || c >= 'Ａ' && c <= 'Ｆ' || c >= 'ａ' && c <= 'ｆ'
	}
	return c == 0
}
