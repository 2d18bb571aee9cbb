#include "textflag.h"

// Indexes of 16 tokens, and the distance to the next 16.
DATA indexes<>+0(SB)/8, $0x0003000200010000
DATA indexes<>+8(SB)/8, $0x0007000600050004
DATA indexes<>+16(SB)/8, $0x000b000a00090008
DATA indexes<>+24(SB)/8, $0x000f000e000d000c
DATA indexes<>+32(SB)/4, $0x00100010
GLOBL indexes<>(SB), RODATA|NOPTR, $36

// func putCandidates(places []uint16, tokens []int32, a, b int32) int
TEXT ·putCandidates(SB), NOSPLIT, $0-64
	MOVQ places_base+0(FP), DI
	MOVQ tokens_base+24(FP), SI
	MOVQ tokens_len+32(FP), CX
	MOVL a+48(FP), AX
	VPBROADCASTD AX, Z0
	MOVL b+52(FP), AX
	VPBROADCASTD AX, Z1
	VMOVDQU indexes<>+0(SB), Y2
	VPBROADCASTD indexes<>+32(SB), Y3
	MOVQ DI, DX
	MOVL $0xffff, AX
	KMOVW AX, K1

tokens16:
	TESTQ CX, CX
	JLE found
	CMPQ CX, $16
	JGE all16
	BZHIL CX, AX, AX
	KMOVW AX, K1 // the rest, fewer than 16 tokens

all16:
	VMOVDQU32.Z (SI), K1, Z4
	VPCMPD $4, Z0, Z4, K1, K2
	VPCMPD $4, Z1, Z4, K2, K2
	VPCOMPRESSW.Z Y2, K2, Y5
	VMOVDQU Y5, (DI)
	KMOVW K2, BX
	POPCNTL BX, BX
	LEAQ (DI)(BX*2), DI
	VPADDW Y3, Y2, Y2
	ADDQ $64, SI
	SUBQ $16, CX
	JMP tokens16

found:
	SUBQ DX, DI
	SHRQ $1, DI
	MOVQ DI, ret+56(FP)
	VZEROUPPER
	RET

// func widenVector(dst []int32, src []uint16)
TEXT ·widenVector(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ src_base+24(FP), SI

ids16:
	CMPQ CX, $16
	JLT rest
	VPMOVZXWD (SI), Z0
	VMOVDQU32 Z0, (DI)
	ADDQ $32, SI
	ADDQ $64, DI
	SUBQ $16, CX
	JMP ids16

rest:
	TESTQ CX, CX
	JLE widened
	MOVL $-1, AX
	BZHIL CX, AX, AX
	KMOVW AX, K1
	VMOVDQU16.Z (SI), K1, Y0
	VPMOVZXWD Y0, Z0
	VMOVDQU32 Z0, K1, (DI)

widened:
	VZEROUPPER
	RET

// func widenEights(dst []int32, src []uint16)
TEXT ·widenEights(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ src_base+24(FP), SI
	JMP check

ids8:
	VPMOVZXWD (SI), Y0
	VMOVDQU Y0, (DI)
	ADDQ $16, SI
	ADDQ $32, DI

check:
	SUBQ $8, CX
	JGE ids8
	VZEROUPPER
	RET

DATA eights<>+0(SB)/4, $0x00080008
GLOBL eights<>(SB), RODATA|NOPTR, $4

// func putEights(places []uint16, tokens []int32, a, b int32, kept *[256][8]uint16) int
//
// X2 has the index of the first of eight tokens in all lanes.
TEXT ·putEights(SB), NOSPLIT, $0-72
	MOVQ places_base+0(FP), DI
	MOVQ tokens_base+24(FP), SI
	MOVQ tokens_len+32(FP), CX
	MOVL a+48(FP), AX
	VMOVD AX, X0
	VPBROADCASTD X0, Y0
	MOVL b+52(FP), AX
	VMOVD AX, X1
	VPBROADCASTD X1, Y1
	MOVQ kept+56(FP), R8
	VPBROADCASTD eights<>(SB), X3
	VPXOR X2, X2, X2
	MOVQ DI, DX
	JMP check

tokens8:
	VMOVDQU (SI), Y4
	VPCMPEQD Y4, Y0, Y5
	VPCMPEQD Y4, Y1, Y6
	VPOR Y5, Y6, Y5
	VMOVMSKPS Y5, BX
	XORL $0xff, BX
	POPCNTL BX, R9
	SHLL $4, BX
	VPADDW (R8)(BX*1), X2, X7
	VMOVDQU X7, (DI)
	LEAQ (DI)(R9*2), DI
	VPADDW X3, X2, X2
	ADDQ $32, SI

check:
	SUBQ $8, CX
	JGE tokens8
	SUBQ DX, DI
	SHRQ $1, DI
	MOVQ DI, ret+64(FP)
	VZEROUPPER
	RET

// func fetch(p *byte)
TEXT ·fetch(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), SI
	PREFETCHT0 (SI)
	PREFETCHT0 64(SI)
	PREFETCHT0 128(SI)
	PREFETCHT0 192(SI)
	PREFETCHT0 256(SI)
	PREFETCHT0 320(SI)
	RET
