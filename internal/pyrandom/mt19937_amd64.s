#include "textflag.h"

// The constants of mt19937.go, one word each.
DATA upper<>+0(SB)/4, $0x80000000
GLOBL upper<>(SB), RODATA|NOPTR, $4

DATA lower<>+0(SB)/4, $0x7fffffff
GLOBL lower<>(SB), RODATA|NOPTR, $4

DATA matrix<>+0(SB)/4, $0x9908b0df
GLOBL matrix<>(SB), RODATA|NOPTR, $4

DATA temperB<>+0(SB)/4, $0x9d2c5680
GLOBL temperB<>(SB), RODATA|NOPTR, $4

DATA temperC<>+0(SB)/4, $0xefc60000
GLOBL temperC<>(SB), RODATA|NOPTR, $4

// func twistBlocks(words *uint64, distance, n int)
TEXT ·twistBlocks(SB), NOSPLIT, $0-24
	MOVQ words+0(FP), SI
	MOVQ distance+8(FP), BX
	MOVQ n+16(FP), CX
	LEAQ (SI)(BX*4), DI // the words mixed in
	VPBROADCASTD upper<>(SB), Y0
	VPBROADCASTD lower<>(SB), Y1
	VPBROADCASTD matrix<>(SB), Y2

twist:
	TESTQ CX, CX
	JZ twisted
	VMOVDQU 4(SI), Y5   // words i+1
	VPAND (SI), Y0, Y4
	VPAND Y1, Y5, Y6
	VPOR Y6, Y4, Y4
	VPSRLD $1, Y4, Y4
	VPSLLD $31, Y5, Y5
	VPSRAD $31, Y5, Y5  // all ones if word i+1 is odd
	VPAND Y2, Y5, Y5
	VPXOR Y5, Y4, Y4
	VPXOR (DI), Y4, Y4
	VMOVDQU Y4, (SI)
	ADDQ $32, SI
	ADDQ $32, DI
	DECQ CX
	JMP twist

twisted:
	VZEROUPPER
	RET

// func temperBlocks(out *uint32, words *uint64, n int)
TEXT ·temperBlocks(SB), NOSPLIT, $0-24
	MOVQ out+0(FP), DI
	MOVQ words+8(FP), SI
	MOVQ n+16(FP), CX
	VPBROADCASTD temperB<>(SB), Y0
	VPBROADCASTD temperC<>(SB), Y1

temper:
	TESTQ CX, CX
	JZ tempered
	VMOVDQU (SI), Y4
	VPSRLD $11, Y4, Y5
	VPXOR Y5, Y4, Y4
	VPSLLD $7, Y4, Y5
	VPAND Y0, Y5, Y5
	VPXOR Y5, Y4, Y4
	VPSLLD $15, Y4, Y5
	VPAND Y1, Y5, Y5
	VPXOR Y5, Y4, Y4
	VPSRLD $18, Y4, Y5
	VPXOR Y5, Y4, Y4
	VMOVDQU Y4, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	DECQ CX
	JMP temper

tempered:
	VZEROUPPER
	RET
