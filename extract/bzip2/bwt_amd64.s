#include "go_asm.h"
#include "textflag.h"

// The numbers 0 to 15 in the upper 24 bits of words.
DATA rows<>+0(SB)/8, $0x0000010000000000
DATA rows<>+8(SB)/8, $0x0000030000000200
DATA rows<>+16(SB)/8, $0x0000050000000400
DATA rows<>+24(SB)/8, $0x0000070000000600
DATA rows<>+32(SB)/8, $0x0000090000000800
DATA rows<>+40(SB)/8, $0x00000B0000000A00
DATA rows<>+48(SB)/8, $0x00000D0000000C00
DATA rows<>+56(SB)/8, $0x00000F0000000E00
GLOBL rows<>(SB), RODATA|NOPTR, $64

// func linkParts16(t *table, parts *byte, n int, next *[256]uint32)
//
// R9 is the row and the byte of the next entry, as in the table.
TEXT ·linkParts16(SB), NOSPLIT, $0-32
	MOVQ t+0(FP), DI
	MOVQ parts+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ next+24(FP), R8
	LEAQ (SI)(CX*2), CX
	XORL R9, R9
	MOVL $0xFFFF, R13
	VMOVDQU64 rows<>(SB), Z1
	JMP check

part:
	MOVBLZX (SI), AX
	MOVBLZX 1(SI), BX
	ADDQ $2, SI
	MOVL (R8)(AX*4), DX
	LEAQ (DI)(DX*4), R10
	ADDL BX, DX
	MOVL DX, (R8)(AX*4)
	ORL R9, AX
	VPBROADCASTD AX, Z0
	VPADDD Z1, Z0, Z0
	BZHIL BX, R13, R11
	KMOVW R11, K1
	VMOVDQU32 Z0, K1, (R10)
	MOVL BX, R11
	SHLL $8, R11
	ADDL R11, R9
	SUBL $16, BX
	JA long

check:
	CMPQ SI, CX
	JB part
	VZEROUPPER
	RET

long:
	// Sixteen more rows at a time.
	ADDL $(16<<8), AX
	ADDQ $64, R10
	VPBROADCASTD AX, Z0
	VPADDD Z1, Z0, Z0
	BZHIL BX, R13, R11
	KMOVW R11, K1
	VMOVDQU32 Z0, K1, (R10)
	SUBL $16, BX
	JA long
	JMP check

// LINK8 writes eight entries at R10: the byte and the row in AX, and the rows after it.
#define LINK8 \
	VMOVD AX, X0 \
	VPBROADCASTD X0, Y0 \
	VPADDD Y1, Y0, Y0 \
	VMOVDQU Y0, (R10)

// func linkParts8(t *table, parts *byte, n int, next, end *[256]uint32)
//
// Eight entries are written at a time, also for shorter parts: what is written too much
// is written again by later parts of the same byte. Where the byte has no eight entries
// left, they are written one by one.
TEXT ·linkParts8(SB), NOSPLIT, $0-40
	MOVQ t+0(FP), DI
	MOVQ parts+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ next+24(FP), R8
	MOVQ end+32(FP), R12
	LEAQ (SI)(CX*2), CX
	XORL R9, R9
	VMOVDQU rows<>(SB), Y1
	JMP check

part:
	MOVBLZX (SI), AX
	MOVBLZX 1(SI), BX
	ADDQ $2, SI
	MOVL (R8)(AX*4), DX
	MOVL (R12)(AX*4), R13
	SUBL DX, R13 // entries left
	LEAQ (DI)(DX*4), R10
	ADDL BX, DX
	MOVL DX, (R8)(AX*4)
	ORL R9, AX
	MOVL BX, R11
	SHLL $8, R11
	ADDL R11, R9

eight:
	CMPL R13, $8
	JB single
	LINK8
	SUBL $8, BX
	JA long

check:
	CMPQ SI, CX
	JB part
	VZEROUPPER
	RET

long:
	ADDL $(8<<8), AX
	ADDQ $32, R10
	SUBL $8, R13
	JMP eight

single:
	TESTL BX, BX
	JZ check
	MOVL AX, (R10)
	ADDL $(1<<8), AX
	ADDQ $4, R10
	DECL BX
	JMP single
