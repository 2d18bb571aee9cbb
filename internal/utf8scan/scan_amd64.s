#include "textflag.h"

// The tables and the method are those of J. Keiser and D. Lemire, "Validating
// UTF-8 in less than one instruction per byte" (2020), figure 2 ff. A bit of an
// entry is a kind of error that a pair of bytes may be part of:
//
//	0 too short, 1 too long, 2 overlong of three, 3 too large, 4 surrogate,
//	5 overlong of two, 6 overlong of four or too large by its first byte,
//	7 two continuations
//
// A pair is wrong in the way of the bits that all three tables have: by the
// high and the low half of its first byte, and the high half of its second.

// by the high half of the first byte
DATA firstHigh<>+0(SB)/8, $0x0202020202020202
DATA firstHigh<>+8(SB)/8, $0x4915012180808080
GLOBL firstHigh<>(SB), RODATA|NOPTR, $16

// by the low half of the first byte
DATA firstLow<>+0(SB)/8, $0xCBCBCB8B8383A3E7
DATA firstLow<>+8(SB)/8, $0xCBCBDBCBCBCBCBCB
GLOBL firstLow<>(SB), RODATA|NOPTR, $16

// by the high half of the second byte
DATA secondHigh<>+0(SB)/8, $0x0101010101010101
DATA secondHigh<>+8(SB)/8, $0x01010101BABAAEE6
GLOBL secondHigh<>(SB), RODATA|NOPTR, $16

DATA half<>+0(SB)/1, $0x0F
GLOBL half<>(SB), RODATA|NOPTR, $1

// what takes a first byte of three and of four bytes above 0x7F, lesser ones below
DATA third<>+0(SB)/1, $0x60
GLOBL third<>(SB), RODATA|NOPTR, $1

DATA fourth<>+0(SB)/1, $0x70
GLOBL fourth<>(SB), RODATA|NOPTR, $1

DATA high<>+0(SB)/1, $0x80
GLOBL high<>(SB), RODATA|NOPTR, $1

// func validBlocks(p *byte, n int) bool
//
// Y0 block, Y1 block before, Y2 errors, Y3 0x0F, Y4 to Y6 tables, Y7 0x60,
// Y8 0x70, Y9 0x80.
TEXT ·validBlocks(SB), NOSPLIT, $0-17
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTI128 firstHigh<>(SB), Y4
	VBROADCASTI128 firstLow<>(SB), Y5
	VBROADCASTI128 secondHigh<>(SB), Y6
	VPBROADCASTB half<>(SB), Y3
	VPBROADCASTB third<>(SB), Y7
	VPBROADCASTB fourth<>(SB), Y8
	VPBROADCASTB high<>(SB), Y9
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	XORQ AX, AX // a character may be open at the end of the block before

block:
	CMPQ CX, $32
	JL done
	VMOVDQU (SI), Y0
	ADDQ $32, SI
	SUBQ $32, CX
	VPMOVMSKB Y0, BX
	ORL BX, AX
	JZ block // ASCII after ASCII
	MOVL BX, AX

	VPERM2I128 $0x21, Y0, Y1, Y10 // high half of the block before, low half of this
	VPALIGNR $15, Y10, Y0, Y11    // each byte's predecessor
	VPSRLW $4, Y11, Y12
	VPAND Y3, Y12, Y12
	VPSHUFB Y12, Y4, Y12
	VPAND Y3, Y11, Y11
	VPSHUFB Y11, Y5, Y11
	VPAND Y11, Y12, Y12
	VPSRLW $4, Y0, Y11
	VPAND Y3, Y11, Y11
	VPSHUFB Y11, Y6, Y11
	VPAND Y11, Y12, Y12 // bit 7: two continuations, right in the third and fourth bytes only

	VPALIGNR $14, Y10, Y0, Y11
	VPSUBUSB Y7, Y11, Y11
	VPALIGNR $13, Y10, Y0, Y13
	VPSUBUSB Y8, Y13, Y13
	VPOR Y11, Y13, Y11
	VPAND Y9, Y11, Y11
	VPXOR Y11, Y12, Y12
	VPOR Y12, Y2, Y2
	VMOVDQA Y0, Y1
	JMP block

done:
	VPTEST Y2, Y2
	SETEQ ret+16(FP)
	VZEROUPPER
	RET
