package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pretext/trainer/cuda/ptx"
)

// A bank is a class of registers of a warp, by size.
type bank uint8

const (
	words      bank = iota // registers of up to 32 bits
	longs                  // registers of 64 bits
	predicates             // registers of one bit per lane
)

// A register is a register of a program: its bank and its index in the bank.
type register struct {
	bank  bank
	index int32
}

// control is the effect of an instruction on the control flow of a warp.
type control uint8

const (
	straight control = iota
	branches
	returns
	waits // the warp waits at a barrier of the block
)

// An execute function executes the instruction in for the lanes of a mask, which
// is not empty.
type execute = func(w *warp, in *instr, lanes uint32)

// An instr is a decoded instruction.
type instr struct {
	op      string
	run     execute
	control control
	guard   int32 // predicate register that must be true in a lane; -1: none
	negate  bool
	d, s    []int32 // destination and source registers: indices in the banks of defs and uses
	uses    []register
	defs    []register

	guardSet         int32 // places of guard, uses and defs; see program.place
	usesSet, defsSet []int32

	offset int64 // constant part of the address, in bytes
	size   int   // bytes of one element in memory
	extra  int   // flags and constants whose meaning depends on run
	target int32 // index of the instruction that a branch jumps to
	source ptx.Source
	counts Counts
}

// A program is a kernel compiled for the simulator.
type program struct {
	*ptx.Kernel
	code      []instr
	size      [3]int // number of registers in each bank
	named     map[string]register
	constants [2]map[uint64]int32 // index of the register for each constant, in words and in longs
	arrays    map[string]int      // addresses of arrays in shared memory, by name
	params    map[string]ptx.Variable
	preset    []uint32 // for each register (see place): full if it is set from the start, otherwise 0
	warps     []*warp  // warps of the previous launch, for reuse
	exact     int      // number of products that are kept without rounding; see contract
}

// sharedBase is the address of the first byte of shared memory. It is not 0, so
// that an access through a null pointer is a fault.
const sharedBase = 0x400

// special lists the PTX registers that keep their values while a block runs.
var special = []string{"%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid", "%warpid"}

// compile decodes a kernel. If the simulator does not support an instruction,
// the error names it and its line.
func compile(k *ptx.Kernel) (*program, error) {
	p := &program{Kernel: k, named: map[string]register{}, arrays: map[string]int{}, params: map[string]ptx.Variable{}}
	p.constants = [2]map[uint64]int32{{}, {}}
	for _, r := range k.Registers {
		b := words
		switch {
		case r.Type == "pred":
			b = predicates
		case strings.HasSuffix(r.Type, "64"):
			b = longs
		}
		for i := range r.Count {
			p.named[r.Prefix+strconv.Itoa(i)] = p.fresh(b)
		}
	}
	for _, s := range special {
		p.named[s] = p.fresh(words)
	}
	for _, v := range k.Shared {
		p.arrays[v.Name] = sharedBase + v.Offset
	}
	if k.Dynamic != "" {
		p.arrays[k.Dynamic] = sharedBase + (k.SharedBytes+15)&^15
	}
	for _, v := range k.Params {
		p.params[v.Name] = v
	}
	p.code = make([]instr, len(k.Code))
	for i := range k.Code {
		if err := p.decode(&p.code[i], &k.Code[i]); err != nil {
			return nil, fmt.Errorf("kernel %s: line %d: %s: %w", k.Name, k.Code[i].Line, k.Code[i], err)
		}
	}
	p.placeAll()
	return p, nil
}

// place returns the index of a register among those of all banks.
func (p *program) place(r register) int32 {
	at := r.index
	for b := range r.bank {
		at += int32(p.size[b])
	}
	return at
}

// placeAll fills in what needs the places of registers: all registers must be known.
func (p *program) placeAll() {
	p.preset = make([]uint32, p.size[words]+p.size[longs]+p.size[predicates])
	for b, constants := range p.constants {
		for _, i := range constants {
			p.preset[p.place(register{bank(b), i})] = full
		}
	}
	for _, s := range special {
		p.preset[p.place(p.named[s])] = full
	}
	for i := range p.code {
		in := &p.code[i]
		if in.guard >= 0 {
			in.guardSet = p.place(register{predicates, in.guard})
		}
		for _, r := range in.uses {
			in.usesSet = append(in.usesSet, p.place(r))
		}
		for _, r := range in.defs {
			in.defsSet = append(in.defsSet, p.place(r))
		}
	}
}

// clone returns a copy of p that was never launched.
func (p *program) clone() *program {
	c := *p
	c.code = slices.Clone(p.code)
	return &c
}

// A cache keeps the programs of the texts that were loaded last. Programs of a cache are never
// launched: a launch needs a clone.
type cache struct {
	mu    sync.Mutex
	texts []compiledText // the one used last comes last
}

type compiledText struct {
	text     string
	programs []*program
}

// cachedTexts is more than pretext has modules in all types, so that a process that opens one
// device after the other compiles each module once.
const cachedTexts = 32

var compiled cache

// load returns the programs of the kernels in text.
func (c *cache) load(text string) ([]*program, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.texts, func(t compiledText) bool { return t.text == text }); i >= 0 {
		found := c.texts[i]
		c.texts = append(slices.Delete(c.texts, i, i+1), found)
		return found.programs, nil
	}
	parsed, err := ptx.Parse(text)
	if err != nil {
		return nil, err
	}
	t := compiledText{text: text}
	for _, k := range parsed.Kernels {
		p, err := compile(k)
		if err != nil {
			return nil, err
		}
		t.programs = append(t.programs, p)
	}
	c.texts = append(c.texts, t)
	if len(c.texts) > cachedTexts {
		c.texts = slices.Delete(c.texts, 0, 1)
	}
	return t.programs, nil
}

