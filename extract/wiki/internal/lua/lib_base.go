package lua

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Args are the arguments of a native function.
type Args struct {
	m    *Machine
	list []Value
}

// NewArgs returns the arguments of a call.
func NewArgs(m *Machine, list []Value) Args { return Args{m, list} }

// bad raises an error about argument k.
func (a Args) bad(k int, want string) {
	got := "no value"
	if k < len(a.list) {
		got = TypeOf(a.list[k])
	}
	a.m.Throw("bad argument #%d to '%s' (%s expected, got %s)", k+1, a.m.frames[a.m.depth-1].fn.name, want, got)
}

// Any returns argument k, or nil.
func (a Args) Any(k int) Value { return at(a.list, k) }

// String returns argument k, a string or number.
func (a Args) String(k int) string {
	s, ok := ToText(at(a.list, k))
	if !ok {
		a.bad(k, "string")
	}
	return s
}

// Opt returns argument k, a string or number, or the default if it is nil.
func (a Args) Opt(k int, otherwise string) string {
	if at(a.list, k) == nil {
		return otherwise
	}
	return a.String(k)
}

// Number returns argument k, a number.
func (a Args) Number(k int) float64 {
	n, ok := ToNumber(at(a.list, k))
	if !ok {
		a.bad(k, "number")
	}
	return n
}

// Int returns argument k, a number, as an integer, or the default if it is nil.
func (a Args) Int(k, otherwise int) int {
	if at(a.list, k) == nil {
		return otherwise
	}
	n := a.Number(k)
	switch {
	case n != n:
		return 0
	case n > math.MaxInt32:
		return math.MaxInt32
	case n < -math.MaxInt32:
		return -math.MaxInt32
	}
	return int(n)
}

// Table returns argument k, a table.
func (a Args) Table(k int) *Table {
	t, ok := at(a.list, k).(*Table)
	if !ok {
		a.bad(k, "table")
	}
	return t
}

// library returns a table of functions.
func library(functions map[string]Native) *Table {
	t := NewTable()
	Register(t, functions)
	return t
}

// Register puts functions into a table, in the order of their names.
func Register(t *Table, functions map[string]Native) {
	t.reserve(len(functions))
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		t.Set(name, NewFunction(name, functions[name]))
	}
}

// NewEnv returns the environment of a new program: the functions and libraries of Lua
// that are safe. It also prepares the machine: the methods of strings, and the random
// numbers, which the seed determines.
func NewEnv(m *Machine, seed uint64) *Table {
	m.random = seed
	env := library(map[string]Native{
		"assert": assert, "error": throw, "getfenv": getEnv, "setfenv": setEnv, "getmetatable": getMeta, "setmetatable": setMeta,
		"ipairs": ipairs, "pairs": pairs, "next": next, "pcall": pcall, "xpcall": xpcall, "rawequal": rawEqual, "rawget": rawGet,
		"rawset": rawSet, "select": selectValues, "tonumber": toNumber, "tostring": toString, "type": typeOf, "unpack": unpack,
	})
	env.Set("_G", env)
	env.Set("_VERSION", "Lua 5.1")
	lib := stringLibrary(m)
	env.Set("string", lib)
	m.strings = NewTable()
	methods := NewTable() // what a program puts into string is no method
	for name, method := range lib.All() {
		methods.Set(name, method)
	}
	m.strings.Set("__index", methods)
	env.Set("table", tableLibrary())
	env.Set("math", mathLibrary())
	return env
}

func assert(m *Machine, args []Value) []Value {
	a := Args{m, args}
	if len(args) == 0 {
		a.bad(0, "value")
	}
	if !truth(args[0]) {
		if len(args) > 1 {
			panic(&thrown{args[1]})
		}
		m.Throw("assertion failed!")
	}
	return slices.Clone(args)
}

func throw(m *Machine, args []Value) []Value {
	a := Args{m, args}
	v := a.Any(0)
	if s, ok := v.(string); ok {
		if level := a.Int(1, 1); level > 0 {
			v = m.String(m.where(level) + s)
		}
	}
	panic(&thrown{v})
}

// running returns the function at a level of the calls; 1 is the caller.
func (m *Machine) running(level int) *Function {
	for d := m.depth - 1; d >= 0; d-- {
		if f := m.frames[d].fn; f.proto != nil {
			if level--; level == 0 {
				return f
			}
		}
	}
	m.Throw("invalid level")
	return nil
}

func (a Args) function(k int) *Function {
	switch v := a.Any(k).(type) {
	case *Function:
		return v
	case nil:
		return a.m.running(1)
	}
	return a.m.running(a.Int(k, 1))
}

func getEnv(m *Machine, args []Value) []Value {
	fn := Args{m, args}.function(0)
	if fn.proto == nil {
		return []Value{nil}
	}
	return []Value{fn.env}
}

func setEnv(m *Machine, args []Value) []Value {
	a := Args{m, args}
	fn := a.function(0)
	if fn.proto == nil {
		m.Throw("'setfenv' cannot change environment of given object")
	}
	fn.env = a.Table(1)
	return []Value{fn}
}

func getMeta(m *Machine, args []Value) []Value {
	t, ok := Args{m, args}.Any(0).(*Table)
	if !ok || t.meta == nil {
		return []Value{nil}
	}
	if protected := t.meta.Get("__metatable"); protected != nil {
		return []Value{protected}
	}
	return []Value{t.meta}
}

func setMeta(m *Machine, args []Value) []Value {
	a := Args{m, args}
	t := a.Table(0)
	if t.meta != nil && t.meta.Get("__metatable") != nil {
		m.Throw("cannot change a protected metatable")
	}
	if meta := a.Any(1); meta == nil {
		t.meta = nil
	} else {
		t.meta = a.Table(1)
	}
	return []Value{t}
}

