package lua

import (
	"slices"
)

// Limits of a program's source.
const (
	maxSource  = 2 << 20 // bytes; MediaWiki's limit for a page
	maxNesting = 200     // levels of blocks and expressions; Lua's own limit
	maxChained = 1000    // operators and accesses in a row, such as a+b+c or a.b.c
	maxLocals  = 200     // local variables in a function; Lua's own limit
)

// A Chunk is a compiled program. Any number of machines may run it.
type Chunk struct {
	name   string
	source string
	main   *proto
}

// Size returns the size of the source in bytes.
func (c *Chunk) Size() int { return len(c.source) }

// A proto is a compiled function.
type proto struct {
	chunk    string
	params   []*local
	variadic bool
	slots    int
	ups      []upvalue
	body     []op
}

// A local is a local variable. Its value is in a register; if captured, in a cell.
type local struct {
	name     string
	slot     int
	captured bool
}

// An upvalue says where a new function finds a variable of the functions around it: in a
// register of the one that makes it, or, if from is nil, in one of its upvalues.
type upvalue struct {
	name  string
	from  *local
	index int
}

// An op is a compiled statement.
type op struct {
	run  func(f *frame) signal
	cost int
	line int32
}

// A signal says how a statement ended.
type signal uint8

const (
	goOn signal = iota
	brk
	ret
)

// run executes a block.
func run(f *frame, block []op) signal {
	for k := range block {
		o := &block[k]
		f.m.Step(o.cost)
		f.line = o.line
		if s := o.run(f); s != goOn {
			return s
		}
	}
	return goOn
}

// A scope is a function that is being compiled.
type scope struct {
	outer  *scope
	proto  *proto
	active []*local
	loops  int
}

// A parser compiles a program while it reads it.
type parser struct {
	lexer
	now, ahead token
	scope      *scope
	level      int
	nodes      int // nodes made so far, in the current statement
}

// Compile compiles a program. The name is for error messages. The error is a [*Failure].
func Compile(name, source string) (c *Chunk, err error) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(*Failure)
			if !ok {
				panic(r)
			}
			err = f
		}
	}()
	p := &parser{lexer: lexer{chunk: name, src: source, line: 1}}
	if len(source) > maxSource {
		p.fail("%d bytes, more than %d", len(source), maxSource)
	}
	p.ahead = p.lexer.next()
	p.advance()
	p.scope = &scope{proto: &proto{chunk: name, variadic: true}}
	p.scope.proto.body = p.block()
	if p.now.kind != tokenEnd {
		p.fail("'%s' expected near '%s'", tokenEnd, p.now.kind)
	}
	return &Chunk{name, source, p.scope.proto}, nil
}

func (p *parser) advance() {
	p.now, p.ahead = p.ahead, p.lexer.next()
}

// fail ends the compilation at the current token.
func (p *parser) fail(format string, args ...any) {
	p.lexer.line = p.now.line
	p.lexer.fail(format, args...)
}

// take reads a token of the given kind, if it comes next.
func (p *parser) take(kind string) bool {
	if p.now.kind != kind {
		return false
	}
	p.advance()
	return true
}

func (p *parser) expect(kind string) {
	if !p.take(kind) {
		p.fail("'%s' expected near '%s'", kind, p.now.kind)
	}
}

func (p *parser) name() string {
	name := p.now.text
	p.expect(tokenName)
	return name
}

// enter begins a level of nesting. leave ends it.
func (p *parser) enter() {
	if p.level++; p.level > maxNesting {
		p.fail("too many levels of nesting")
	}
}

func (p *parser) leave() { p.level-- }

// declare makes a local variable active.
func (p *parser) declare(name string) *local {
	s := p.scope
	if len(s.active) >= maxLocals {
		p.fail("too many local variables")
	}
	v := &local{name: name, slot: len(s.active)}
	s.active = append(s.active, v)
	s.proto.slots = max(s.proto.slots, len(s.active))
	return v
}

// find returns the local variable with a name, or the number of the upvalue that holds
// it; both are missing if the name is global.
func (s *scope) find(name string) (v *local, up int) {
	for _, v := range slices.Backward(s.active) {
		if v.name == name {
			return v, -1
		}
	}
	for k, u := range s.proto.ups {
		if u.name == name {
			return nil, k
		}
	}
	if s.outer == nil {
		return nil, -1
	}
	from, index := s.outer.find(name)
	if from == nil && index < 0 {
		return nil, -1
	}
	if from != nil {
		from.captured = true
	}
	s.proto.ups = append(s.proto.ups, upvalue{name, from, index})
	return nil, len(s.proto.ups) - 1
}

// block compiles statements up to the end of a block. Its local variables end with it.
func (p *parser) block() []op {
	p.enter()
	active := len(p.scope.active)
	body := p.statements()
	p.close(active)
	p.leave()
	return body
}

// close ends the local variables after the first n.
func (p *parser) close(n int) { p.scope.active = p.scope.active[:n] }

func (p *parser) ended() bool {
	switch p.now.kind {
	case tokenEnd, "end", "else", "elseif", "until":
		return true
	}
	return false
}

// at returns value k of a list, or nil.
func at(v []Value, k int) Value {
	if k < len(v) {
		return v[k]
	}
	return nil
}

// functionBody compiles the parameters and the body of a function.
func (p *parser) functionBody(name string, method bool) func(f *frame) Value {
	p.enter()
	line := p.now.line
	pr := &proto{chunk: p.chunk}
	p.scope = &scope{outer: p.scope, proto: pr}
	nodes := p.nodes
	if method {
		pr.params = append(pr.params, p.declare("self"))
	}
	p.expect("(")
	for p.now.kind != ")" {
		if p.take("...") {
			pr.variadic = true
			break
		}
		pr.params = append(pr.params, p.declare(p.name()))
		if !p.take(",") {
			break
		}
	}
	p.expect(")")
	pr.body = p.block()
	if p.now.kind != "end" {
		p.fail("'end' expected (to close the function at line %d) near '%s'", line, p.now.kind)
	}
	p.advance()
	p.scope = p.scope.outer
	p.nodes = nodes + 1
	p.leave()
	return func(f *frame) Value {
		f.m.Charge(functionBytes + 8*len(pr.ups))
		fn := &Function{proto: pr, env: f.fn.env, name: name}
		if len(pr.ups) > 0 {
			fn.up = make([]*cell, len(pr.ups))
			for k, u := range pr.ups {
				if u.from != nil {
					fn.up[k] = f.regs[u.from.slot].(*cell)
				} else {
					fn.up[k] = f.fn.up[u.index]
				}
			}
		}
		return fn
	}
}
