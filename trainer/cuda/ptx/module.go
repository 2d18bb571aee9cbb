package ptx

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Module is the content of one PTX text: its kernels and the target GPU.
type Module struct {
	Version string // version of PTX, such as "8.1"
	Target  string // oldest GPU architecture that can run the module, such as "sm_80"
	Kernels []*Kernel

	dynamic string // name of the extern array for dynamic shared memory
}

// Kernel returns the kernel with the given name, or nil if there is none.
func (m *Module) Kernel(name string) *Kernel {
	for _, k := range m.Kernels {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// A Kernel is a function that the host can launch (PTX .entry).
type Kernel struct {
	Name        string
	Params      []Variable // parameters, with offsets into the argument bytes of a launch
	ParamBytes  int
	MaxThreads  int // maximum threads of a block, from __launch_bounds__; 0: not stated
	Registers   []Registers
	Shared      []Variable // arrays in static shared memory, with offsets into it
	SharedBytes int        // bytes of static shared memory
	Dynamic     string     // name of the array of dynamic shared memory, which follows the static part; "": none
	Code        []Instruction
	Labels      map[string]int // index in Code of the instruction after each label; len(Code) is the end
}

// A Variable is a parameter or an array in shared memory.
type Variable struct {
	Name         string
	Offset, Size int // bytes
	Align        int
}

// Registers declares Count registers of one type: Prefix "%r" and Count 3 declare
// %r0, %r1 and %r2.
type Registers struct {
	Type   string // pred, b16, b32, f32, b64, f64, …
	Prefix string // name without the number, such as "%r"
	Count  int
}

// A Source is a line of the CUDA source file, as a .loc directive gives it.
type Source struct {
	File string
	Line int
}

// String returns "file:line".
func (s Source) String() string { return fmt.Sprintf("%s:%d", s.File, s.Line) }

// An Instruction is one PTX instruction of a kernel.
type Instruction struct {
	Guard  string // predicate register: threads in which it is false skip the instruction; "": none
	Negate bool   // threads in which the guard is true skip the instruction instead
	Op     string // full opcode, such as "ld.global.v4.u32"
	Args   []Operand
	Line   int    // line of the PTX text
	Source Source // line of the CUDA source; for inlined code, in the innermost function
}

// OperandKind is the kind of an [Operand].
type OperandKind uint8

// The kinds of operands.
const (
	Register  OperandKind = iota // %r1, or a special register such as %tid.x
	Immediate                    // a constant; Value holds its bits: 64 for an integer, 32 or 64 for a float
	Symbol                       // the name of a label, a parameter or an array in shared memory
	Address                      // [Name+Offset]
	Vector                       // {a, b}
	Pair                         // a|b: two destinations, a value and a predicate
	Sink                         // _: a destination whose result is discarded
)

// An Operand is one argument of an instruction.
type Operand struct {
	Kind     OperandKind
	Name     string // name of the register or symbol; for an address, of its base
	Value    uint64
	Float    int       // width of a floating-point immediate, 32 or 64 bits; 0 for integers
	Offset   int64     // of an address, in bytes
	Elements []Operand // elements of a vector or pair
}

// String returns the operand in PTX syntax.
func (o Operand) String() string {
	switch o.Kind {
	case Immediate:
		switch o.Float {
		case 32:
			return fmt.Sprintf("0f%08X", uint32(o.Value))
		case 64:
			return fmt.Sprintf("0d%016X", o.Value)
		}
		return strconv.FormatInt(int64(o.Value), 10)
	case Address:
		if o.Offset == 0 {
			return "[" + o.Name + "]"
		}
		return fmt.Sprintf("[%s+%d]", o.Name, o.Offset)
	case Vector:
		return "{" + join(o.Elements, ", ") + "}"
	case Pair:
		return join(o.Elements, "|")
	case Sink:
		return "_"
	}
	return o.Name
}

func join(list []Operand, between string) string {
	s := make([]string, len(list))
	for i, o := range list {
		s[i] = o.String()
	}
	return strings.Join(s, between)
}

// String returns the instruction in PTX syntax.
func (in Instruction) String() string {
	var s strings.Builder
	if in.Guard != "" {
		s.WriteByte('@')
		if in.Negate {
			s.WriteByte('!')
		}
		s.WriteString(in.Guard + " ")
	}
	s.WriteString(in.Op)
	if len(in.Args) > 0 {
		s.WriteString(" " + join(in.Args, ", "))
	}
	s.WriteByte(';')
	return s.String()
}

// String returns the module in PTX syntax.
func (m *Module) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, ".version %s\n.target %s\n.address_size 64\n", m.Version, m.Target)
	if m.dynamic != "" {
		fmt.Fprintf(&s, ".extern .shared .align 16 .b8 %s[];\n", m.dynamic)
	}
	files := map[string]int{}
	for _, k := range m.Kernels {
		k.write(&s, files)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&s, ".file %d \"%s\"\n", files[name], name)
	}
	return s.String()
}

// write appends the kernel in PTX syntax to s. files holds the numbers of the
// source files; write adds those that the kernel names first.
func (k *Kernel) write(s *strings.Builder, files map[string]int) {
	fmt.Fprintf(s, ".visible .entry %s(", k.Name)
	for i, p := range k.Params {
		if i > 0 {
			s.WriteByte(',')
		}
		fmt.Fprintf(s, "\n.param .align %d .b8 %s[%d]", p.Align, p.Name, p.Size)
	}
	s.WriteString("\n)\n")
	if k.MaxThreads > 0 {
		fmt.Fprintf(s, ".maxntid %d, 1, 1\n", k.MaxThreads)
	}
	s.WriteString("{\n")
	for _, r := range k.Registers {
		fmt.Fprintf(s, ".reg .%s %s<%d>;\n", r.Type, r.Prefix, r.Count)
	}
	for _, v := range k.Shared {
		fmt.Fprintf(s, ".shared .align %d .b8 %s[%d];\n", v.Align, v.Name, v.Size)
	}
	at := make([][]string, len(k.Code)+1)
	for l, i := range k.Labels {
		at[i] = append(at[i], l)
	}
	var source Source
	for i := range at {
		for _, l := range at[i] {
			s.WriteString(l + ":\n")
		}
		if i == len(k.Code) {
			break
		}
		if now := k.Code[i].Source; now != source {
			source = now
			if files[now.File] == 0 {
				files[now.File] = len(files) + 1
			}
			fmt.Fprintf(s, ".loc %d %d 0\n", files[now.File], now.Line)
		}
		s.WriteString(k.Code[i].String() + "\n")
	}
	s.WriteString("}\n")
}
