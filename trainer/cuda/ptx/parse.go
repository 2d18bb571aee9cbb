package ptx

import (
	"errors"
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
	if err := p.parse(); err != nil {
		return nil, fmt.Errorf("ptx: line %d: %w", p.line(), err)
	}
	return p.module, nil
}

type parser struct {
	tokens  []token
	next    int
	module  *Module
	files   map[int]string
	source  Source
	statics []Variable // shared arrays declared outside of kernels; each kernel has its own copy
}

func (p *parser) line() int {
	if len(p.tokens) == 0 {
		return 1
	}
	return p.tokens[min(p.next, len(p.tokens)-1)].line
}

// peek returns the next token without consuming it, and "" at the end of the text.
func (p *parser) peek() string {
	if p.next >= len(p.tokens) {
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
func (p *parser) expect(t string) error {
	if !p.accept(t) {
		return fmt.Errorf("got %q, want %q", p.peek(), t)
	}
	return nil
}

// number consumes and returns an integer from 0 to limit.
func (p *parser) number(limit int) (int, error) {
	n, err := strconv.ParseUint(p.peek(), 0, 32)
	if err != nil || n > uint64(limit) {
		return 0, fmt.Errorf("got %q, want a number from 0 to %d", p.peek(), limit)
	}
	p.next++
	return int(n), nil
}

// skip consumes tokens up to and including t.
func (p *parser) skip(t string) error {
	for p.peek() != "" {
		if p.take() == t {
			return nil
		}
	}
	return fmt.Errorf("got the end of the text, want %q", t)
}

func (p *parser) parse() error {
	for p.peek() != "" {
		if err := p.top(); err != nil {
			return err
		}
	}
	if p.module.Version == "" || p.module.Target == "" {
		return errors.New("the text has no .version or no .target directive")
	}
	p.nameFiles()
	return nil
}

// nameFiles replaces the numbers of source files by their names. This comes last
// because .file directives stand after the code that uses the numbers.
func (p *parser) nameFiles() {
	names := map[string]string{}
	for n, name := range p.files {
		names[strconv.Itoa(n)] = name
	}
	for _, k := range p.module.Kernels {
		for i := range k.Code {
			if name, ok := names[k.Code[i].Source.File]; ok {
				k.Code[i].Source.File = name
			}
		}
	}
}

// top parses one statement outside of kernels.
func (p *parser) top() error {
	switch t := p.take(); t {
	case ".version":
		p.module.Version = p.take()
		return plain(p.module.Version)
	case ".target":
		p.module.Target = p.take()
		for p.accept(",") {
			p.take()
		}
		return plain(p.module.Target)
	case ".address_size":
		return p.expect("64")
	case ".file":
		return p.file()
	case ".section":
		return p.skip("}")
	case ".global", ".const":
		return p.skip(";")
	case ".extern":
		return p.extern()
	case ".shared":
		var err error
		p.statics, err = p.shared(p.statics)
		return err
	case ".visible", ".weak":
		if err := p.expect(".entry"); err != nil {
			return err
		}
		return p.kernel()
	case ".entry":
		return p.kernel()
	default:
		return fmt.Errorf("%q is not supported outside of kernels", t)
	}
}

// plain returns an error if s cannot be a name or the value of a directive.
func plain(s string) error {
	if s == "" || !word(s[0]) {
		return fmt.Errorf("got %q, want a name or a value", s)
	}
	return nil
}

func (p *parser) file() error {
	n, err := p.number(maxSize)
	if err != nil {
		return err
	}
	name, err := strconv.Unquote(p.take())
	if err != nil || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return errors.New(".file: want a quoted file name")
	}
	p.files[n] = name
	for p.accept(",") { // time and size
		p.take()
	}
	return nil
}

// extern parses the declaration of dynamic shared memory: an extern array without
// a size.
func (p *parser) extern() error {
	if err := p.expect(".shared"); err != nil {
		return err
	}
	v, err := p.variable()
	if err != nil {
		return err
	}
	if v.Size != 0 {
		return fmt.Errorf("extern array %s has a size, want none", v.Name)
	}
	p.module.dynamic = v.Name
	return p.expect(";")
}

// variable parses a declaration such as ".align 16 .b8 name[n]".
func (p *parser) variable() (Variable, error) {
	v := Variable{Align: 1}
	if p.accept(".align") {
		n, err := p.number(1 << 10)
		if err != nil {
			return v, err
		}
		v.Align = n
	}
	size, err := sizeOf(p.take())
	if err != nil {
		return v, err
	}
	v.Align = max(v.Align, size)
	if v.Align&(v.Align-1) != 0 {
		return v, fmt.Errorf("alignment %d, want a power of two", v.Align)
	}
	v.Name = p.take()
	if err := plain(v.Name); err != nil {
		return v, err
	}
	v.Size = size
	if p.accept("[") {
		n := 0
		if p.peek() != "]" {
			if n, err = p.number(maxSize / size); err != nil {
				return v, err
			}
		}
		v.Size = n * size
		return v, p.expect("]")
	}
	return v, nil
}

// shared parses a declaration of static shared memory and appends the variable to
// list.
func (p *parser) shared(list []Variable) ([]Variable, error) {
	v, err := p.variable()
	if err != nil {
		return list, err
	}
	if v.Size == 0 {
		return list, fmt.Errorf("shared array %s has no size", v.Name)
	}
	return place(list, v), p.expect(";")
}

// place appends v to list, with the first offset behind the last variable that has
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
func sizeOf(t string) (int, error) {
	bits, err := strconv.Atoi(strings.TrimLeft(t, ".busf"))
	if err != nil || !strings.HasPrefix(t, ".") || bits%8 != 0 || bits < 8 || bits > 64 {
		return 0, fmt.Errorf("unknown type %q", t)
	}
	return bits / 8, nil
}

// kernel parses a kernel, from the name after .entry to the closing brace.
func (p *parser) kernel() error {
	k := &Kernel{Name: p.take(), Labels: map[string]int{}}
	if err := plain(k.Name); err != nil {
		return err
	}
	if p.module.Kernel(k.Name) != nil {
		return fmt.Errorf("kernel %s is defined twice", k.Name)
	}
	if err := p.params(k); err != nil {
		return err
	}
	if err := p.bounds(k); err != nil {
		return err
	}
	k.Shared, k.Dynamic, p.source = slices.Clone(p.statics), p.module.dynamic, Source{}
	for !p.accept("}") {
		if p.peek() == "" {
			return fmt.Errorf("kernel %s has no closing brace", k.Name)
		}
		if err := p.statement(k); err != nil {
			return err
		}
	}
	if n := len(k.Shared); n > 0 {
		k.SharedBytes = k.Shared[n-1].Offset + k.Shared[n-1].Size
	}
	p.module.Kernels = append(p.module.Kernels, k)
	return nil
}

func (p *parser) params(k *Kernel) error {
	if err := p.expect("("); err != nil {
		return err
	}
	for !p.accept(")") {
		if len(k.Params) > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		if err := p.expect(".param"); err != nil {
			return err
		}
		v, err := p.variable()
		if err != nil {
			return err
		}
		k.Params = place(k.Params, v)
		k.ParamBytes = k.Params[len(k.Params)-1].Offset + v.Size
		if k.ParamBytes > 4096 {
			return fmt.Errorf("kernel %s: parameters have more than 4096 bytes", k.Name)
		}
	}
	return nil
}

// bounds parses the directives between the parameters and the body of a kernel,
// such as .maxntid.
func (p *parser) bounds(k *Kernel) error {
	for !p.accept("{") {
		switch t := p.take(); t {
		case ".maxntid":
			k.MaxThreads = 1
			for {
				n, err := p.number(1 << 10)
				if err != nil {
					return err
				}
				k.MaxThreads *= n
				if k.MaxThreads > 1<<10 {
					return fmt.Errorf("kernel %s: more than 1024 threads per block", k.Name)
				}
				if !p.accept(",") {
					break
				}
			}
		case ".minnctapersm", ".maxnreg":
			if _, err := p.number(1 << 10); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%q is not supported between the parameters and the body of kernel %s", t, k.Name)
		}
	}
	return nil
}

// statement parses a declaration, a label or an instruction in the body of a kernel.
func (p *parser) statement(k *Kernel) error {
	switch p.peek() {
	case ".reg":
		p.next++
		return p.registers(k)
	case ".shared":
		p.next++
		var err error
		k.Shared, err = p.shared(k.Shared)
		return err
	case ".loc":
		p.next++
		return p.loc()
	case ".pragma":
		return p.skip(";")
	case "{":
		return errors.New("nested scopes are not supported")
	case ";":
		p.next++
		return nil
	}
	if strings.HasPrefix(p.peek(), ".") {
		return fmt.Errorf("%q is not supported inside of a kernel", p.peek())
	}
	if p.next+1 < len(p.tokens) && p.tokens[p.next+1].text == ":" {
		label := p.take()
		p.next++
		if err := plain(label); err != nil {
			return err
		}
		if _, ok := k.Labels[label]; ok {
			return fmt.Errorf("label %s is defined twice", label)
		}
		k.Labels[label] = len(k.Code)
		return nil
	}
	return p.instruction(k)
}

func (p *parser) registers(k *Kernel) error {
	r := Registers{Type: strings.TrimPrefix(p.take(), ".")}
	if r.Type != "pred" {
		if _, err := sizeOf("." + r.Type); err != nil {
			return err
		}
	}
	r.Prefix, r.Count = p.take(), 0
	if !strings.HasPrefix(r.Prefix, "%") || strings.ContainsAny(r.Prefix, ".") {
		return fmt.Errorf("%q is not a valid register name", r.Prefix)
	}
	if err := p.expect("<"); err != nil {
		return err
	}
	n, err := p.number(maxRegisters)
	if err != nil {
		return err
	}
	if err := p.expect(">"); err != nil {
		return err
	}
	r.Count = n
	k.Registers = append(k.Registers, r)
	return p.expect(";")
}

// loc parses ".loc FILE LINE COLUMN[, function_name NAME, inlined_at FILE LINE COLUMN]".
func (p *parser) loc() error {
	var n [3]int
	for i := range n {
		v, err := p.number(1 << 30)
		if err != nil {
			return err
		}
		n[i] = v
	}
	if n[1] > 0 { // line 0 marks code that the compiler added
		p.source = Source{strconv.Itoa(n[0]), n[1]}
	}
	for p.accept(",") {
		switch t := p.take(); t {
		case "function_name":
			p.take()
		case "inlined_at":
			for range 3 {
				if _, err := p.number(1 << 30); err != nil {
					return err
				}
			}
		default:
			return fmt.Errorf(".loc: %q is not supported", t)
		}
	}
	return nil
}

func (p *parser) instruction(k *Kernel) error {
	in := Instruction{Line: p.line(), Source: p.source}
	if p.accept("@") {
		in.Negate = p.accept("!")
		in.Guard = p.take()
		if !strings.HasPrefix(in.Guard, "%") {
			return fmt.Errorf("guard %q, want a predicate register", in.Guard)
		}
	}
	in.Op = p.take()
	if in.Op == "" || in.Op[0] < 'a' || in.Op[0] > 'z' {
		return fmt.Errorf("got %q, want an instruction", in.Op)
	}
	for !p.accept(";") {
		if len(in.Args) > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		o, err := p.operand()
		if err != nil {
			return err
		}
		in.Args = append(in.Args, o)
	}
	k.Code = append(k.Code, in)
	return nil
}

func (p *parser) operand() (Operand, error) {
	switch {
	case p.accept("["):
		o, err := address(p.take())
		if err != nil {
			return o, err
		}
		return o, p.expect("]")
	case p.accept("{"):
		o := Operand{Kind: Vector}
		for {
			e, err := single(p.take())
			if err != nil {
				return o, err
			}
			o.Elements = append(o.Elements, e)
			if !p.accept(",") {
				return o, p.expect("}")
			}
		}
	}
	o, err := single(p.take())
	if err == nil && p.accept("|") {
		var q Operand
		q, err = single(p.take())
		o = Operand{Kind: Pair, Elements: []Operand{o, q}}
	}
	return o, err
}

// address parses the inside of an address: "name", "name+8" or "name+-8".
func address(s string) (Operand, error) {
	name, offset, found := strings.Cut(s, "+")
	o := Operand{Kind: Address, Name: name}
	if found {
		n, err := strconv.ParseInt(offset, 0, 32)
		if err != nil {
			return o, fmt.Errorf("address offset %q, want a number", offset)
		}
		o.Offset = n
	}
	return o, plain(name)
}

// single parses an operand that is one word: a register, number, symbol or sink.
func single(s string) (Operand, error) {
	if err := plain(s); err != nil {
		return Operand{}, err
	}
	switch {
	case s == "_":
		return Operand{Kind: Sink}, nil
	case s[0] == '%':
		return Operand{Kind: Register, Name: s}, nil
	case strings.HasPrefix(s, "0f") && len(s) == 10, strings.HasPrefix(s, "0d") && len(s) == 18:
		v, err := strconv.ParseUint(s[2:], 16, 64)
		if err != nil {
			return Operand{}, fmt.Errorf("invalid number %q", s)
		}
		return Operand{Kind: Immediate, Value: v, Float: 4 * (len(s) - 2)}, nil
	case s[0] == '-' || s[0] >= '0' && s[0] <= '9':
		if v, err := strconv.ParseInt(s, 0, 64); err == nil {
			return Operand{Kind: Immediate, Value: uint64(v)}, nil
		}
		v, err := strconv.ParseUint(strings.TrimSuffix(s, "U"), 0, 64)
		if err != nil {
			return Operand{}, fmt.Errorf("invalid number %q", s)
		}
		return Operand{Kind: Immediate, Value: v}, nil
	}
	return Operand{Kind: Symbol, Name: s}, nil
}
