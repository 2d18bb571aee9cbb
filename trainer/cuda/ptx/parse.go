package ptx

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits that protect against hostile input. The output of NVRTC is far below them.
const (
	maxSize      = 1 << 20 // bytes of a variable
	maxRegisters = 1 << 20 // registers of one declaration
)

// Parse parses the text of a PTX module. Errors name the line.
func Parse(text string) (*Module, error) {
	tokens, err := lex(strings.TrimRight(text, "\x00"))
	if err != nil {
		return nil, fmt.Errorf("ptx: %w", err)
	}
	p := parser{tokens: tokens, module: &Module{}, files: map[int]string{}}
	p.parse()
	if p.err != nil {
		return nil, fmt.Errorf("ptx: line %d: %w", p.line(), p.err)
	}
	return p.module, nil
}

// A parser reads tokens one after the other. After the first error, which is stored in err,
// all methods behave as at the end of the text, so that every loop over tokens ends.
type parser struct {
	tokens  []token
	next    int
	err     error
	module  *Module
	files   map[int]string
	source  Source
	statics []Variable // shared arrays declared outside of kernels; each kernel has its own copy
}

// fail stores the first error.
func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *parser) line() int {
	if len(p.tokens) == 0 {
		return 1
	}
	return p.tokens[min(p.next, len(p.tokens)-1)].line
}

// peek returns the next token without consuming it, and "" at the end of the text.
func (p *parser) peek() string {
	if p.err != nil || p.next >= len(p.tokens) {
		return ""
	}
	return p.tokens[p.next].text
}

func (p *parser) take() string {
	t := p.peek()
	if t != "" {
		p.next++
	}
	return t
}

// accept consumes the next token if it is t, and reports whether it did.
func (p *parser) accept(t string) bool {
	if p.peek() != t {
		return false
	}
	p.next++
	return true
}

// expect consumes the next token, which must be t.
func (p *parser) expect(t string) {
	if !p.accept(t) {
		p.fail("got %q, want %q", p.peek(), t)
	}
}

// number consumes and returns an integer from 0 to limit.
func (p *parser) number(limit int) int {
	n, err := strconv.ParseUint(p.peek(), 0, 32)
	if err != nil || n > uint64(limit) {
		p.fail("got %q, want a number from 0 to %d", p.peek(), limit)
		return 0
	}
	p.next++
	return int(n)
}

// name consumes and returns a name, or the value of a directive.
func (p *parser) name() string {
	s := p.take()
	p.plain(s)
	return s
}

// plain fails if s cannot be a name or the value of a directive.
func (p *parser) plain(s string) {
	if s == "" || !word(s[0]) {
		p.fail("got %q, want a name or a value", s)
	}
}

// skip consumes tokens up to and including t.
func (p *parser) skip(t string) {
	for p.peek() != "" {
		if p.take() == t {
			return
		}
	}
	p.fail("got the end of the text, want %q", t)
}

func (p *parser) parse() {
	for p.peek() != "" {
		p.top()
	}
	if p.module.Version == "" || p.module.Target == "" {
		p.fail("the text has no .version or no .target directive")
	}
	// The numbers of source files become names last, because .file directives stand after
	// the code that uses the numbers.
	for _, k := range p.module.Kernels {
		for i := range k.Code {
			source := &k.Code[i].Source
			if n, err := strconv.Atoi(source.File); err == nil && p.files[n] != "" {
				source.File = p.files[n]
			}
		}
	}
}

// top parses one statement outside of kernels.
func (p *parser) top() {
	switch t := p.take(); t {
	case ".version":
		p.module.Version = p.name()
	case ".target":
		p.module.Target = p.name()
		for p.accept(",") {
			p.take()
		}
	case ".address_size":
		p.expect("64")
	case ".file":
		n := p.number(maxSize)
		name, err := strconv.Unquote(p.take())
		if err != nil || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
			p.fail(".file: want a quoted file name")
		}
		p.files[n] = name
		for p.accept(",") { // time and size
			p.take()
		}
	case ".section":
		p.skip("}")
	case ".global", ".const":
		p.skip(";")
	case ".extern": // dynamic shared memory: an array without a size
		p.expect(".shared")
		v := p.variable()
		if v.Size != 0 {
			p.fail("extern array %s has a size, want none", v.Name)
		}
		p.module.dynamic = v.Name
		p.expect(";")
	case ".shared":
		p.statics = p.shared(p.statics)
	case ".visible", ".weak":
		p.expect(".entry")
		p.kernel()
	case ".entry":
		p.kernel()
	default:
		p.fail("%q is not supported outside of kernels", t)
	}
}

