#include "textflag.h"

// A byte is special if the entries for its low and its high half have a bit in
// common: each high half that occurs has a bit of its own, so none is found
// that is not meant (classSpecial in class.go).
//
//	bit 0  \n       bit 1  & '      bit 2  < =
//	bit 3  [ ] _    bit 4  { | }    bit 5  0xC2

// by the low half
DATA low<>+0(SB)/8, $0x0202000000200000
DATA low<>+8(SB)/8, $0x08001C1418010000
GLOBL low<>(SB), RODATA|NOPTR, $16

// by the high half
DATA high<>+0(SB)/8, $0x1000080004020001
DATA high<>+8(SB)/8, $0x0000002000000000
GLOBL high<>(SB), RODATA|NOPTR, $16

DATA half<>+0(SB)/1, $0x0F
GLOBL half<>(SB), RODATA|NOPTR, $1

// func markBlocks(p *byte, blocks int, words *uint64)
TEXT ·markBlocks(SB), NOSPLIT, $0-24
	MOVQ p+0(FP), SI
	MOVQ blocks+8(FP), CX
	MOVQ words+16(FP), DI
	VBROADCASTI128 low<>(SB), Y4
	VBROADCASTI128 high<>(SB), Y5
	VPBROADCASTB half<>(SB), Y6
	VPXOR Y7, Y7, Y7

block:
	TESTQ CX, CX
	JZ done
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VPAND Y6, Y0, Y2
	VPSHUFB Y2, Y4, Y2
	VPSRLW $4, Y0, Y0
	VPAND Y6, Y0, Y0
	VPSHUFB Y0, Y5, Y0
	VPAND Y0, Y2, Y0
	VPCMPEQB Y7, Y0, Y0
	VPMOVMSKB Y0, AX
	VPAND Y6, Y1, Y2
	VPSHUFB Y2, Y4, Y2
	VPSRLW $4, Y1, Y1
	VPAND Y6, Y1, Y1
	VPSHUFB Y1, Y5, Y1
	VPAND Y1, Y2, Y1
	VPCMPEQB Y7, Y1, Y1
	VPMOVMSKB Y1, BX
	SHLQ $32, BX
	ORQ BX, AX
	NOTQ AX
	MOVQ AX, (DI)
	ADDQ $64, SI
	ADDQ $8, DI
	DECQ CX
	JMP block

done:
	VZEROUPPER
	RET
