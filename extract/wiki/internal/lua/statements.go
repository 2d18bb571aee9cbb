package lua

func (p *parser) statements() (body []op) {
	for !p.ended() {
		line, nodes := p.now.line, p.nodes
		p.nodes = 0
		last := p.now.kind == "return" || p.now.kind == "break"
		run := p.statement()
		body = append(body, op{run, 1 + p.nodes, line})
		p.nodes = nodes
		p.take(";")
		if last {
			break
		}
	}
	return body
}

func (p *parser) statement() func(f *frame) signal {
	switch p.now.kind {
	case "if":
		return p.ifStatement()
	case "while":
		return p.whileStatement()
	case "do":
		p.advance()
		body := p.block()
		p.expect("end")
		return func(f *frame) signal { return run(f, body) }
	case "for":
		return p.forStatement()
	case "repeat":
		return p.repeatStatement()
	case "function":
		return p.functionStatement()
	case "local":
		return p.localStatement()
	case "return":
		return p.returnStatement()
	case "break":
		p.advance()
		if p.scope.loops == 0 {
			p.fail("no loop to break")
		}
		return func(*frame) signal { return brk }
	}
	return p.expressionStatement()
}

// A branch is a condition and the block to run if it holds.
type branch struct {
	condition func(f *frame) Value
	body      []op
}

func (p *parser) ifStatement() func(f *frame) signal {
	var branches []branch
	var otherwise []op
	for {
		p.advance() // if, elseif
		condition := p.expression().eval
		p.expect("then")
		branches = append(branches, branch{condition, p.block()})
		if p.now.kind == "elseif" {
			continue
		}
		if p.take("else") {
			otherwise = p.block()
		}
		p.expect("end")
		return func(f *frame) signal {
			for k := range branches {
				if truth(branches[k].condition(f)) {
					return run(f, branches[k].body)
				}
			}
			return run(f, otherwise)
		}
	}
}

// loop compiles the body of a loop.
func (p *parser) loop() []op {
	p.scope.loops++
	body := p.block()
	p.scope.loops--
	return body
}

func (p *parser) whileStatement() func(f *frame) signal {
	p.advance()
	condition := p.expression().eval
	cost := p.nodes + 1
	p.expect("do")
	body := p.loop()
	p.expect("end")
	return func(f *frame) signal {
		for truth(condition(f)) {
			f.m.Step(cost)
			if s := run(f, body); s == brk {
				return goOn
			} else if s == ret {
				return s
			}
		}
		return goOn
	}
}

func (p *parser) repeatStatement() func(f *frame) signal {
	p.advance()
	p.enter()
	active := len(p.scope.active)
	p.scope.loops++
	body := p.statements()
	p.scope.loops--
	p.expect("until")
	before := p.nodes
	condition := p.expression().eval // it sees the locals of the body
	cost := p.nodes - before + 1
	p.close(active)
	p.leave()
	return func(f *frame) signal {
		for {
			f.m.Step(cost)
			if s := run(f, body); s == brk {
				return goOn
			} else if s == ret {
				return s
			}
			if truth(condition(f)) {
				return goOn
			}
		}
	}
}

func (p *parser) forStatement() func(f *frame) signal {
	p.advance()
	p.enter()
	defer p.leave()
	active := len(p.scope.active)
	defer p.close(active)
	names := []string{p.name()}
	if p.take("=") {
		return p.numericFor(names[0])
	}
	for p.take(",") {
		names = append(names, p.name())
	}
	p.expect("in")
	values := p.several(p.expressions())
	p.expect("do")
	var vars []*local
	for _, name := range names {
		vars = append(vars, p.declare(name))
	}
	body := p.loop()
	p.expect("end")
	return func(f *frame) signal {
		v := values(f)
		iterator, state, control := at(v, 0), at(v, 1), at(v, 2)
		line := f.line
		for {
			f.m.Step(2)
			f.line = line
			top := f.m.top
			args := f.m.reserve(2)
			args[0], args[1] = state, control
			results := f.m.call(iterator, args, nil)
			f.m.free(args, top)
			if control = at(results, 0); control == nil {
				return goOn
			}
			for k, v := range vars {
				f.declare(v, at(results, k))
			}
			if s := run(f, body); s == brk {
				return goOn
			} else if s == ret {
				return s
			}
		}
	}
}

func (p *parser) numericFor(name string) func(f *frame) signal {
	from := p.expression().eval
	p.expect(",")
	to := p.expression().eval
	by := func(*frame) Value { return 1.0 }
	if p.take(",") {
		by = p.expression().eval
	}
	p.expect("do")
	v := p.declare(name)
	body := p.loop()
	p.expect("end")
	return func(f *frame) signal {
		n, ok1 := ToNumber(from(f))
		limit, ok2 := ToNumber(to(f))
		step, ok3 := ToNumber(by(f))
		if !ok1 || !ok2 || !ok3 {
			f.m.Throw("'for' values must be numbers")
		}
		for ; step > 0 && n <= limit || step <= 0 && n >= limit; n += step {
			f.m.Step(2)
			f.declare(v, n)
			if s := run(f, body); s == brk {
				return goOn
			} else if s == ret {
				return s
			}
		}
		return goOn
	}
}

