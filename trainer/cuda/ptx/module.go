package ptx

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Module is a translation unit of PTX.
type Module struct {
	Version string // of PTX, as "8.1"
	Target  string // the oldest architecture it runs on, as "sm_80"
	Kernels []*Kernel

	dynamic string // name of the extern array that stands for dynamic shared memory
}

// Kernel returns the kernel of a name, nil when there is none.
func (m *Module) Kernel(name string) *Kernel {
	for _, k := range m.Kernels {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// A Kernel is an entry point.
type Kernel struct {
	Name        string
	Params      []Variable // offsets into the flat argument bytes of a launch
	ParamBytes  int
	MaxThreads  int // of a block, from __launch_bounds__; 0: not stated
	Registers   []Registers
	Shared      []Variable // offsets into static shared memory
	SharedBytes int        // of static shared memory
	Dynamic     string     // name of dynamic shared memory, which follows the static part; "" without
	Code        []Instruction
	Labels      map[string]int // index into Code; len(Code) is the end
}

// A Variable is a parameter or an array in shared memory.
type Variable struct {
	Name         string
	Offset, Size int // bytes
	Align        int
}

// Registers declares the registers Prefix+"0" to Prefix+(Count-1).
type Registers struct {
	Type   string // pred, b16, b32, f32, b64, f64, …
	Prefix string // with the percent sign
	Count  int
}

// A Source is a line of the CUDA source, from a .loc directive.
type Source struct {
	File string
	Line int
}

// String returns file:line.
func (s Source) String() string { return fmt.Sprintf("%s:%d", s.File, s.Line) }

// An Instruction is one statement of a kernel.
type Instruction struct {
	Guard  string // predicate register, "" without
	Negate bool   // it runs where the guard is false
	Op     string // whole mnemonic, as "ld.global.v4.u32"
	Args   []Operand
	Line   int    // of the PTX
	Source Source // of the innermost inlined function
}

// OperandKind tells operands apart.
type OperandKind uint8

// The kinds of operands.
const (
	Register  OperandKind = iota // %r1, and special registers as %tid.x
	Immediate                    // Value holds the bits: 64 for integers, those of its type for floats
	Symbol                       // a label, a parameter, an array in shared memory
	Address                      // [Name+Offset]
	Vector                       // {a, b}
	Pair                         // a|b: a value and a predicate
	Sink                         // _
)

// An Operand is one argument of an instruction.
type Operand struct {
	Kind     OperandKind
	Name     string // of a register, symbol or address
	Value    uint64
	Float    int       // bits of a floating-point immediate, 32 or 64; 0 for integers
	Offset   int64     // of an address
	Elements []Operand // of a vector or pair
}

// String returns the operand as PTX.
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

// String returns the instruction as PTX.
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

// String returns the module as PTX.
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

// write appends the kernel and numbers the files that it names.
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
