package lua

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
