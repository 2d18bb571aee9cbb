package lua

import (
	"math"
	"strings"

	"pretext/internal/portable"
)

// A node is a compiled expression.
type node struct {
	eval  func(f *frame) Value
	all   func(f *frame) []Value // of a call or "...", which have several values; or nil
	call  func(f *frame) []Value // of a call; or nil
	depth int                    // operators and accesses in a row
	name  string                 // what it is called in the program, for messages

	// What an assignment to it changes: a local variable, an upvalue, or a field.
	local       *local
	up          int
	object, key func(f *frame) Value
	objectName  *string

	joined []node // operands of ".."
}

// declare begins a local variable.
func (f *frame) declare(v *local, value Value) {
	if v.captured {
		f.regs[v.slot] = &cell{value}
		return
	}
	f.regs[v.slot] = value
}

// assign changes a local variable.
func (f *frame) assign(v *local, value Value) {
	if v.captured {
		f.regs[v.slot].(*cell).v = value
		return
	}
	f.regs[v.slot] = value
}

// free returns values that reserve returned, unless they were not from the stack.
func (m *Machine) free(r []Value, top int) {
	if m.top == top+len(r) {
		m.release(r, top)
	}
}

// chained returns the depth of an expression with the given parts.
func (p *parser) chained(parts ...node) int {
	p.nodes++
	depth := 0
	for _, n := range parts {
		depth = max(depth, n.depth)
	}
	if depth++; depth > maxChained {
		p.fail("too many operators in an expression")
	}
	return depth
}

func (p *parser) constant(v Value) node {
	p.nodes++
	return node{eval: func(*frame) Value { return v }, up: -1}
}

// variable compiles the use of a name.
func (p *parser) variable(name string) node {
	p.nodes++
	v, up := p.scope.find(name)
	switch {
	case v != nil:
		return node{local: v, up: -1, name: "local '" + name + "'", eval: func(f *frame) Value {
			value := f.regs[v.slot]
			if v.captured {
				return value.(*cell).v
			}
			return value
		}}
	case up >= 0:
		return node{up: up, name: "upvalue '" + name + "'", eval: func(f *frame) Value { return f.fn.up[up].v }}
	}
	var key Value = name
	return node{up: -1, name: "global '" + name + "'",
		object: func(f *frame) Value { return f.fn.env },
		key:    func(*frame) Value { return key },
		eval: func(f *frame) Value {
			if v := f.fn.env.Get(key); v != nil {
				return v
			}
			return f.m.Index(f.fn.env, key)
		}}
}

// field compiles object[key].
func (p *parser) field(object, key node) node {
	o, k, what := object.eval, key.eval, object.name
	return node{depth: p.chained(object, key), up: -1, object: o, key: k, objectName: &what, name: "field",
		eval: func(f *frame) Value {
			container, key := o(f), k(f)
			if t, ok := container.(*Table); ok {
				if v := t.Get(key); v != nil {
					if s, isText := key.(string); isText && len(s) > 64 {
						f.m.Step(len(s) / 64)
					}
					return v
				}
			}
			return f.m.indexed(container, key, &what)
		}}
}

// expressions compiles a list of expressions.
func (p *parser) expressions() []node {
	list := []node{p.expression()}
	for p.take(",") {
		list = append(list, p.expression())
	}
	return list
}

// several returns a function that evaluates a list. All values of the last count.
func (p *parser) several(list []node) func(f *frame) []Value {
	if len(list) == 0 {
		return func(*frame) []Value { return nil }
	}
	last := list[len(list)-1]
	if len(list) == 1 && last.all != nil {
		return last.all
	}
	return func(f *frame) []Value {
		out := make([]Value, 0, len(list))
		for k := range list[:len(list)-1] {
			out = append(out, list[k].eval(f))
		}
		if last.all == nil {
			return append(out, last.eval(f))
		}
		rest := last.all(f)
		f.m.Charge(16 * len(rest))
		return append(out, rest...)
	}
}

// primary compiles a name or an expression in parentheses.
func (p *parser) primary() node {
	if p.now.kind == tokenName {
		return p.variable(p.name())
	}
	if !p.take("(") {
		p.fail("unexpected symbol near '%s'", p.now.kind)
	}
	n := p.expression()
	p.expect(")")
	return node{eval: n.eval, depth: n.depth, up: -1} // one value, not assignable
}

