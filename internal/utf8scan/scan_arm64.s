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

// UMAXV leaves the greatest byte of n in the lowest byte of d, UQSUB subtracts m from n
// and gives 0 where m is greater. The arguments are numbers of registers.
#define UMAXV(n, d) WORD $(0x6e30a800 | (n)<<5 | (d))
#define UQSUB(m, n, d) WORD $(0x6e202c00 | (m)<<16 | (n)<<5 | (d))

// CHECK adds the errors of the 16 bytes in x, which follow those in before, to V2.
#define CHECK(before, x) \
	VEXT $15, x.B16, before.B16, V3.B16 \ // each byte's predecessor
	VUSHR $4, V3.B16, V4.B16 \
	VAND V19.B16, V3.B16, V3.B16 \
	VTBL V4.B16, [V16.B16], V4.B16 \
	VTBL V3.B16, [V17.B16], V3.B16 \
	VUSHR $4, x.B16, V5.B16 \
	VAND V3.B16, V4.B16, V4.B16 \
	VTBL V5.B16, [V18.B16], V5.B16 \
	VAND V5.B16, V4.B16, V4.B16 \ // bit 7: two continuations, right in the third and fourth bytes only
	VEXT $14, x.B16, before.B16, V3.B16 \
	VEXT $13, x.B16, before.B16, V5.B16 \
	UQSUB(20, 3, 3) \
	UQSUB(21, 5, 5) \
	VORR V3.B16, V5.B16, V3.B16 \
	VAND V22.B16, V3.B16, V3.B16 \
	VEOR V3.B16, V4.B16, V4.B16 \
	VORR V4.B16, V2.B16, V2.B16

// func validBlocks(p *byte, n int) bool
//
// V0 and V1 block, V6 the end of the block before, V2 errors.
TEXT ·validBlocks(SB), NOSPLIT, $0-17
	MOVD p+0(FP), R0
	MOVD n+8(FP), R1
	MOVD $firstHigh<>(SB), R2
	VLD1 (R2), [V16.B16]
	MOVD $firstLow<>(SB), R2
	VLD1 (R2), [V17.B16]
	MOVD $secondHigh<>(SB), R2
	VLD1 (R2), [V18.B16]
	VMOVI $0x0F, V19.B16
	VMOVI $0x60, V20.B16 // what takes a first byte of three and of four bytes
	VMOVI $0x70, V21.B16 // above 0x7F, lesser ones below
	VMOVI $0x80, V22.B16
	VEOR V6.B16, V6.B16, V6.B16
	VEOR V2.B16, V2.B16, V2.B16
	MOVD ZR, R2 // a character may be open at the end of the block before

block:
	SUBS $32, R1, R1
	BLT done
	VLD1.P 32(R0), [V0.B16, V1.B16]
	VORR V0.B16, V1.B16, V3.B16
	UMAXV(3, 3)
	VMOV V3.B[0], R3
	ORR R3, R2, R2
	TBZ $7, R2, block // ASCII after ASCII
	MOVD R3, R2
	CHECK(V6, V0)
	CHECK(V0, V1)
	VORR V1.B16, V1.B16, V6.B16
	B block

done:
	UMAXV(2, 2)
	VMOV V2.B[0], R0
	CMP $0, R0
	CSET EQ, R0
	MOVB R0, ret+16(FP)
	RET
