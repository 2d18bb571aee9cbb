package lua

import (
	"math"
	"strings"
)

// A text is a string in units, for patterns.
type text[T unit] struct {
	from func(s string) []T
	to   func(t []T) string
	is   func(c T, class byte) bool
	size int // bytes that a unit takes
}

var (
	byteText = text[byte]{func(s string) []byte { return []byte(s) }, func(t []byte) string { return string(t) }, byteIs, 1}
	runeText = text[rune]{func(s string) []rune { return []rune(s) }, func(t []rune) string { return string(t) }, runeIs, 4}
)

// matcher returns a matcher of a pattern in a text.
func (x text[T]) matcher(m *Machine, src, pat string) *matcher[T] {
	m.Charge(x.size * (len(src) + len(pat)))
	return &matcher[T]{m: m, is: x.is, src: x.from(src), pat: x.from(pat)}
}

// captured returns the captures of a match, or the whole match if there are none.
func (x text[T]) captured(t *matcher[T], s, e int, whole bool) []Value {
	if t.level == 0 && whole {
		return []Value{t.m.String(x.to(t.src[s:e]))}
	}
	out := make([]Value, 0, t.level)
	for _, c := range t.captures[:t.level] {
		switch c.size {
		case positionCapture:
			out = append(out, float64(c.start+1))
		case openCapture:
			t.m.Throw("unfinished capture")
		default:
			out = append(out, t.m.String(x.to(t.src[c.start:c.start+c.size])))
		}
	}
	return out
}

// find is string.find, or string.match if match is set.
func (x text[T]) find(match bool) Native {
	return func(m *Machine, args []Value) []Value {
		a := Args{m, args}
		src, pat := a.String(0), a.String(1)
		t := x.matcher(m, src, pat)
		init := a.Int(2, 1)
		if init < 0 {
			init = max(len(t.src)+init+1, 1)
		}
		init = min(max(init, 1)-1, len(t.src))
		if !match && (truth(at(args, 3)) || !strings.ContainsAny(pat, "^$*+?.([%-")) {
			k := index(m, t.src[init:], t.pat)
			if k < 0 {
				return []Value{nil}
			}
			return []Value{float64(init + k + 1), float64(init + k + len(t.pat))}
		}
		s, e, ok := t.find(init)
		switch {
		case !ok:
			return []Value{nil}
		case match:
			return x.captured(t, s, e, true)
		}
		return append([]Value{float64(s + 1), float64(e)}, x.captured(t, s, e, false)...)
	}
}

// index returns the first place of sep in s, or -1.
func index[T unit](m *Machine, s, sep []T) int {
	if len(sep) == 0 {
		return 0
	}
	work := 0
	for k := 0; k+len(sep) <= len(s); k++ {
		n := 0
		for n < len(sep) && s[k+n] == sep[n] {
			n++
		}
		if n == len(sep) {
			return k
		}
		if work += n + 1; work > 1024 {
			m.Step(work / 16)
			work = 0
		}
	}
	return -1
}

// gmatch is string.gmatch.
func (x text[T]) gmatch(m *Machine, args []Value) []Value {
	a := Args{m, args}
	t := x.matcher(m, a.String(0), a.String(1))
	pos := 0
	return []Value{NewFunction("gmatch", func(m *Machine, _ []Value) []Value {
		if pos > len(t.src) {
			return []Value{nil}
		}
		s, e, ok := t.search(pos, 0, false) // a "^" at the beginning stands for itself
		if !ok {
			pos = len(t.src) + 1
			return []Value{nil}
		}
		if pos = e; e == s {
			pos++
		}
		return x.captured(t, s, e, true)
	})}
}

// gsub is string.gsub.
func (x text[T]) gsub(m *Machine, args []Value) []Value {
	a := Args{m, args}
	t := x.matcher(m, a.String(0), a.String(1))
	replace := x.replacement(a, t)
	limit := a.Int(3, math.MaxInt32)
	anchored := len(t.pat) > 0 && t.pat[0] == '^'
	var out []T
	n, pos, p := 0, 0, 0
	if anchored {
		p = 1
	}
	for n < limit {
		t.level, t.depth = 0, 0
		e := t.match(pos, p)
		if e >= 0 {
			n++
			out = append(out, replace(pos, e)...)
		}
		switch {
		case e > pos:
			pos = e
		case pos < len(t.src):
			out = append(out, t.src[pos])
			pos++
		default:
			pos++
		}
		if pos > len(t.src) || anchored {
			break
		}
	}
	if pos < len(t.src) {
		out = append(out, t.src[pos:]...)
	}
	return []Value{m.String(x.to(out)), float64(n)}
}