// suffixed compiles a primary expression and the accesses and calls that follow it.
func (p *parser) suffixed() node {
	n := p.primary()
	for {
		switch p.now.kind {
		case ".":
			p.advance()
			key := p.name()
			n = p.field(n, p.constant(key))
			n.name = "field '" + key + "'"
		case "[":
			p.advance()
			key := p.expression()
			p.expect("]")
			n = p.field(n, key)
		case ":":
			p.advance()
			name := p.name()
			n = p.callOf(n, name, p.arguments())
		case "(", tokenString, "{":
			n = p.callOf(n, "", p.arguments())
		default:
			return n
		}
	}
}

// arguments compiles the arguments of a call.
func (p *parser) arguments() []node {
	switch p.now.kind {
	case tokenString:
		text := p.now.text
		p.advance()
		return []node{p.constant(text)}
	case "{":
		return []node{p.table()}
	}
	p.expect("(")
	if p.take(")") {
		return nil
	}
	list := p.expressions()
	p.expect(")")
	return list
}

// callOf compiles a call of a value, or of its method.
func (p *parser) callOf(fn node, method string, list []node) node {
	depth := p.chained(fn)
	p.nodes += 2
	callee, what := fn.eval, fn.name
	n := len(list)
	offset := 0
	var key Value = method
	methodName := "method '" + method + "'"
	if method != "" {
		offset = 1
	}
	var rest func(f *frame) []Value
	if n > 0 && list[n-1].all != nil {
		n--
		rest = list[n].all
	}
	call := func(f *frame) []Value {
		m := f.m
		fv := callee(f)
		line, top := f.line, m.top
		args := m.reserve(n + offset)
		name := &what
		if offset == 1 {
			args[0] = fv
			fv, name = m.indexed(fv, key, &what), &methodName
		}
		for k := range n {
			args[offset+k] = list[k].eval(f)
		}
		all := args
		if rest != nil {
			more := rest(f)
			m.Step(len(more) / 4)
			all = append(args[:len(args):len(args)], more...)
		}
		f.line = line
		results := m.call(fv, all, name)
		m.free(args, top)
		return results
	}
	return node{depth: depth, up: -1, call: call, all: call, eval: func(f *frame) Value { return first(call(f)) }}
}

// A field of a table constructor.
type item struct{ key, value func(f *frame) Value }

// table compiles a table constructor.
func (p *parser) table() node {
	p.enter()
	defer p.leave()
	depth := p.chained()
	p.expect("{")
	var items []item
	var rest func(f *frame) []Value
	for p.now.kind != "}" {
		rest = nil
		switch {
		case p.take("["):
			key := p.expression().eval
			p.expect("]")
			p.expect("=")
			items = append(items, item{key, p.expression().eval})
		case p.now.kind == tokenName && p.ahead.kind == "=":
			key := p.constant(p.name()).eval
			p.advance()
			items = append(items, item{key, p.expression().eval})
		default:
			n := p.expression()
			items = append(items, item{nil, n.eval})
			rest = n.all
		}
		if !p.take(",") && !p.take(";") {
			break
		}
	}
	p.expect("}")
	if rest != nil {
		items = items[:len(items)-1]
	}
	return node{depth: depth, up: -1, eval: func(f *frame) Value {
		t := f.m.NewTable()
		var array []Value
		for k := range items {
			if items[k].key != nil {
				key := items[k].key(f)
				f.m.Put(t, key, items[k].value(f))
				continue
			}
			f.m.Charge(elementBytes)
			array = append(array, items[k].value(f))
		}
		if rest != nil {
			more := rest(f)
			f.m.Step(len(more))
			f.m.Charge(elementBytes * len(more))
			array = append(array, more...)
		}
		t.fill(array)
		return t
	}}
}

// simple compiles a constant, a constructor, a function or a suffixed expression.
func (p *parser) simple() node {
	t := p.now
	switch t.kind {
	case tokenNumber:
		p.advance()
		return p.constant(t.num)
	case tokenString:
		p.advance()
		return p.constant(t.text)
	case "nil":
		p.advance()
		return p.constant(nil)
	case "true", "false":
		p.advance()
		return p.constant(t.kind == "true")
	case "...":
		p.advance()
		if !p.scope.proto.variadic {
			p.fail("cannot use '...' outside a vararg function")
		}
		p.nodes++
		all := func(f *frame) []Value { return append([]Value(nil), f.varargs...) }
		return node{up: -1, all: all, eval: func(f *frame) Value { return first(f.varargs) }}
	case "{":
		return p.table()
	case "function":
		p.advance()
		return node{up: -1, eval: p.functionBody("", false)}
	}
	return p.suffixed()
}

