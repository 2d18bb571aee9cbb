package lua

import (
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"pretext/internal/portable"
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
	m.strings.Set("__index", lib)
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
		return m.Call(h, args[0])
	}
	t := Args{m, args}.Table(0)
	return []Value{ipairsNext, t, 0.0}
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
		return m.Call(h, args[0])
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

// maxUnpack is the maximum number of values of unpack; that of Lua is similar.
const maxUnpack = 8000

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
	})
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
	s := &sorter{m, slices.Clone(t.array), at(args, 1)}
	m.Charge(16 * len(t.array))
	sort.Stable(s) // equal elements stay in order, whatever Go's algorithm does
	for k, v := range s.list {
		t.Set(float64(k+1), v)
	}
	return nil
}

func mathLibrary() *Table {
	functions := map[string]Native{}
	for name, f := range map[string]func(float64) float64{"abs": math.Abs, "acos": portable.Acos, "asin": portable.Asin, "atan": portable.Atan,
		"ceil": math.Ceil, "cos": portable.Cos, "cosh": portable.Cosh, "exp": portable.Exp, "floor": math.Floor, "log": portable.Log, "log10": portable.Log10,
		"sin": portable.Sin, "sinh": portable.Sinh, "sqrt": math.Sqrt, "tan": portable.Tan, "tanh": portable.Tanh,
		"deg": func(x float64) float64 { return x / (math.Pi / 180) }, "rad": func(x float64) float64 { return x * (math.Pi / 180) }} {
		functions[name] = func(m *Machine, args []Value) []Value { return []Value{f(Args{m, args}.Number(0))} }
	}
	for name, f := range map[string]func(a, b float64) float64{"atan2": portable.Atan2, "fmod": math.Mod, "pow": power,
		"ldexp": func(a, b float64) float64 { return math.Ldexp(a, int(b)) }} {
		functions[name] = func(m *Machine, args []Value) []Value {
			return []Value{f(Args{m, args}.Number(0), Args{m, args}.Number(1))}
		}
	}
	for name, better := range map[string]func(a, b float64) bool{"max": func(a, b float64) bool { return a > b }, "min": func(a, b float64) bool { return a < b }} {
		functions[name] = func(m *Machine, args []Value) []Value {
			best := Args{m, args}.Number(0)
			for k := range args {
				if n := (Args{m, args}).Number(k); better(n, best) {
					best = n
				}
			}
			return []Value{best}
		}
	}
	functions["modf"] = func(m *Machine, args []Value) []Value {
		whole, rest := math.Modf(Args{m, args}.Number(0))
		return []Value{whole, rest}
	}
	functions["frexp"] = func(m *Machine, args []Value) []Value {
		f, e := math.Frexp(Args{m, args}.Number(0))
		return []Value{f, float64(e)}
	}
	functions["random"] = random
	functions["randomseed"] = func(m *Machine, args []Value) []Value {
		m.random = uint64(int64(Args{m, args}.Number(0)))
		return nil
	}
	t := library(functions)
	t.Set("pi", math.Pi)
	t.Set("huge", math.Inf(1))
	return t
}

// random is math.random, with the generator SplitMix64 (Steele, Lea, Flood 2014).
func random(m *Machine, args []Value) []Value {
	a := Args{m, args}
	m.random += 0x9e3779b97f4a7c15
	z := m.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	x := float64(z>>11) / (1 << 53)
	if len(args) == 0 {
		return []Value{x}
	}
	low, high := 1, a.Int(0, 1)
	if len(args) > 1 {
		low, high = high, a.Int(1, 1)
	}
	if low > high {
		m.Throw("bad argument #%d to 'random' (interval is empty)", len(args))
	}
	return []Value{float64(low) + math.Floor(x*float64(high-low+1))}
}
