package lua

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ustring returns the functions of mw.ustring that work with patterns or positions.
func Ustring() map[string]Native {
	functions := map[string]Native{}
	put := func(name string, f Native) { functions[name] = f }
	put("find", valid(runeText.find(false)))
	put("match", valid(runeText.find(true)))
	put("gmatch", valid(runeText.gmatch))
	put("gsub", valid(runeText.gsub))
	put("rep", repeat)
	put("format", func(m *Machine, args []Value) []Value { return []Value{m.String(Args{m, args}.format())} })
	put("len", func(m *Machine, args []Value) []Value {
		s := Args{m, args}.String(0)
		if !utf8.ValidString(s) {
			return []Value{nil}
		}
		return []Value{float64(utf8.RuneCountInString(s))}
	})
	put("sub", valid(func(m *Machine, args []Value) []Value {
		a := Args{m, args}
		m.Charge(4 * len(a.String(0)))
		r := []rune(a.String(0))
		i, j := a.bounds(1, len(r), -1)
		return []Value{m.String(string(r[i:j]))}
	}))
	put("codepoint", valid(func(m *Machine, args []Value) []Value {
		a := Args{m, args}
		r := []rune(a.String(0))
		i, j := a.bounds(1, len(r), a.Int(1, 1))
		m.Charge(4*len(a.String(0)) + 16*(j-i))
		var out []Value
		for _, c := range r[i:j] {
			out = append(out, float64(c))
		}
		return out
	}))
	put("gcodepoint", valid(func(m *Machine, args []Value) []Value {
		a := Args{m, args}
		m.Charge(4 * len(a.String(0)))
		r := []rune(a.String(0))
		i, j := a.bounds(1, len(r), -1)
		return []Value{NewFunction("gcodepoint", func(*Machine, []Value) []Value {
			if i >= j {
				return []Value{nil}
			}
			i++
			return []Value{float64(r[i-1])}
		})}
	}))
	put("char", func(m *Machine, args []Value) []Value {
		var b strings.Builder
		for k := range args {
			c := Args{m, args}.Int(k, 0)
			if c < 0 || c > unicode.MaxRune {
				m.Throw("bad argument #%d to 'char' (value out of range)", k+1)
			}
			b.WriteRune(rune(c))
		}
		return []Value{m.String(b.String())}
	})
	return functions
}

// valid returns f for strings of valid UTF-8. Other strings are errors.
func valid(f Native) Native {
	return func(m *Machine, args []Value) []Value {
		if !utf8.ValidString(Args{m, args}.String(0)) {
			m.Throw("bad argument #1: string is not UTF-8")
		}
		return f(m, args)
	}
}

// Split returns the parts of a text between the matches of a pattern of mw.ustring, or of
// a plain text.
func Split(m *Machine, s, pattern string, plain bool) (parts []string) {
	t := runeText.matcher(m, s, pattern)
	start := 0
	for pos := 0; pos <= len(t.src); {
		var from, to int
		ok := false
		if plain {
			if from = index(m, t.src[pos:], t.pat); from >= 0 {
				from, to, ok = from+pos, from+pos+len(t.pat), true
			}
		} else {
			from, to, ok = t.find(pos)
		}
		if !ok {
			break
		}
		if to == from { // an empty match splits before each character
			if from >= len(t.src) {
				break
			}
			if from == start {
				from, to = from+1, from+1
				if from >= len(t.src) {
					break
				}
			}
		}
		parts = append(parts, string(t.src[start:from]))
		start, pos = to, to
		m.Step(1)
	}
	parts = append(parts, string(t.src[start:]))
	m.Charge(len(s) + 32*len(parts))
	return parts
}

// Set returns a function that reports whether a character is in a set of a pattern, whose
// brackets are missing: "%s_".
func Set(m *Machine, set string) func(c rune) bool {
	t := runeText.matcher(m, "", "["+set+"]")
	end := t.classEnd(0)
	return func(c rune) bool { return t.single(c, 0, end) }
}
