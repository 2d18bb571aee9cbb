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

// The bit of each of eight bytes, twice.
DATA bits<>+0(SB)/8, $0x8040201008040201
DATA bits<>+8(SB)/8, $0x8040201008040201
GLOBL bits<>(SB), RODATA|NOPTR, $16

// GROUPS leaves in a and b, for each byte of a, the bit of its place if it belongs to any
// group, and to one of brackets; t is lost.
#define GROUPS(a, b, t) \
	VAND V18.B16, a.B16, t.B16 \
	VUSHR $4, a.B16, a.B16 \
	VTBL t.B16, [V16.B16], t.B16 \
	VTBL a.B16, [V17.B16], a.B16 \
	VAND t.B16, a.B16, t.B16 \
	VCMTST t.B16, t.B16, a.B16 \
	VCMTST V19.B16, t.B16, b.B16 \
	VAND V20.B16, a.B16, a.B16 \
	VAND V20.B16, b.B16, b.B16

// func markBlocks(p *byte, blocks int, words *mark64)
TEXT ·markBlocks(SB), NOSPLIT, $0-24
	MOVD p+0(FP), R0
	MOVD blocks+8(FP), R1
	MOVD words+16(FP), R2
	MOVD $low<>(SB), R3
	VLD1 (R3), [V16.B16]
	MOVD $high<>(SB), R3
	VLD1 (R3), [V17.B16]
	VMOVI $0x0F, V18.B16
	VMOVI $0x54, V19.B16 // bits 2, 4 and 6: brackets
	MOVD $bits<>(SB), R3
	VLD1 (R3), [V20.B16]
	CBZ R1, done

block:
	VLD1.P 64(R0), [V0.B16, V1.B16, V2.B16, V3.B16]
	GROUPS(V0, V4, V8)
	GROUPS(V1, V5, V9)
	GROUPS(V2, V6, V10)
	GROUPS(V3, V7, V11)
	VADDP V1.B16, V0.B16, V0.B16
	VADDP V3.B16, V2.B16, V2.B16
	VADDP V5.B16, V4.B16, V4.B16
	VADDP V7.B16, V6.B16, V6.B16
	VADDP V2.B16, V0.B16, V0.B16
	VADDP V6.B16, V4.B16, V4.B16
	VADDP V4.B16, V0.B16, V0.B16
	VST1.P [V0.B16], 16(R2)
	SUBS $1, R1, R1
	BNE block

done:
	RET