// replacement returns the function that gives the text in place of a match.
func (x text[T]) replacement(a Args, t *matcher[T]) func(s, e int) []T {
	m := a.m
	give := func(v Value, s, e int) []T {
		if !truth(v) {
			return t.src[s:e]
		}
		r, ok := ToText(v)
		if !ok {
			m.Throw("invalid replacement value (a %s)", TypeOf(v))
		}
		m.Charge(x.size * len(r))
		return x.from(r)
	}
	switch r := a.Any(2).(type) {
	case *Table:
		return func(s, e int) []T { return give(m.Index(r, first(x.captured(t, s, e, true))), s, e) }
	case *Function:
		return func(s, e int) []T { return give(first(m.Call(r, x.captured(t, s, e, true)...)), s, e) }
	}
	form := x.from(a.String(2))
	return func(s, e int) []T {
		m.Step(1 + len(form)/16)
		var out []T
		for k := 0; k < len(form); k++ {
			if form[k] != '%' || k+1 == len(form) {
				out = append(out, form[k])
				continue
			}
			k++
			c := form[k]
			switch {
			case c == '0':
				out = append(out, t.src[s:e]...)
			case c > '0' && c <= '9':
				values := x.captured(t, s, e, true)
				if int(c-'1') >= len(values) {
					m.Throw("invalid capture index")
				}
				v, _ := ToText(values[c-'1'])
				out = append(out, x.from(v)...)
			default:
				if x.size > 1 && c != '%' { // mw.ustring keeps the sign
					out = append(out, '%')
				}
				out = append(out, c)
			}
		}
		m.Charge(x.size * len(out))
		return out
	}
}

// bounds returns the bounds of a part of a text with n units, whose first and last
// positions are arguments k and k+1.
func (a Args) bounds(k, n, defaultEnd int) (i, j int) {
	i, j = a.Int(k, 1), a.Int(k+1, defaultEnd)
	if i < 0 {
		i = max(n+i+1, 1)
	}
	if j < 0 {
		j = n + j + 1
	}
	i, j = max(i, 1), min(j, n)
	if i > j {
		return 0, 0
	}
	return i - 1, j
}

// stringLibrary returns the library string.
func stringLibrary(m *Machine) *Table {
	t := library(map[string]Native{
		"len": func(m *Machine, args []Value) []Value { return []Value{float64(len(Args{m, args}.String(0)))} },
		"sub": func(m *Machine, args []Value) []Value {
			a := Args{m, args}
			s := a.String(0)
			i, j := a.bounds(1, len(s), -1)
			return []Value{m.String(s[i:j])}
		},
		"upper": func(m *Machine, args []Value) []Value {
			return []Value{m.String(asciiCase(Args{m, args}.String(0), 'a'))}
		},
		"lower": func(m *Machine, args []Value) []Value {
			return []Value{m.String(asciiCase(Args{m, args}.String(0), 'A'))}
		},
		"reverse": reverse,
		"rep":     repeat,
		"byte": func(m *Machine, args []Value) []Value {
			a := Args{m, args}
			s := a.String(0)
			i, j := a.bounds(1, len(s), a.Int(1, 1))
			m.Charge(16 * (j - i))
			var out []Value
			for _, c := range []byte(s[i:j]) {
				out = append(out, float64(c))
			}
			return out
		},
		"char": func(m *Machine, args []Value) []Value {
			out := make([]byte, len(args))
			for k := range args {
				n := Args{m, args}.Int(k, 0)
				if n < 0 || n > 255 {
					m.Throw("bad argument #%d to 'char' (invalid value)", k+1)
				}
				out[k] = byte(n)
			}
			return []Value{m.String(string(out))}
		},
		"format": func(m *Machine, args []Value) []Value { return []Value{m.String(Args{m, args}.format())} },
		"find":   byteText.find(false),
		"match":  byteText.find(true),
		"gmatch": byteText.gmatch,
		"gsub":   byteText.gsub,
	})
	t.Set("gfind", t.Get("gmatch")) // the name of Lua 5.0, which 5.1 keeps
	return t
}

// asciiCase changes the case of the letters A to Z, from the case of the given letter.
func asciiCase(s string, from byte) string {
	b := []byte(s)
	for k, c := range b {
		if c >= from && c < from+26 {
			b[k] ^= 0x20
		}
	}
	return string(b)
}

func reverse(m *Machine, args []Value) []Value {
	s := Args{m, args}.String(0)
	b := make([]byte, len(s))
	for k := range len(s) {
		b[len(s)-1-k] = s[k]
	}
	return []Value{m.String(string(b))}
}

// repeat is string.rep.
func repeat(m *Machine, args []Value) []Value {
	a := Args{m, args}
	s, n := a.String(0), max(a.Int(1, 0), 0)
	if len(s) > 0 && n > math.MaxInt32/len(s) {
		m.Charge(math.MaxInt32)
		m.Fail(failMemory, "string too long")
	}
	m.Charge(n * len(s))
	m.Step(n * len(s) / 64)
	return []Value{strings.Repeat(s, n)}
}
