#include "textflag.h"

// A byte belongs to the groups whose bits the entries for its low and its high
// half have in common. Where halves of one group could be mixed, the bytes that
// come of it (0x02, 0xCA in group 0) are rare, and harmless: whoever asks looks
// at the byte.
//
//	bit 0  \n 0xC2    bit 1  & '      bit 2  <    bit 3  =
//	bit 4  [ ]        bit 5  _        bit 6  { }  bit 7  |

// by the low half
DATA low<>+0(SB)/8, $0x0202000000010000
DATA low<>+8(SB)/8, $0x2000588450010000
GLOBL low<>(SB), RODATA|NOPTR, $16

// by the high half
DATA high<>+0(SB)/8, $0xC00030000C020001
DATA high<>+8(SB)/8, $0x0000000100000000
GLOBL high<>(SB), RODATA|NOPTR, $16

DATA half<>+0(SB)/1, $0x0F
GLOBL half<>(SB), RODATA|NOPTR, $1

DATA brackets<>+0(SB)/1, $0x54 // bits 2, 4 and 6
GLOBL brackets<>(SB), RODATA|NOPTR, $1

// GROUPS turns the bytes in b into their groups; t is lost.
#define GROUPS(b, t) \
	VPAND Y6, b, t \
	VPSHUFB t, Y4, t \
	VPSRLW $4, b, b \
	VPAND Y6, b, b \
	VPSHUFB b, Y5, b \
	VPAND b, t, b

// MARKS leaves in r, 64 bits, which bytes of a and b are not zero; s is lost.
#define MARKS(a, b, r, s) \
	VPCMPEQB Y7, a, a \
	VPCMPEQB Y7, b, b \
	VPMOVMSKB a, r \
	VPMOVMSKB b, s \
	SHLQ $32, s \
	ORQ s, r \
	NOTQ r

// func markBlocks(p *byte, blocks int, words *mark64)
TEXT ·markBlocks(SB), NOSPLIT, $0-24
	MOVQ p+0(FP), SI
	MOVQ blocks+8(FP), CX
	MOVQ words+16(FP), DI
	VBROADCASTI128 low<>(SB), Y4
	VBROADCASTI128 high<>(SB), Y5
	VPBROADCASTB half<>(SB), Y6
	VPXOR Y7, Y7, Y7
	VPBROADCASTB brackets<>(SB), Y8

block:
	TESTQ CX, CX
	JZ done
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	GROUPS(Y0, Y2)
	GROUPS(Y1, Y2)
	VPAND Y8, Y0, Y2
	VPAND Y8, Y1, Y3
	MARKS(Y0, Y1, AX, BX)
	MARKS(Y2, Y3, DX, R8)
	MOVQ AX, (DI)
	MOVQ DX, 8(DI)
	ADDQ $64, SI
	ADDQ $16, DI
	DECQ CX
	JMP block

done:
	VZEROUPPER
	RET