// priority returns the priorities of a binary operator, left and right of it; ok is false
// for other tokens.
func priority(kind string) (left, right int, ok bool) {
	switch kind {
	case "or":
		return 1, 1, true
	case "and":
		return 2, 2, true
	case "<", ">", "<=", ">=", "~=", "==":
		return 3, 3, true
	case "..":
		return 5, 4, true
	case "+", "-":
		return 6, 6, true
	case "*", "/", "%":
		return 7, 7, true
	case "^":
		return 10, 9, true
	}
	return 0, 0, false
}

const unaryPriority = 8

func (p *parser) expression() node { return p.operators(0) }

// operators compiles an expression of operators with a priority above limit.
func (p *parser) operators(limit int) node {
	p.enter()
	defer p.leave()
	var left node
	switch p.now.kind {
	case "not", "-", "#":
		kind := p.now.kind
		p.advance()
		left = p.unary(kind, p.operators(unaryPriority))
	default:
		left = p.simple()
	}
	for {
		kind := p.now.kind
		before, after, ok := priority(kind)
		if !ok || before <= limit {
			return left
		}
		p.advance()
		right := p.operators(after)
		left = p.binary(kind, left, right)
	}
}

func (p *parser) unary(kind string, operand node) node {
	n := node{depth: p.chained(operand), up: -1}
	value, what := operand.eval, operand.name
	switch kind {
	case "not":
		n.eval = func(f *frame) Value { return !truth(value(f)) }
	case "-":
		n.eval = func(f *frame) Value {
			v := value(f)
			if x, ok := ToNumber(v); ok {
				return -x
			}
			return f.m.arithmeticMeta("__unm", v, v, &what, &what)
		}
	default:
		n.eval = func(f *frame) Value { return f.m.length(value(f), &what) }
	}
	return n
}

// length returns the length of a string or table.
func (m *Machine) length(v Value, what *string) Value {
	switch v := v.(type) {
	case string:
		return float64(len(v))
	case *Table:
		return float64(len(v.array))
	}
	m.Throw("attempt to get length of %s", described(v, what))
	return nil
}

func (p *parser) binary(kind string, left, right node) node {
	n := node{depth: p.chained(left, right), up: -1}
	a, b := left.eval, right.eval
	switch kind {
	case "and":
		n.eval = func(f *frame) Value {
			if v := a(f); !truth(v) {
				return v
			}
			return b(f)
		}
	case "or":
		n.eval = func(f *frame) Value {
			if v := a(f); truth(v) {
				return v
			}
			return b(f)
		}
	case "==":
		n.eval = func(f *frame) Value { return f.m.equal(a(f), b(f)) }
	case "~=":
		n.eval = func(f *frame) Value { return !f.m.equal(a(f), b(f)) }
	case "<":
		n.eval = func(f *frame) Value { return f.m.less(a(f), b(f)) }
	case ">":
		n.eval = func(f *frame) Value { x := a(f); return f.m.less(b(f), x) }
	case "<=":
		n.eval = func(f *frame) Value { return f.m.lessEqual(a(f), b(f)) }
	case ">=":
		n.eval = func(f *frame) Value { x := a(f); return f.m.lessEqual(b(f), x) }
	case "..":
		return p.concatenation(left, right, n)
	default:
		n.eval = arithmetic(kind, left, right)
	}
	return n
}

// arithmetic compiles an arithmetic operator.
func arithmetic(kind string, left, right node) func(f *frame) Value {
	a, b, what, other := left.eval, right.eval, left.name, right.name
	compute, event := operation(kind)
	return func(f *frame) Value {
		x, y := a(f), b(f)
		if n, ok := x.(float64); ok {
			if k, ok := y.(float64); ok {
				return compute(n, k)
			}
		}
		n, ok1 := ToNumber(x)
		k, ok2 := ToNumber(y)
		if ok1 && ok2 {
			return compute(n, k)
		}
		return f.m.arithmeticMeta(event, x, y, &what, &other)
	}
}

// operation returns what an arithmetic operator computes, and its metamethod.
func operation(kind string) (compute func(a, b float64) float64, event string) {
	switch kind {
	case "+":
		return func(a, b float64) float64 { return a + b }, "__add"
	case "-":
		return func(a, b float64) float64 { return a - b }, "__sub"
	case "*":
		return func(a, b float64) float64 { return a * b }, "__mul"
	case "/":
		return func(a, b float64) float64 { return a / b }, "__div"
	case "%":
		// The conversion prevents a fused operation, which some processors have.
		return func(a, b float64) float64 { return a - float64(math.Floor(a/b)*b) }, "__mod"
	}
	return power, "__pow"
}