// variable parses a declaration such as ".align 16 .b8 name[n]".
func (p *parser) variable() Variable {
	v := Variable{Align: 1}
	if p.accept(".align") {
		v.Align = p.number(1 << 10)
	}
	size := p.sizeOf(p.take())
	v.Align = max(v.Align, size)
	if v.Align&(v.Align-1) != 0 {
		p.fail("alignment %d, want a power of two", v.Align)
	}
	v.Name, v.Size = p.name(), size
	if p.accept("[") {
		v.Size = 0
		if p.peek() != "]" {
			v.Size = p.number(maxSize/size) * size
		}
		p.expect("]")
	}
	return v
}

// shared parses a declaration of static shared memory and appends the variable to
// list.
func (p *parser) shared(list []Variable) []Variable {
	v := p.variable()
	if v.Size == 0 {
		p.fail("shared array %s has no size", v.Name)
	}
	p.expect(";")
	return place(list, v)
}

// place appends v to list. The offset of v is the end of the last variable, rounded up to
// the alignment of v.
func place(list []Variable, v Variable) []Variable {
	end := 0
	if n := len(list); n > 0 {
		end = list[n-1].Offset + list[n-1].Size
	}
	v.Offset = (end + v.Align - 1) &^ (v.Align - 1)
	return append(list, v)
}

// sizeOf returns the size of a type in bytes: 4 for ".u32".
func (p *parser) sizeOf(t string) int {
	bits, err := strconv.Atoi(strings.TrimLeft(t, ".busf"))
	if err != nil || !strings.HasPrefix(t, ".") || bits%8 != 0 || bits < 8 || bits > 64 {
		p.fail("unknown type %q", t)
		return 1
	}
	return bits / 8
}

// kernel parses a kernel, from the name after .entry to the closing brace.
func (p *parser) kernel() {
	k := &Kernel{Name: p.name(), Labels: map[string]int{}}
	if p.module.Kernel(k.Name) != nil {
		p.fail("kernel %s is defined twice", k.Name)
	}
	p.expect("(")
	for p.err == nil && !p.accept(")") {
		if len(k.Params) > 0 {
			p.expect(",")
		}
		p.expect(".param")
		v := p.variable()
		k.Params = place(k.Params, v)
		k.ParamBytes = k.Params[len(k.Params)-1].Offset + v.Size
		if k.ParamBytes > 4096 {
			p.fail("kernel %s: parameters have more than 4096 bytes", k.Name)
		}
	}
	p.bounds(k)
	k.Shared, k.Dynamic, p.source = slices.Clone(p.statics), p.module.dynamic, Source{}
	for p.err == nil && !p.accept("}") {
		if p.peek() == "" {
			p.fail("kernel %s has no closing brace", k.Name)
		}
		p.statement(k)
	}
	if n := len(k.Shared); n > 0 {
		k.SharedBytes = k.Shared[n-1].Offset + k.Shared[n-1].Size
	}
	p.module.Kernels = append(p.module.Kernels, k)
}

// bounds parses the directives between the parameters and the body of a kernel,
// such as .maxntid.
func (p *parser) bounds(k *Kernel) {
	for p.err == nil && !p.accept("{") {
		switch t := p.take(); t {
		case ".maxntid":
			k.MaxThreads = p.number(1 << 10)
			for p.accept(",") && k.MaxThreads <= 1<<10 {
				k.MaxThreads *= p.number(1 << 10)
			}
			if k.MaxThreads > 1<<10 {
				p.fail("kernel %s: more than 1024 threads per block", k.Name)
			}
		case ".minnctapersm", ".maxnreg":
			p.number(1 << 10)
		default:
			p.fail("%q is not supported between the parameters and the body of kernel %s", t, k.Name)
		}
	}
}

// statement parses a declaration, a label or an instruction in the body of a kernel.
func (p *parser) statement(k *Kernel) {
	switch p.peek() {
	case ".reg":
		p.next++
		p.registers(k)
		return
	case ".shared":
		p.next++
		k.Shared = p.shared(k.Shared)
		return
	case ".loc":
		p.next++
		p.loc()
		return
	case ".pragma":
		p.skip(";")
		return
	case "{":
		p.fail("nested scopes are not supported")
		return
	case ";":
		p.next++
		return
	}
	if strings.HasPrefix(p.peek(), ".") {
		p.fail("%q is not supported inside of a kernel", p.peek())
		return
	}
	if p.err == nil && p.next+1 < len(p.tokens) && p.tokens[p.next+1].text == ":" {
		label := p.take()
		p.next++
		p.plain(label)
		if _, ok := k.Labels[label]; ok {
			p.fail("label %s is defined twice", label)
		}
		k.Labels[label] = len(k.Code)
		return
	}
	p.instruction(k)
}

