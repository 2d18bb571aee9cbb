package lua

import (
	"math"
	"strconv"
	"strings"
)

// A Value is a value of Lua: nil, a bool, float64, string, *[Table] or *[Function].
type Value any

// A Native is a function written in Go. It must not keep args after it returns.
type Native func(m *Machine, args []Value) []Value

// A Function is a function of Lua.
type Function struct {
	proto  *proto
	up     []*cell
	env    *Table
	native Native
	name   string
}

// NewFunction returns a function that is written in Go. The name is for error messages.
func NewFunction(name string, native Native) *Function {
	return &Function{native: native, name: name}
}

// A cell holds a local variable that a function inside refers to.
type cell struct{ v Value }

// A Table is a table of Lua. Its keys are traversed in the order 1, 2, 3 …, then in the
// order in which they were added.
type Table struct {
	array []Value // values of the keys 1, 2, 3 …; the last one is not nil
	index map[Value]int32
	list  []entry // all other keys; a value may be nil
	dead  int     // entries of list whose value is nil
	meta  *Table

	readOnly bool // see Freeze
}

type entry struct{ key, value Value }

// Sizes in bytes that a program is charged for.
const (
	tableBytes    = 96
	entryBytes    = 96
	elementBytes  = 32
	functionBytes = 96
)

// NewTable returns an empty table.
func NewTable() *Table { return &Table{} }

// integer returns the integer that v is equal to.
func integer(v Value) (k int, ok bool) {
	n, isNumber := v.(float64)
	if !isNumber || n < -1<<52 || n > 1<<52 {
		return 0, false
	}
	k = int(n)
	return k, float64(k) == n
}

// Get returns the value of a key, without metamethods.
func (t *Table) Get(key Value) Value {
	if n, ok := key.(float64); ok {
		if k := int(n); k >= 1 && k <= len(t.array) && float64(k) == n {
			return t.array[k-1]
		}
	}
	if k, ok := t.index[key]; ok {
		return t.list[k].value
	}
	return nil
}

// Text returns the value of a key if it is a string, or "".
func (t *Table) Text(key string) string {
	s, _ := t.Get(key).(string)
	return s
}

// Set sets the value of a key, without metamethods. It returns the number of bytes by
// which the table has grown. The key must not be nil or NaN.
func (t *Table) Set(key, value Value) (grown int) {
	if k, ok := integer(key); ok && k >= 1 {
		switch {
		case k <= len(t.array):
			t.array[k-1] = value
			t.trim()
			return 0
		case k == len(t.array)+1 && value != nil:
			if at, ok := t.index[key]; ok {
				t.drop(at)
			}
			t.array = append(t.array, value)
			t.migrate()
			return elementBytes
		}
	}
	if at, ok := t.index[key]; ok {
		if (t.list[at].value == nil) != (value == nil) {
			if value == nil {
				t.dead++
			} else {
				t.dead--
			}
		}
		t.list[at].value = value
		return 0
	}
	if value == nil {
		return 0
	}
	if t.index == nil {
		t.index = map[Value]int32{}
	}
	if len(t.list) == cap(t.list) && t.dead > len(t.list)/2 {
		t.compact()
	}
	t.index[key] = int32(len(t.list))
	t.list = append(t.list, entry{key, value})
	return entryBytes
}

// reserve makes room for n keys in a table without any.
func (t *Table) reserve(n int) {
	if t.index == nil {
		t.index, t.list = make(map[Value]int32, n), make([]entry, 0, n)
	}
}

// trim removes the end of the array that has no values.
func (t *Table) trim() {
	n := len(t.array)
	for n > 0 && t.array[n-1] == nil {
		n--
	}
	t.array = t.array[:n]
}

// fill sets the values of the keys 1, 2, 3 … of a new table. Values may be nil.
func (t *Table) fill(array []Value) {
	if len(t.array) == 0 && len(t.index) == 0 {
		t.array = array
		t.trim()
		return
	}
	for k, v := range array {
		t.Set(float64(k+1), v)
	}
}

// drop removes the value of an entry of the list.
func (t *Table) drop(at int32) {
	if t.list[at].value != nil {
		t.list[at].value = nil
		t.dead++
	}
}