// fresh returns a new register in bank b.
func (p *program) fresh(b bank) register {
	r := register{b, int32(p.size[b])}
	p.size[b]++
	return r
}

// operand returns the register that holds operand o: a declared register, or a new
// one for a constant. It returns an error if the register is not in bank b.
func (p *program) operand(o ptx.Operand, b bank) (register, error) {
	switch o.Kind {
	case ptx.Register:
		r, ok := p.named[o.Name]
		if !ok {
			return r, fmt.Errorf("register %s is not declared", o.Name)
		}
		if r.bank != b {
			return r, fmt.Errorf("register %s has the wrong size for this instruction", o.Name)
		}
		return r, nil
	case ptx.Immediate:
		if b == predicates {
			break
		}
		return p.constant(o.Value, b), nil
	case ptx.Symbol:
		if at, ok := p.arrays[o.Name]; ok && b != predicates {
			return p.constant(uint64(at), b), nil
		}
	case ptx.Sink:
		return p.fresh(b), nil
	}
	return register{}, fmt.Errorf("operand %s, want a register or a constant", o)
}

// constant returns the register of bank b that holds the constant v.
func (p *program) constant(v uint64, b bank) register {
	if b == words {
		v = uint64(uint32(v))
	}
	i, ok := p.constants[b][v]
	if !ok {
		i = p.fresh(b).index
		p.constants[b][v] = i
	}
	return register{b, i}
}

// reads adds operand o, which must be in bank b, to the sources of in.
func (p *program) reads(in *instr, o ptx.Operand, b bank) error {
	r, err := p.operand(o, b)
	in.s = append(in.s, r.index)
	in.uses = append(in.uses, r)
	return err
}

// sets adds register o, which must be in bank b, to the destinations of in.
func (p *program) sets(in *instr, o ptx.Operand, b bank) error {
	if o.Kind != ptx.Register && o.Kind != ptx.Sink {
		return fmt.Errorf("destination %s, want a register", o)
	}
	r, err := p.operand(o, b)
	in.d = append(in.d, r.index)
	in.defs = append(in.defs, r)
	return err
}

// each calls f, p.reads or p.sets, for each operand in list.
func each(f func(in *instr, o ptx.Operand, b bank) error, in *instr, list []ptx.Operand, b bank) error {
	for _, o := range list {
		if err := f(in, o, b); err != nil {
			return err
		}
	}
	return nil
}

// address adds the base register of the address o to the sources of in and stores
// its constant offset in in.offset. The base may be a 32-bit register, as it is
// for shared memory.
func (p *program) address(in *instr, o ptx.Operand) error {
	if o.Kind != ptx.Address {
		return fmt.Errorf("operand %s, want an address", o)
	}
	in.offset = o.Offset
	if at, ok := p.arrays[o.Name]; ok {
		r := p.constant(uint64(at), longs)
		in.s, in.uses = append(in.s, r.index), append(in.uses, r)
		return nil
	}
	r, ok := p.named[o.Name]
	if !ok || r.bank == predicates {
		return fmt.Errorf("address %s, want a register or a shared array as its base", o)
	}
	in.s, in.uses = append(in.s, r.index), append(in.uses, r)
	if r.bank == words {
		in.extra |= wordAddress
	}
	return nil
}

// wordAddress is the flag in instr.extra for an address in a 32-bit register.
const wordAddress = 1 << 16

// elements returns the elements of a vector operand such as {%r1, %r2}. If o is not a vector,
// it returns o as the only element.
func elements(o ptx.Operand) []ptx.Operand {
	if o.Kind == ptx.Vector {
		return o.Elements
	}
	return []ptx.Operand{o}
}

// decode fills in with the operation and the registers of a parsed instruction.
func (p *program) decode(in *instr, from *ptx.Instruction) error {
	*in = instr{op: from.Op, guard: -1, source: from.Source}
	if from.Guard != "" {
		r, ok := p.named[from.Guard]
		if !ok || r.bank != predicates {
			return fmt.Errorf("guard %s, want a predicate register", from.Guard)
		}
		in.guard, in.negate = r.index, from.Negate
	}
	packs := slices.ContainsFunc(from.Args, func(o ptx.Operand) bool { return o.Kind == ptx.Vector })
	for _, group := range []map[string]form{forms, acrossLanes} {
		if f, ok := group[from.Op]; ok && !packs {
			in.run = f.run
			return p.operands(in, f.registers, from.Args)
		}
	}
	name, _, _ := strings.Cut(from.Op, ".")
	decode, ok := decoders[name]
	if !ok {
		return fmt.Errorf("the simulator does not support %s", from.Op)
	}
	return decode(p, in, from)
}

// operands adds args, the destination first, to in. registers has one letter for each
// argument, as in form.
func (p *program) operands(in *instr, registers string, args []ptx.Operand) error {
	if len(args) != len(registers) {
		return fmt.Errorf("%d operands, want %d", len(args), len(registers))
	}
	for i, letter := range registers {
		b := map[rune]bank{'w': words, 'l': longs, 'p': predicates}[letter]
		var err error
		if i == 0 {
			err = p.sets(in, args[0], b)
		} else {
			err = p.reads(in, args[i], b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
