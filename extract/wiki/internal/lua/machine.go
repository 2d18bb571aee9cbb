package lua

import (
	"fmt"
)

// Limits of a program.
type Limits struct {
	Steps int64 // about one for each node of the syntax tree that is evaluated
	Bytes int64 // of all strings, tables and functions that are made
}

// maxDepth is the maximum nesting of calls.
const maxDepth = 1000

// A Failure ends a program. The program cannot catch it.
type Failure struct {
	Reason string // what [Machine.Fail] was called with, or one of the constants below
	Detail string
}

// Reasons of failures.
const (
	failSteps  = "steps"
	failMemory = "memory"
	FailDepth  = "depth"
	failSyntax = "syntax"
	FailError  = "error" // an error of the program that it did not catch
)

func (f *Failure) Error() string { return "lua: " + f.Reason + ": " + f.Detail }

// A thrown is an error of a program, which it can catch.
type thrown struct{ value Value }

// A Machine runs programs. It must not be used by several goroutines at once.
type Machine struct {
	steps, bytes int64 // left
	depth        int
	frames       []*frame
	stack        []Value // registers and arguments of the running calls
	top          int
	strings      *Table // metatable of strings
	random       uint64
}

// A frame is a running call of a function.
type frame struct {
	m       *Machine
	fn      *Function
	line    int32
	regs    []Value
	varargs []Value
	results []Value
}

// NewMachine returns a machine with limits for all that it will run.
func NewMachine(l Limits) *Machine {
	return &Machine{steps: l.Steps, bytes: l.Bytes, stack: make([]Value, 1<<10)}
}

// Left returns the rest of the limits.
func (m *Machine) Left() Limits { return Limits{max(m.steps, 0), max(m.bytes, 0)} }

// Step counts n steps.
func (m *Machine) Step(n int) {
	if m.steps -= int64(n); m.steps < 0 {
		panic(&Failure{failSteps, "too many steps"})
	}
}

// Charge counts n bytes.
func (m *Machine) Charge(n int) {
	if m.bytes -= int64(n); m.bytes < 0 {
		panic(&Failure{failMemory, "too many bytes"})
	}
}

// Fail ends the program.
func (m *Machine) Fail(reason, detail string) { panic(&Failure{reason, detail}) }

// Throw raises an error in the program. The message begins with the place of the call.
func (m *Machine) Throw(format string, args ...any) {
	text := m.where(1) + fmt.Sprintf(format, args...)
	m.Charge(len(text))
	panic(&thrown{text})
}

// where returns the place of the running function of Lua, or of the level-th caller, as
// the beginning of a message.
func (m *Machine) where(level int) string {
	for d := m.depth - 1; d >= 0; d-- {
		if f := m.frames[d]; f.fn.proto != nil {
			if level--; level == 0 {
				return fmt.Sprintf("%s:%d: ", f.fn.proto.chunk, f.line)
			}
		}
	}
	return ""
}

// String returns s as a value, and counts its bytes.
func (m *Machine) String(s string) Value {
	m.Charge(len(s))
	return s
}

// NewTable returns an empty table, and counts its bytes.
func (m *Machine) NewTable() *Table {
	m.Charge(tableBytes)
	return &Table{}
}

// Put sets the value of a key, without metamethods, and counts the bytes.
func (m *Machine) Put(t *Table, key, value Value) {
	m.writable(t)
	switch k := key.(type) {
	case nil:
		m.Throw("table index is nil")
	case float64:
		if k != k {
			m.Throw("table index is NaN")
		}
	case string:
		if len(k) > 64 {
			m.Step(len(k) / 64)
		}
	}
	if grown := t.Set(key, value); grown != 0 {
		m.Charge(grown)
	}
}

// writable raises an error if a table must not be changed.
func (m *Machine) writable(t *Table) {
	if t.readOnly {
		m.Throw("table from mw.loadData is read-only")
	}
}

// Run runs a chunk in an environment.
func (m *Machine) Run(c *Chunk, env *Table, args ...Value) (results []Value, err error) {
	defer m.caught(&err, m.depth, m.top)
	return m.Call(m.Load(c, env), args...), nil
}

// Try calls a function and returns the failure or error that ends it, as a [*Failure].
func (m *Machine) Try(fn Value, args ...Value) (results []Value, err error) {
	defer m.caught(&err, m.depth, m.top)
	return m.Call(fn, args...), nil
}

// Guard calls f and returns the failure or error that ends it, as a [*Failure].
func (m *Machine) Guard(f func()) (err error) {
	defer m.caught(&err, m.depth, m.top)
	f()
	return nil
}

// caught turns a panic of a program into an error.
func (m *Machine) caught(err *error, depth, top int) {
	switch r := recover().(type) {
	case nil:
	case *Failure:
		m.unwind(depth, top)
		*err = r
	case *thrown:
		m.unwind(depth, top)
		text, ok := ToText(r.value)
		if !ok {
			text = "an error that is a " + TypeOf(r.value)
		}
		*err = &Failure{FailError, text}
	default:
		panic(r)
	}
}