// power returns a to the power of b, with the same bits on every processor. Powers with an
// integer or 1/2 are as exact as multiplications and roots are.
func power(a, b float64) float64 {
	n := math.Abs(b)
	switch {
	case b == 0.5:
		return math.Sqrt(a)
	case n > 1024 || n != math.Trunc(n):
		return portable.Pow(a, b)
	}
	result := 1.0
	for k := int(n); k > 0; k >>= 1 {
		if k&1 == 1 {
			result *= a
		}
		a *= a
	}
	if b < 0 {
		return 1 / result
	}
	return result
}

// arithmeticMeta computes with metamethods.
func (m *Machine) arithmeticMeta(event string, a, b Value, what, other *string) Value {
	h := m.metamethod(a, event)
	if h == nil {
		h = m.metamethod(b, event)
	}
	if h == nil {
		if _, ok := ToNumber(a); ok {
			a, what = b, other
		}
		m.Throw("attempt to perform arithmetic on %s", described(a, what))
	}
	return first(m.Call(h, a, b))
}

// concatenation compiles "..". A chain of them is one node, so that it copies each
// operand once.
func (p *parser) concatenation(left, right, n node) node {
	n.joined = []node{left}
	if right.joined != nil {
		n.joined = append(n.joined, right.joined...)
	} else {
		n.joined = append(n.joined, right)
	}
	joined := n.joined
	n.eval = func(f *frame) Value {
		var buf [8]Value
		values := buf[:0]
		for k := range joined {
			values = append(values, joined[k].eval(f))
		}
		return f.m.concatenate(values, joined)
	}
	return n
}

// concatenate joins values from the right.
func (m *Machine) concatenate(values []Value, names []node) Value {
	for len(values) > 1 {
		size, k := 0, len(values)
		for k > 0 {
			s, ok := values[k-1].(string)
			if !ok {
				if s, ok = ToText(values[k-1]); !ok {
					break
				}
				values[k-1] = s
			}
			size += len(s)
			k--
		}
		if n := len(values) - k; n >= 2 {
			m.Charge(size)
			m.Step(size / 64)
			var b strings.Builder
			b.Grow(size)
			for _, v := range values[k:] {
				b.WriteString(v.(string))
			}
			values = append(values[:k], b.String())
			continue
		}
		a, b := values[len(values)-2], values[len(values)-1]
		h := m.metamethod(a, "__concat")
		if h == nil {
			h = m.metamethod(b, "__concat")
		}
		if h == nil {
			at := len(values) - 2
			if _, ok := ToText(a); ok {
				a, at = b, len(values)-1
			}
			var name string
			if at < len(names) {
				name = names[at].name
			}
			m.Throw("attempt to concatenate %s", described(a, &name))
		}
		values = append(values[:len(values)-2], first(m.Call(h, a, b)))
	}
	return values[0]
}

// equal compares two values, with the metamethod __eq.
func (m *Machine) equal(a, b Value) bool {
	if s, ok := a.(string); ok {
		t, ok := b.(string)
		if len(s) > 64 && len(s) == len(t) {
			m.Step(len(s) / 64)
		}
		return ok && s == t
	}
	x, ok1 := a.(*Table)
	y, ok2 := b.(*Table)
	if !ok1 || !ok2 {
		return a == b
	}
	if x == y {
		return true
	}
	h := m.metamethod(x, "__eq")
	return h != nil && h == m.metamethod(y, "__eq") && truth(first(m.Call(h, a, b)))
}

// less compares two values by "<", with the metamethod __lt.
func (m *Machine) less(a, b Value) bool { return m.order("__lt", a, b) }

// lessEqual compares two values by "<=", with the metamethods __le and __lt.
func (m *Machine) lessEqual(a, b Value) bool { return m.order("__le", a, b) }

func (m *Machine) order(event string, a, b Value) bool {
	switch x := a.(type) {
	case float64:
		if y, ok := b.(float64); ok {
			return x < y || event == "__le" && x == y
		}
	case string:
		if y, ok := b.(string); ok {
			m.Step(min(len(x), len(y)) / 64)
			return x < y || event == "__le" && x == y
		}
	}
	if TypeOf(a) == TypeOf(b) {
		h := m.metamethod(a, event)
		if h != nil && h == m.metamethod(b, event) {
			return truth(first(m.Call(h, a, b)))
		}
		if event == "__le" {
			if h := m.metamethod(a, "__lt"); h != nil && h == m.metamethod(b, "__lt") {
				return !truth(first(m.Call(h, b, a)))
			}
		}
	}
	if TypeOf(a) == TypeOf(b) {
		m.Throw("attempt to compare two %s values", TypeOf(a))
	}
	m.Throw("attempt to compare %s with %s", TypeOf(a), TypeOf(b))
	return false
}
