//go:build ignore

// The functions of gen.go for NEON, with V registers of 4 floats. A function that works on
// elements is generated from the instructions of AVX2, each of which is translated. Go's
// assembler lacks most instructions on vectors of floats, so they are written as words.

package main

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// A neon is a function that is being translated. A register of AVX2 is in a V register that
// may change, so that a result need not be copied; constants stay in registers of their own,
// from V31 down, and are loaded at the start.
type neon struct {
	lines     []string
	begin     int         // line before which constants are loaded
	place     map[int]int // V register of each register of AVX2
	constants map[int]int // V register of each constant
	order     []int       // constants in the order of their registers
}

func newNeon() *neon { return &neon{place: map[int]int{}, constants: map[int]int{}} }

// general has the general registers that stand for those of amd64. R16 to R18 and R27 to R30
// have other uses.
var general = map[string]string{
	"SI": "R1", "DI": "R2", "CX": "R3", "DX": "R4", "AX": "R5",
	"R8": "R8", "R9": "R9", "R10": "R10", "R11": "R11",
}

// Instructions on four floats: operands are added to these words. Those with two operands
// round, convert and take roots.
var (
	neonThree = map[string]uint32{
		"VADDPS": 0x4e20d400, "VSUBPS": 0x4ea0d400, "VMULPS": 0x6e20dc00, "VDIVPS": 0x6e20fc00, "VMAXPS": 0x4e20f400, "VMINPS": 0x4ea0f400,
		"VPADDD": 0x4ea08400, "VANDPS": 0x4e201c00, "VXORPS": 0x6e201c00,
	}
	neonTwo = map[string]uint32{"VSQRTPS": 0x6ea1f800, "VROUNDPS": 0x4e218800, "VCVTPS2DQ": 0x4e21a800, "VPSLLD": 0x4f375400}
)

const (
	neonFMLA   = 0x4e20cc00 // d += n·m
	neonFMLS   = 0x4ea0cc00 // d −= n·m
	neonBIC    = 0x4e601c00 // n without the bits of m
	neonMOV    = 0x4ea01c00
	neonByLane = 0x4f801000 // d += n·(a lane of m)
	neonWiden  = 0x0e617800 // the two lower floats of n as doubles
	neonWiden2 = 0x4e617800 // the two upper floats
	neonFMLA2D = 0x4e60cc00 // of doubles
	neonFADD2D = 0x4e60d400
	neonTRN1   = 0x4e802800 // even lanes of n and m in turns; +1<<22: of 64 bits
	neonTRN2   = 0x4e806800 // odd lanes
)

func (n *neon) line(format string, args ...any) {
	n.lines = append(n.lines, fmt.Sprintf("\t"+format, args...))
}

// word writes an instruction on the registers m, n and d. comment names it.
func (n *neon) word(comment string, code uint32, rm, rn, rd int) {
	n.line("WORD $%#x // %s V%d, V%d, V%d", code|uint32(rm)<<16|uint32(rn)<<5|uint32(rd), comment, rm, rn, rd)
}

// free returns a V register that holds nothing.
func (n *neon) free(besides ...int) int {
	used := map[int]bool{}
	for _, r := range n.place {
		used[r] = true
	}
	for _, r := range besides {
		used[r] = true
	}
	for r := range 9 {
		if !used[r] {
			return r
		}
	}
	panic("no register is free")
}

// constant makes register dst of AVX2 that of a constant.
func (n *neon) constant(c, dst int) {
	if _, known := n.constants[c]; !known {
		n.constants[c] = 31 - len(n.order)
		n.order = append(n.order, c)
	}
	n.place[dst] = n.constants[c]
}

// target returns the V register in which an instruction leaves register dst of AVX2.
func (n *neon) target(dst int, besides ...int) int {
	r, known := n.place[dst]
	if !known || r > 31-len(n.order) { // a constant stays what it is
		r = n.free(besides...)
		n.place[dst] = r
	}
	return r
}

func number(register string) int {
	i, err := strconv.Atoi(register[1:])
	if err != nil {
		panic(err)
	}
	return i
}

// address returns an operand in memory as arm64 writes it, and whether it is one.
func address(operand string) (string, bool) {
	offset, base, memory := strings.Cut(strings.TrimSuffix(operand, ")"), "(")
	return offset + "(" + general[base] + ")", memory
}

// source returns the V register of an operand, which is first loaded if it is in memory.
func (n *neon) source(operand string) int {
	if from, memory := address(operand); memory {
		r := n.free()
		n.line("FMOVQ %s, F%d", from, r)
		return r
	}
	r, known := n.place[number(operand)]
	if !known {
		panic(operand + " is read and was never written")
	}
	return r
}