func (p *parser) registers(k *Kernel) {
	r := Registers{Type: strings.TrimPrefix(p.take(), ".")}
	if r.Type != "pred" {
		p.sizeOf("." + r.Type)
	}
	r.Prefix = p.take()
	if !strings.HasPrefix(r.Prefix, "%") || strings.ContainsAny(r.Prefix, ".") {
		p.fail("%q is not a valid register name", r.Prefix)
	}
	p.expect("<")
	r.Count = p.number(maxRegisters)
	p.expect(">")
	k.Registers = append(k.Registers, r)
	p.expect(";")
}

// loc parses ".loc FILE LINE COLUMN[, function_name NAME, inlined_at FILE LINE COLUMN]".
func (p *parser) loc() {
	var n [3]int
	for i := range n {
		n[i] = p.number(1 << 30)
	}
	if n[1] > 0 { // line 0 marks code that the compiler added
		p.source = Source{strconv.Itoa(n[0]), n[1]}
	}
	for p.accept(",") {
		switch t := p.take(); t {
		case "function_name":
			p.take()
		case "inlined_at":
			for range n {
				p.number(1 << 30)
			}
		default:
			p.fail(".loc: %q is not supported", t)
		}
	}
}

func (p *parser) instruction(k *Kernel) {
	in := Instruction{Line: p.line(), Source: p.source}
	if p.accept("@") {
		in.Negate = p.accept("!")
		in.Guard = p.take()
		if !strings.HasPrefix(in.Guard, "%") {
			p.fail("guard %q, want a predicate register", in.Guard)
		}
	}
	in.Op = p.take()
	if in.Op == "" || in.Op[0] < 'a' || in.Op[0] > 'z' {
		p.fail("got %q, want an instruction", in.Op)
	}
	for p.err == nil && !p.accept(";") {
		if len(in.Args) > 0 {
			p.expect(",")
		}
		in.Args = append(in.Args, p.operand())
	}
	k.Code = append(k.Code, in)
}

func (p *parser) operand() Operand {
	switch {
	case p.accept("["): // [name], [name+8] or [name+-8]
		name, offset, found := strings.Cut(p.take(), "+")
		o := Operand{Kind: Address, Name: name}
		if found {
			var err error
			if o.Offset, err = strconv.ParseInt(offset, 0, 32); err != nil {
				p.fail("address offset %q, want a number", offset)
			}
		}
		p.plain(name)
		p.expect("]")
		return o
	case p.accept("{"):
		o := Operand{Kind: Vector, Elements: []Operand{p.single()}}
		for p.accept(",") {
			o.Elements = append(o.Elements, p.single())
		}
		p.expect("}")
		return o
	}
	o := p.single()
	if p.accept("|") {
		o = Operand{Kind: Pair, Elements: []Operand{o, p.single()}}
	}
	return o
}

// single parses an operand that is one word: a register, number, symbol or sink.
func (p *parser) single() Operand {
	s := p.name()
	switch {
	case p.err != nil:
		return Operand{}
	case s == "_":
		return Operand{Kind: Sink}
	case s[0] == '%':
		return Operand{Kind: Register, Name: s}
	case strings.HasPrefix(s, "0f") && len(s) == 10, strings.HasPrefix(s, "0d") && len(s) == 18:
		v, err := strconv.ParseUint(s[2:], 16, 64)
		if err != nil {
			p.fail("invalid number %q", s)
		}
		return Operand{Kind: Immediate, Value: v, Float: 4 * (len(s) - 2)}
	case s[0] == '-' || s[0] >= '0' && s[0] <= '9':
		if v, err := strconv.ParseInt(s, 0, 64); err == nil {
			return Operand{Kind: Immediate, Value: uint64(v)}
		}
		v, err := strconv.ParseUint(strings.TrimSuffix(s, "U"), 0, 64)
		if err != nil {
			p.fail("invalid number %q", s)
		}
		return Operand{Kind: Immediate, Value: v}
	}
	return Operand{Kind: Symbol, Name: s}
}
