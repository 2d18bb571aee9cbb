package lua

import (
	"math"
	"strings"

	"pretext/internal/portable"
)

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