// translate writes what one instruction of AVX2 does.
func (n *neon) translate(text string) {
	name, rest, _ := strings.Cut(text, " ")
	operands := strings.Split(rest, ", ")
	last := operands[len(operands)-1]
	switch name {
	case "VZEROUPPER":
		return
	case "RET":
		n.line("RET")
		return
	case "MOVQ", "MOVBLZX":
		n.line("%s %s, %s", map[string]string{"MOVQ": "MOVD", "MOVBLZX": "MOVBU"}[name], operands[0], general[last])
		n.begin = len(n.lines)
		return
	case "ADDQ":
		n.line("ADD %s, %s", operands[0], general[last])
		return
	case "VBROADCASTSS":
		from, _ := address(operands[0])
		n.line("VLD1R %s, [V%d.S4]", from, n.target(number(last)))
		return
	case "VMOVUPS":
		if to, memory := address(last); memory {
			n.line("FMOVQ F%d, %s", n.source(operands[0]), to)
		} else {
			from, _ := address(operands[0])
			n.line("FMOVQ %s, F%d", from, n.target(number(last)))
		}
		return
	}
	n.compute(name, operands, number(last))
}

// compute translates instructions that compute register dst of AVX2.
func (n *neon) compute(name string, operands []string, dst int) {
	if code, ok := neonTwo[name]; ok {
		from := n.source(operands[len(operands)-2])
		n.word(name, code, 0, from, n.target(dst, from))
		return
	}
	if name == "VMOVAPS" {
		from := n.source(operands[0])
		n.word(name, neonMOV, from, from, n.target(dst, from))
		return
	}
	m, y := n.source(operands[0]), n.source(operands[1])
	if code, ok := neonThree[name]; ok {
		n.word(name, code, m, y, n.target(dst, m, y))
		return
	}
	switch name {
	case "VANDNPS":
		n.word(name, neonBIC, y, m, n.target(dst, m, y))
	case "VFMADD231PS", "VFNMADD231PS":
		before, to := n.place[dst], n.target(dst, m, y)
		if to != before {
			n.word("VMOV", neonMOV, before, before, to)
		}
		n.word(name, map[string]uint32{"VFMADD231PS": neonFMLA, "VFNMADD231PS": neonFMLS}[name], m, y, to)
	case "VFMADD213PS": // the sum is in another register then
		x, to := n.place[dst], n.free(m, y)
		n.word("VMOV", neonMOV, m, m, to)
		n.word(name, neonFMLA, x, y, to)
		n.place[dst] = to
	default:
		panic("no translation of " + name)
	}
}

// inLoop writes the body of a loop. Registers that were written before it must stay where
// they are.
func (n *neon) inLoop(body func()) {
	before := maps.Clone(n.place)
	body()
	for r, place := range before {
		if n.place[r] != place {
			panic(fmt.Sprintf("register %d moves in a loop", r))
		}
	}
	n.place = before
}

// finish writes the function with its constants.
func (n *neon) finish(s isa) {
	for i, line := range n.lines {
		if i == n.begin {
			for _, c := range n.order {
				r := n.constants[c]
				fmt.Fprintf(s.out, "\tFMOVS %d(R9), F%d\n\tVDUP V%d.S[0], V%d.S4\n", 4*c, r, r, r)
			}
		}
		fmt.Fprintln(s.out, line)
	}
}

// neonLoop writes a loop that runs body once for each full register; R3 counts floats.
func (s isa) neonLoop(name string, body func(), pointers []string) {
	n := s.neon
	n.line("LSR $2, R3")
	n.line("CBZ R3, %sEnd", name)
	s.label(name)
	n.inLoop(body)
	for _, p := range pointers {
		n.line("ADD $16, %s", general[p])
	}
	n.line("SUBS $1, R3")
	n.line("BNE %s", name)
	s.label(name + "End")
}

// neonBegin writes the start of a function that is not translated.
func (s isa) neonBegin(name, args, registers string) {
	s.load(s.head(name, args, 0), registers)
}