// migrate moves the values that follow the array from the list to the array.
func (t *Table) migrate() {
	for len(t.index) > t.dead {
		at, ok := t.index[float64(len(t.array)+1)]
		if !ok || t.list[at].value == nil {
			return
		}
		t.array = append(t.array, t.list[at].value)
		t.drop(at)
	}
}

// compact removes entries without a value.
func (t *Table) compact() {
	list := t.list
	t.list, t.dead = make([]entry, 0, len(list)), 0
	clear(t.index)
	for _, e := range list {
		if e.value != nil {
			t.index[e.key] = int32(len(t.list))
			t.list = append(t.list, e)
		}
	}
}

// Append appends a value to the array.
func (t *Table) Append(v Value) { t.Set(float64(len(t.array)+1), v) }

// Len returns the length of the array.
func (t *Table) Len() int { return len(t.array) }

// Freeze makes the table one that programs cannot change.
func (t *Table) Freeze() { t.readOnly = true }

// SetMeta sets the metatable.
func (t *Table) SetMeta(meta *Table) { t.meta = meta }

// next returns the key after the given one and its value, and the number of entries that
// it looked at. key is nil for the first. ok is false if there is no such key in the table.
func (t *Table) next(key Value) (next, value Value, looked int, ok bool) {
	at := 0
	if key != nil {
		k, isInteger := integer(key)
		if e, found := t.index[key]; found {
			at = len(t.array) + int(e) + 1
		} else if isInteger && k >= 1 {
			at = min(k, len(t.array)) // the array may have shrunk
		} else {
			return nil, nil, 0, false
		}
	}
	for start := at; ; at++ {
		switch {
		case at < len(t.array):
			if v := t.array[at]; v != nil {
				return float64(at + 1), v, at - start, true
			}
		case at-len(t.array) < len(t.list):
			if e := t.list[at-len(t.array)]; e.value != nil {
				return e.key, e.value, at - start, true
			}
		default:
			return nil, nil, at - start, true
		}
	}
}

// All yields the keys and values in their order, without metamethods.
func (t *Table) All() func(func(Value, Value) bool) {
	return func(yield func(Value, Value) bool) {
		for k, v, _, _ := t.next(nil); k != nil; k, v, _, _ = t.next(k) {
			if !yield(k, v) {
				return
			}
		}
	}
}

// truth reports whether a value counts as true.
func truth(v Value) bool {
	b, isBool := v.(bool)
	return v != nil && (!isBool || b)
}

// TypeOf returns the name of a value's type.
func TypeOf(v Value) string {
	switch v.(type) {
	case nil:
		return "nil"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case *Table:
		return "table"
	}
	return "function"
}

// formatNumber returns a number as Lua prints it: with up to 14 digits.
func formatNumber(n float64) string {
	switch {
	case n == math.Trunc(n) && math.Abs(n) < 1e14 && (n != 0 || !math.Signbit(n)):
		return strconv.FormatInt(int64(n), 10)
	case math.IsNaN(n):
		return "nan"
	case math.IsInf(n, 1):
		return "inf"
	case math.IsInf(n, -1):
		return "-inf"
	}
	return strconv.FormatFloat(n, 'g', 14, 64)
}

// parseNumber returns the number that a text denotes, as tonumber does.
func parseNumber(s string) (n float64, ok bool) {
	s = strings.Trim(s, " \t\n\v\f\r")
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 || digits == "" {
		return 0, false
	}
	hex := len(digits) > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')
	switch {
	case hex && !strings.ContainsAny(digits, ".pP"):
		if digits[2] == '+' {
			return 0, false
		}
		u, err := strconv.ParseUint(digits[2:], 16, 64)
		if n = float64(u); s[0] == '-' {
			n = -n
		}
		return n, err == nil
	case hex && !strings.ContainsAny(digits, "pP"):
		s += "p0"
	case strings.ContainsAny(digits, "xXpP"):
		if !hex {
			return 0, false
		}
	}
	if strings.Contains(digits, "_") {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64) // reads "inf" and "nan" too, as the C library does
	return n, err == nil || math.IsInf(n, 0)
}

// ToText returns a string or number as a string.
func ToText(v Value) (s string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case float64:
		return formatNumber(v), true
	}
	return "", false
}

// ToNumber returns a number, or a string that denotes one, as a number.
func ToNumber(v Value) (n float64, ok bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		return parseNumber(v)
	}
	return 0, false
}

// Meta returns the metatable, or nil.
func (t *Table) Meta() *Table { return t.meta }
