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