func ipairs(m *Machine, args []Value) []Value {
	if h := m.metamethod(at(args, 0), "__ipairs"); h != nil {
		return iteration(m.Call(h, args[0]))
	}
	t := Args{m, args}.Table(0)
	return []Value{ipairsNext, t, 0.0}
}

// iteration returns three values: what the metamethods of pairs and ipairs give, and no more.
func iteration(results []Value) []Value {
	return append(slices.Clone(results), nil, nil, nil)[:3]
}

var ipairsNext = NewFunction("ipairs", func(m *Machine, args []Value) []Value {
	k := args[1].(float64) + 1
	if v := args[0].(*Table).Get(k); v != nil {
		return []Value{k, v}
	}
	return []Value{nil}
})

var pairsNext = NewFunction("next", next)

func pairs(m *Machine, args []Value) []Value {
	if h := m.metamethod(at(args, 0), "__pairs"); h != nil {
		return iteration(m.Call(h, args[0]))
	}
	t := Args{m, args}.Table(0)
	return []Value{pairsNext, t, nil}
}

func next(m *Machine, args []Value) []Value {
	a := Args{m, args}
	k, v, looked, ok := a.Table(0).next(a.Any(1))
	m.Step(looked / 8)
	if !ok {
		m.Throw("invalid key to 'next'")
	}
	if k == nil {
		return []Value{nil}
	}
	return []Value{k, v}
}

func pcall(m *Machine, args []Value) []Value { return m.protected(args, nil) }

func xpcall(m *Machine, args []Value) []Value {
	if len(args) < 2 {
		Args{m, args}.bad(1, "value")
	}
	return m.protected(args[:1], args[1])
}

// protected calls args[0] with the other arguments and returns true and its results, or
// false and what handler makes of the error.
func (m *Machine) protected(args []Value, handler Value) (results []Value) {
	if len(args) == 0 {
		Args{m, args}.bad(0, "value")
	}
	depth, top := m.depth, m.top
	defer func() {
		r := recover()
		e, ok := r.(*thrown)
		if r == nil {
			return
		}
		if !ok {
			panic(r)
		}
		m.unwind(depth, top)
		m.Step(100)
		results = []Value{false, e.value}
		if handler != nil {
			results = append(results[:1], m.Call(handler, e.value)...)
		}
	}()
	return append([]Value{true}, m.Call(args[0], args[1:]...)...)
}

func rawEqual(m *Machine, args []Value) []Value {
	return []Value{at(args, 0) == at(args, 1)}
}

func rawGet(m *Machine, args []Value) []Value {
	return []Value{Args{m, args}.Table(0).Get(at(args, 1))}
}

func rawSet(m *Machine, args []Value) []Value {
	t := Args{m, args}.Table(0)
	m.Put(t, at(args, 1), at(args, 2))
	return []Value{t}
}

func selectValues(m *Machine, args []Value) []Value {
	a := Args{m, args}
	if a.Any(0) == "#" {
		return []Value{float64(len(args) - 1)}
	}
	n := a.Int(0, 0)
	if n < 0 {
		n = len(args) + n
	}
	if n < 1 {
		m.Throw("bad argument #1 to 'select' (index out of range)")
	}
	m.Charge(16 * len(args))
	return slices.Clone(args[min(n, len(args)):])
}

func toNumber(m *Machine, args []Value) []Value {
	a := Args{m, args}
	base := a.Int(1, 10)
	if base == 10 {
		if n, ok := ToNumber(a.Any(0)); ok {
			return []Value{n}
		}
		return []Value{nil}
	}
	if base < 2 || base > 36 {
		m.Throw("bad argument #2 to 'tonumber' (base out of range)")
	}
	s := strings.ToLower(strings.TrimSpace(a.String(0)))
	if base == 16 {
		s = strings.TrimPrefix(s, "0x")
	}
	n, err := strconv.ParseInt(s, base, 64)
	if err != nil {
		return []Value{nil}
	}
	return []Value{float64(n)}
}

// ToString returns a value as text, with the metamethod __tostring.
func (m *Machine) ToString(v Value) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case bool:
		return strconv.FormatBool(v)
	case *Table:
		if h := m.metamethod(v, "__tostring"); h != nil {
			s, ok := ToText(first(m.Call(h, v)))
			if !ok {
				m.Throw("'tostring' must return a string to 'print'")
			}
			return s
		}
		return "table" // an address would differ from run to run
	case *Function:
		return "function"
	}
	s, _ := ToText(v)
	return s
}

func toString(m *Machine, args []Value) []Value {
	return []Value{m.String(m.ToString(at(args, 0)))}
}

func typeOf(m *Machine, args []Value) []Value {
	if len(args) == 0 {
		Args{m, args}.bad(0, "value")
	}
	return []Value{TypeOf(args[0])}
}

// maxUnpack is the maximum number of values that unpack returns. Lua 5.1 returns 7,990, and
// Scribunto refuses 8,000.
const maxUnpack = 7999

func unpack(m *Machine, args []Value) []Value {
	a := Args{m, args}
	t := a.Table(0)
	i, j := a.Int(1, 1), a.Int(2, t.Len())
	if j-i >= maxUnpack {
		m.Throw("too many results to unpack")
	}
	var out []Value
	m.Charge(16 * max(j-i+1, 0))
	for ; i <= j; i++ {
		out = append(out, t.Get(float64(i)))
	}
	m.Step(len(out) / 4)
	return out
}