func (p *parser) localStatement() func(f *frame) signal {
	p.advance()
	if p.take("function") {
		name := p.name()
		v := p.declare(name) // its body sees it
		fn := p.functionBody(name, false)
		return func(f *frame) signal {
			f.declare(v, nil)
			f.assign(v, fn(f))
			return goOn
		}
	}
	names := []string{p.name()}
	for p.take(",") {
		names = append(names, p.name())
	}
	var values []node
	if p.take("=") {
		values = p.expressions()
	}
	var vars []*local
	for _, name := range names {
		vars = append(vars, p.declare(name))
	}
	if len(vars) == 1 && len(values) == 1 {
		v, value := vars[0], values[0].eval
		return func(f *frame) signal {
			f.declare(v, value(f))
			return goOn
		}
	}
	all := p.several(values)
	return func(f *frame) signal {
		list := all(f)
		for k, v := range vars {
			f.declare(v, at(list, k))
		}
		return goOn
	}
}

func (p *parser) returnStatement() func(f *frame) signal {
	p.advance()
	var values []node
	if !p.ended() && p.now.kind != ";" {
		values = p.expressions()
	}
	if len(values) == 1 && values[0].all == nil {
		value := values[0].eval
		return func(f *frame) signal {
			f.results = []Value{value(f)}
			return ret
		}
	}
	all := p.several(values)
	return func(f *frame) signal {
		f.results = all(f)
		return ret
	}
}

func (p *parser) functionStatement() func(f *frame) signal {
	p.advance()
	name := p.now.text
	target := p.variable(p.name())
	method := false
	for !method && (p.now.kind == "." || p.now.kind == ":") {
		method = p.now.kind == ":"
		p.advance()
		key := p.name()
		name = key
		target = p.field(target, p.constant(key))
	}
	fn := p.functionBody(name, method)
	set := p.setter(target)
	return func(f *frame) signal {
		set(f, func() Value { return fn(f) })
		return goOn
	}
}

// setter returns a function that assigns to a target: it evaluates the parts of the
// target, then the value.
func (p *parser) setter(target node) func(f *frame, value func() Value) {
	switch {
	case target.local != nil:
		v := target.local
		return func(f *frame, value func() Value) { f.assign(v, value()) }
	case target.object != nil:
		object, key, name := target.object, target.key, target.objectName
		return func(f *frame, value func() Value) {
			o, k := object(f), key(f)
			f.m.setIndex(o, k, value(), name)
		}
	case target.up >= 0:
		up := target.up
		return func(f *frame, value func() Value) { f.fn.up[up].v = value() }
	}
	p.fail("cannot assign to this expression")
	return nil
}

func (p *parser) expressionStatement() func(f *frame) signal {
	target := p.suffixed()
	if p.now.kind != "=" && p.now.kind != "," {
		if target.call == nil {
			p.fail("syntax error near '%s'", p.now.kind)
		}
		call := target.call
		return func(f *frame) signal {
			call(f)
			return goOn
		}
	}
	targets := []node{target}
	for p.take(",") {
		targets = append(targets, p.suffixed())
	}
	p.expect("=")
	values := p.expressions()
	if len(targets) == 1 && len(values) == 1 {
		return p.assignment(target, values[0].eval)
	}
	all := p.several(values)
	var keys []func(f *frame) (o, k Value) // evaluated before the values
	for _, t := range targets {
		p.setter(t)
		object, key := t.object, t.key
		keys = append(keys, func(f *frame) (o, k Value) {
			if object != nil {
				o, k = object(f), key(f)
			}
			return o, k
		})
	}
	return func(f *frame) signal {
		places := make([][2]Value, len(targets))
		for k := range keys {
			places[k][0], places[k][1] = keys[k](f)
		}
		list := all(f)
		for k := len(targets) - 1; k >= 0; k-- {
			switch t := &targets[k]; {
			case t.object != nil:
				f.m.setIndex(places[k][0], places[k][1], at(list, k), t.objectName)
			case t.local != nil:
				f.assign(t.local, at(list, k))
			default:
				f.fn.up[t.up].v = at(list, k)
			}
		}
		return goOn
	}
}

// assignment compiles the assignment of one value.
func (p *parser) assignment(target node, value func(f *frame) Value) func(f *frame) signal {
	switch {
	case target.local != nil:
		v := target.local
		return func(f *frame) signal {
			f.assign(v, value(f))
			return goOn
		}
	case target.object != nil:
		object, key, name := target.object, target.key, target.objectName
		return func(f *frame) signal {
			o, k := object(f), key(f)
			f.m.setIndex(o, k, value(f), name)
			return goOn
		}
	}
	set := p.setter(target)
	return func(f *frame) signal {
		set(f, func() Value { return value(f) })
		return goOn
	}
}