// unwind ends the calls above a depth.
func (m *Machine) unwind(depth, top int) {
	m.depth = depth
	clear(m.stack[top:])
	m.top = top
}

// Load returns a chunk as a function.
func (m *Machine) Load(c *Chunk, env *Table) *Function {
	m.Step(len(c.source)/16 + 1) // as if it were compiled each time
	m.Charge(functionBytes)
	return &Function{proto: c.main, env: env, name: c.name}
}

// reserve returns n values at the top of the stack. release returns them.
func (m *Machine) reserve(n int) []Value {
	if m.top+n > len(m.stack) {
		return make([]Value, n)
	}
	r := m.stack[m.top : m.top+n : m.top+n]
	m.top += n
	return r
}

func (m *Machine) release(r []Value, top int) {
	clear(r)
	m.top = top
}

// Call calls a function, or a value with the metamethod __call.
func (m *Machine) Call(fn Value, args ...Value) []Value { return m.call(fn, args, nil) }

// call calls a value. what describes it in an error message; it may be nil.
func (m *Machine) call(fv Value, args []Value, what *string) []Value {
	fn, ok := fv.(*Function)
	if !ok {
		h, isFunction := m.metamethod(fv, "__call").(*Function)
		if !isFunction {
			m.Throw("attempt to call %s", described(fv, what))
		}
		args, fn = append([]Value{fv}, args...), h
	}
	if m.depth >= maxDepth {
		panic(&Failure{FailDepth, "stack overflow"})
	}
	if m.depth == len(m.frames) {
		m.frames = append(m.frames, &frame{m: m})
	}
	f := m.frames[m.depth]
	m.depth++
	f.fn, f.results, f.varargs = fn, nil, nil
	if fn.native != nil {
		m.Step(8 + weight(args))
		results := fn.native(m, args)
		m.depth--
		return results
	}
	p := fn.proto
	m.Step(4 + len(args))
	top := m.top
	f.regs = m.reserve(p.slots)
	regs := f.regs
	for k := range p.params {
		if k < len(args) {
			f.declare(p.params[k], args[k])
		} else {
			f.declare(p.params[k], nil)
		}
	}
	if p.variadic && len(args) > len(p.params) {
		f.varargs = args[len(p.params):]
	}
	run(f, p.body)
	results := f.results
	f.results, f.varargs, f.fn = nil, nil, fn
	m.release(regs, top)
	m.depth--
	return results
}

// weight returns the steps for the bytes of arguments that a native function may read.
func weight(args []Value) int {
	n := 0
	for _, a := range args {
		if s, ok := a.(string); ok {
			n += len(s) / 64
		}
	}
	return n
}

// described returns the type of a value, and its name in the program if there is one.
func described(v Value, what *string) string {
	if what == nil || *what == "" {
		return "a " + TypeOf(v) + " value"
	}
	return *what + " (a " + TypeOf(v) + " value)"
}

// metamethod returns a metamethod of a value, or nil.
func (m *Machine) metamethod(v Value, name string) Value {
	switch v := v.(type) {
	case *Table:
		if v.meta != nil {
			return v.meta.Get(name)
		}
	case string:
		if m.strings != nil {
			return m.strings.Get(name)
		}
	}
	return nil
}

// maxChain is the maximum number of tables that __index and __newindex lead through.
const maxChain = 100

// Index returns the value of a key, with metamethods.
func (m *Machine) Index(o, key Value) Value { return m.indexed(o, key, nil) }

func (m *Machine) indexed(o, key Value, what *string) Value {
	if s, ok := key.(string); ok && len(s) > 64 {
		m.Step(len(s) / 64)
	}
	for range maxChain {
		t, isTable := o.(*Table)
		if isTable {
			v := t.Get(key)
			if v != nil || t.meta == nil {
				return v
			}
		}
		h := m.metamethod(o, "__index")
		if h == nil {
			if isTable {
				return nil
			}
			if s, ok := key.(string); ok && what != nil && *what == "" {
				m.Throw("attempt to index %s, field '%s'", described(o, what), s[:min(len(s), 40)])
			}
			m.Throw("attempt to index %s", described(o, what))
		}
		m.Step(2)
		if fn, ok := h.(*Function); ok {
			return first(m.Call(fn, o, key))
		}
		o, what = h, nil
	}
	m.Throw("loop in gettable")
	return nil
}

// setIndex sets the value of a key, with metamethods.
func (m *Machine) setIndex(o, key, value Value, what *string) {
	for range maxChain {
		var h Value
		if t, ok := o.(*Table); ok {
			if t.meta == nil || t.Get(key) != nil {
				m.Put(t, key, value)
				return
			}
			if h = t.meta.Get("__newindex"); h == nil {
				m.Put(t, key, value)
				return
			}
		} else if h = m.metamethod(o, "__newindex"); h == nil {
			m.Throw("attempt to index %s", described(o, what))
		}
		m.Step(2)
		if fn, ok := h.(*Function); ok {
			m.Call(fn, o, key, value)
			return
		}
		o = h
	}
	m.Throw("loop in settable")
}

func first(v []Value) Value {
	if len(v) == 0 {
		return nil
	}
	return v[0]
}
