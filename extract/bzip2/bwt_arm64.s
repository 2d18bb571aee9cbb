#include "go_asm.h"
#include "textflag.h"

// The numbers 0 to 7 in the upper 24 bits of words.
DATA rows<>+0(SB)/8, $0x0000010000000000
DATA rows<>+8(SB)/8, $0x0000030000000200
DATA rows<>+16(SB)/8, $0x0000050000000400
DATA rows<>+24(SB)/8, $0x0000070000000600
GLOBL rows<>(SB), RODATA|NOPTR, $32

// func linkParts8(t *table, parts *byte, n int, next, end *[256]uint32)
//
// Eight entries are written at a time, also for shorter parts: what is written too much
// is written again by later parts of the same byte. Where the byte has no eight entries
// left, they are written one by one. R5 is the row of the next entry, as in the table.
TEXT ·linkParts8(SB), NOSPLIT, $0-40
	MOVD t+0(FP), R0
	MOVD parts+8(FP), R1
	MOVD n+16(FP), R2
	MOVD next+24(FP), R3
	MOVD end+32(FP), R4
	ADD R2<<1, R1, R2
	MOVD ZR, R5
	MOVD $rows<>(SB), R6
	VLD1 (R6), [V16.S4, V17.S4]
	B check

part:
	MOVHU.P 2(R1), R7
	AND $0xff, R7, R8  // the byte
	LSR $8, R7, R7     // the length
	MOVWU (R3)(R8<<2), R9
	MOVWU (R4)(R8<<2), R10
	ADD R9<<2, R0, R11
	SUB R9, R10, R10   // entries left
	ADD R7, R9, R9
	MOVW R9, (R3)(R8<<2)
	ORR R5, R8, R8
	ADD R7<<8, R5, R5

eight:
	VDUP R8, V0.S4
	CMPW $8, R10
	BLO single
	VADD V16.S4, V0.S4, V1.S4
	VADD V17.S4, V0.S4, V2.S4
	VST1 [V1.S4, V2.S4], (R11)
	SUBSW $8, R7, R7
	BGT long

check:
	CMP R2, R1
	BLO part
	RET

long:
	ADD $(8<<8), R8
	ADD $32, R11
	SUB $8, R10
	B eight

single:
	CBZW R7, check
	MOVW.P R8, 4(R11)
	ADD $(1<<8), R8
	SUB $1, R7
	B single
