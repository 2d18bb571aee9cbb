package lua

import (
	"slices"
	"sort"
	"strings"
)

func tableLibrary() *Table {
	return library(map[string]Native{
		"concat": concat, "insert": insert, "remove": remove, "sort": sortTable,
		"maxn": func(m *Machine, args []Value) []Value {
			t, most := Args{m, args}.Table(0), 0.0
			m.Step((len(t.array) + len(t.list)) / 4)
			for k := range t.All() {
				if n, ok := k.(float64); ok {
					most = max(most, n)
				}
			}
			return []Value{most}
		},
		// The functions below are obsolete in Lua 5.1, and still there: modules of wikis call them.
		"getn": func(m *Machine, args []Value) []Value { return []Value{float64(Args{m, args}.Table(0).Len())} },
		"setn": func(m *Machine, args []Value) []Value { m.Throw("'setn' is obsolete"); return nil },
		"foreach": func(m *Machine, args []Value) []Value {
			a := Args{m, args}
			t, f := a.Table(0), a.callback(1)
			for k, v := range t.All() {
				m.Step(1)
				if r := first(m.Call(f, k, v)); r != nil {
					return []Value{r}
				}
			}
			return nil
		},
		"foreachi": func(m *Machine, args []Value) []Value {
			a := Args{m, args}
			t, f := a.Table(0), a.callback(1)
			for k, n := 1, t.Len(); k <= n; k++ {
				m.Step(1)
				if r := first(m.Call(f, float64(k), t.Get(float64(k)))); r != nil {
					return []Value{r}
				}
			}
			return nil
		},
	})
}

// callback returns argument k, which must be a function.
func (a Args) callback(k int) *Function {
	f, ok := a.Any(k).(*Function)
	if !ok {
		a.bad(k, "function")
	}
	return f
}

func concat(m *Machine, args []Value) []Value {
	a := Args{m, args}
	t, sep := a.Table(0), a.Opt(1, "")
	i, j := a.Int(2, 1), a.Int(3, t.Len())
	var b strings.Builder
	for k := i; k <= j; k++ {
		v := t.Get(float64(k))
		s, ok := ToText(v)
		if !ok {
			m.Throw("invalid value (%s) at index %d in table for 'concat'", TypeOf(v), k)
		}
		m.Charge(len(s) + len(sep))
		m.Step(1 + (len(s)+len(sep))/64)
		b.WriteString(s)
		if k < j {
			b.WriteString(sep)
		}
	}
	return []Value{b.String()}
}

func insert(m *Machine, args []Value) []Value {
	a := Args{m, args}
	t := a.Table(0)
	n := t.Len()
	switch len(args) {
	case 2:
		m.Put(t, float64(n+1), args[1])
	case 3:
		at := a.Int(1, 0)
		if at < 1 || at > n+1 {
			m.Put(t, float64(at), args[2])
			return nil
		}
		m.Step((n - at + 1) / 8)
		for k := n; k >= at; k-- {
			m.Put(t, float64(k+1), t.Get(float64(k)))
		}
		m.Put(t, float64(at), args[2])
	default:
		m.Throw("wrong number of arguments to 'insert'")
	}
	return nil
}

func remove(m *Machine, args []Value) []Value {
	a := Args{m, args}
	t := a.Table(0)
	n := t.Len()
	at := a.Int(1, n)
	if at < 1 || at > n {
		return []Value{nil}
	}
	m.writable(t)
	removed := t.Get(float64(at))
	m.Step((n - at + 1) / 8)
	for k := at; k < n; k++ {
		t.array[k-1] = t.array[k]
	}
	t.Set(float64(n), nil)
	return []Value{removed}
}

// A sorter sorts the array of a table.
type sorter struct {
	m     *Machine
	list  []Value
	order Value
}

func (s *sorter) Len() int      { return len(s.list) }
func (s *sorter) Swap(i, j int) { s.list[i], s.list[j] = s.list[j], s.list[i] }
func (s *sorter) Less(i, j int) bool {
	s.m.Step(1)
	if s.order == nil {
		return s.m.less(s.list[i], s.list[j])
	}
	return truth(first(s.m.Call(s.order, s.list[i], s.list[j])))
}

func sortTable(m *Machine, args []Value) []Value {
	t := Args{m, args}.Table(0)
	m.writable(t)
	s := &sorter{m, slices.Clone(t.array), at(args, 1)}
	m.Charge(16 * len(t.array))
	sort.Stable(s) // equal elements stay in order, whatever Go's algorithm does
	for k, v := range s.list {
		t.Set(float64(k+1), v)
	}
	return nil
}
