package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pretext/trainer/cuda/ptx"
)

// A bank is a set of registers of a warp.
type bank uint8

const (
	words      bank = iota // up to 32 bits
	longs                  // 64 bits
	predicates             // a bit a lane
)

// A register is a place in a bank.
type register struct {
	bank  bank
	index int32
}

// control is what an instruction does to the flow of a warp.
type control uint8

const (
	straight control = iota
	branches
	returns
	waits // at a barrier of the block
)

// An execute runs an instruction in the lanes of a mask, which is not empty.
type execute = func(w *warp, in *instr, lanes uint32)

// An instr is a decoded instruction.
type instr struct {
	op      string
	run     execute
	control control
	guard   int32 // predicate; -1: always
	negate  bool
	d, s    []int32 // registers of destinations and sources, in the bank that the form says
	uses    []register
	defs    []register
	offset  int64 // of an address
	size    int   // bytes of an element of memory
	extra   int   // what a form needs besides
	target  int32 // of a branch
	source  ptx.Source
	counts  Counts
}

// A program is a kernel made ready to run.
type program struct {
	*ptx.Kernel
	code      []instr
	size      [3]int // registers of each bank
	named     map[string]register
	constants [2]map[uint64]int32 // registers that hold constants, of words and longs
	arrays    map[string]int      // addresses of shared arrays
	params    map[string]ptx.Variable
}

// sharedBase is the address of shared memory: not zero, so that a null pointer
// is a fault.
const sharedBase = 0x400

// special registers hold the same value during a block.
var special = []string{"%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid", "%warpid"}

// compile decodes a kernel. An instruction that the simulator does not know is
// an error that names it.
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
	return p, nil
}

func (p *program) fresh(b bank) register {
	r := register{b, int32(p.size[b])}
	p.size[b]++
	return r
}

// operand returns the register of an operand, which must be of a bank.
func (p *program) operand(o ptx.Operand, b bank) (register, error) {
	switch o.Kind {
	case ptx.Register:
		r, ok := p.named[o.Name]
		if !ok {
			return r, fmt.Errorf("register %s is not declared", o.Name)
		}
		if r.bank != b {
			return r, fmt.Errorf("register %s is of another size", o.Name)
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
	return register{}, fmt.Errorf("operand %s", o)
}

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

// reads adds a source.
func (p *program) reads(in *instr, o ptx.Operand, b bank) error {
	r, err := p.operand(o, b)
	in.s = append(in.s, r.index)
	in.uses = append(in.uses, r)
	return err
}

// sets adds a destination.
func (p *program) sets(in *instr, o ptx.Operand, b bank) error {
	if o.Kind != ptx.Register && o.Kind != ptx.Sink {
		return fmt.Errorf("destination %s is no register", o)
	}
	r, err := p.operand(o, b)
	in.d = append(in.d, r.index)
	in.defs = append(in.defs, r)
	return err
}

// address adds the base of an address and notes its offset. Addresses of shared
// memory may be words.
func (p *program) address(in *instr, o ptx.Operand) error {
	if o.Kind != ptx.Address {
		return fmt.Errorf("operand %s is no address", o)
	}
	in.offset = o.Offset
	if at, ok := p.arrays[o.Name]; ok {
		r := p.constant(uint64(at), longs)
		in.s, in.uses = append(in.s, r.index), append(in.uses, r)
		return nil
	}
	r, ok := p.named[o.Name]
	if !ok || r.bank == predicates {
		return fmt.Errorf("address %s", o)
	}
	in.s, in.uses = append(in.s, r.index), append(in.uses, r)
	if r.bank == words {
		in.extra |= wordAddress
	}
	return nil
}

// wordAddress marks instructions whose address lies in a 32-bit register.
const wordAddress = 1 << 16

// elements returns the operands of a vector, or the one operand.
func elements(o ptx.Operand) []ptx.Operand {
	if o.Kind == ptx.Vector {
		return o.Elements
	}
	return []ptx.Operand{o}
}

// decode finds the form of an instruction and its registers.
func (p *program) decode(in *instr, from *ptx.Instruction) error {
	*in = instr{op: from.Op, guard: -1, source: from.Source}
	if from.Guard != "" {
		r, ok := p.named[from.Guard]
		if !ok || r.bank != predicates {
			return fmt.Errorf("guard %s", from.Guard)
		}
		in.guard, in.negate = r.index, from.Negate
	}
	packs := slices.ContainsFunc(from.Args, func(o ptx.Operand) bool { return o.Kind == ptx.Vector })
	if f, ok := forms[from.Op]; ok && !packs {
		return p.simple(in, f, from.Args)
	}
	name, _, _ := strings.Cut(from.Op, ".")
	decode, ok := decoders[name]
	if !ok {
		return fmt.Errorf("the simulator does not know %s", from.Op)
	}
	return decode(p, in, from)
}

// simple decodes a form with a fixed list of registers.
func (p *program) simple(in *instr, f form, args []ptx.Operand) error {
	in.run = f.run
	if len(args) != len(f.registers) {
		return fmt.Errorf("%d operands, want %d", len(args), len(f.registers))
	}
	for i, letter := range f.registers {
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