// neonMicro writes micro for tiles of 12×8. Row i of the tile is in V2i and V2i+1.
func (s isa) neonMicro() {
	s.neonBegin("micro", "k int, a, b, c *float32, ldc int, add bool, aStep, bStep int", "CX SI DI DX R8 AX R10 R11")
	n := s.neon
	for _, r := range []string{"R8", "R10", "R11"} {
		n.line("LSL $2, %s", r)
	}
	for i := range 2 * s.rows {
		n.line("VEOR V%d.B16, V%d.B16, V%d.B16", i, i, i)
	}
	steps := func(count int) {
		for range count {
			n.line("VLD1.P (R2)(R11), [V24.S4, V25.S4]")
			n.line("VLD1.P (R1)(R10), [V26.S4, V27.S4, V28.S4]")
			for i := range s.rows {
				lane := uint32(i % 4)
				for j := range 2 {
					n.word(fmt.Sprintf("lane %d:", lane), neonByLane|lane&1<<21|lane>>1<<11, 26+i/4, 24+j, 2*i+j)
				}
			}
		}
	}
	n.line("LSR $2, R3, R12")
	n.line("CBZ R12, rest")
	s.label("quad")
	steps(4)
	n.line("SUBS $1, R12")
	n.line("BNE quad")
	s.label("rest")
	n.line("ANDS $3, R3")
	n.line("BEQ done")
	s.label("one")
	steps(1)
	n.line("SUBS $1, R3")
	n.line("BNE one")
	s.label("done")
	n.line("CBZ R5, store")
	n.line("MOVD R4, R10")
	for i := range s.rows {
		n.line("FLDPQ (R10), (F24, F25)")
		for j := range 2 {
			n.word("VADDPS", neonThree["VADDPS"], 24+j, 2*i+j, 2*i+j)
		}
		n.line("ADD R8, R10")
	}
	s.label("store")
	for i := range s.rows {
		n.line("FSTPQ (F%d, F%d), (R4)", 2*i, 2*i+1)
		n.line("ADD R8, R4")
	}
	s.end()
}

// neonTranspose writes transpose: four columns at a time, as two blocks of 4×4.
func (s isa) neonTranspose() {
	s.neonBegin("transpose", "dst *float32, dstStride int, src *float32, srcStride int, k int", "DI R9 SI R8 CX")
	n, rows := s.neon, []string{"R1", "R10", "R11", "R12", "R13", "R14", "R15", "R19"}
	n.line("LSL $2, R9")
	n.line("LSL $2, R8")
	for i := range 7 {
		n.line("ADD R8, %s, %s", rows[i], rows[i+1])
	}
	n.line("LSR $2, R3")
	n.line("CBZ R3, nextEnd")
	s.label("next")
	for i, row := range rows {
		n.line("FMOVQ.P 16(%s), F%d", row, i)
	}
	for i := 0; i < 8; i += 2 { // pairs of rows, then pairs of pairs
		n.word("VTRN1", neonTRN1, i+1, i, 8+i)
		n.word("VTRN2", neonTRN2, i+1, i, 9+i)
	}
	for i := 0; i < 8; i += 4 {
		for j := range 2 {
			n.word("VTRN1", neonTRN1|1<<22, 10+i+j, 8+i+j, i+j)
			n.word("VTRN2", neonTRN2|1<<22, 10+i+j, 8+i+j, i+j+2)
		}
	}
	for i := range 4 {
		n.line("FSTPQ (F%d, F%d), (R2)", i, 4+i)
		n.line("ADD R9, R2")
	}
	n.line("SUBS $1, R3")
	n.line("BNE next")
	s.label("nextEnd")
	s.end()
}

// neonCopy writes copyEights.
func (s isa) neonCopy() {
	s.neonBegin("copyEights", "dst *float32, dstStride int, src *float32, srcStride int, k int", "DI R9 SI R8 CX")
	n := s.neon
	n.line("LSL $2, R9")
	n.line("LSL $2, R8")
	n.line("CBZ R3, nextEnd")
	s.label("next")
	n.line("FLDPQ (R1), (F0, F1)")
	n.line("FSTPQ (F0, F1), (R2)")
	n.line("ADD R8, R1")
	n.line("ADD R9, R2")
	n.line("SUBS $1, R3")
	n.line("BNE next")
	s.label("nextEnd")
	s.end()
}

// neonSquares writes squares.
func (s isa) neonSquares() {
	s.neonBegin("squares", "x *float32, n int, sums *float64", "SI CX DX")
	n := s.neon
	for i := range 2 {
		n.line("VEOR V%d.B16, V%d.B16, V%d.B16", i, i, i)
	}
	s.loop("next", func() {
		n.line("FMOVQ (R1), F2")
		n.word("VFCVTL", neonWiden, 0, 2, 3)
		n.word("VFCVTL2", neonWiden2, 0, 2, 4)
		n.word("VFMLA", neonFMLA2D, 3, 3, 0)
		n.word("VFMLA", neonFMLA2D, 4, 4, 1)
	}, "SI")
	n.word("VFADD", neonFADD2D, 1, 0, 0)
	n.line("FMOVQ F0, (R4)")
	s.end()
}
