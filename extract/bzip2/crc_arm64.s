#include "textflag.h"

// TURN makes a polynomial of the 16 bytes in x, the first bit of the data in the highest,
// or the reverse.
#define TURN(x) \
	VREV64 x.B16, x.B16 \
	VEXT $8, x.B16, x.B16, x.B16

// FOLD multiplies x by the power of the factors in k, and adds next; t is lost.
#define FOLD(k, next, x, t) \
	VPMULL k.D1, x.D1, t.Q1 \
	VPMULL2 k.D2, x.D2, x.Q1 \
	VEOR next.B16, t.B16, t.B16 \
	VEOR t.B16, x.B16, x.B16

// func foldCRC(crc uint32, p *byte, blocks int, factors *crcFactors, rest *[16]byte)
//
// V0 to V3 are polynomials that, side by side, leave the same remainder as the
// data so far.
TEXT ·foldCRC(SB), NOSPLIT, $0-40
	MOVWU crc+0(FP), R0
	MOVD p+8(FP), R1
	MOVD blocks+16(FP), R2
	MOVD factors+24(FP), R3
	MOVD rest+32(FP), R4
	VLD1 (R3), [V16.B16, V17.B16] // for 64 bytes and for 16 bytes
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	TURN(V0)
	TURN(V1)
	TURN(V2)
	TURN(V3)
	VEOR V4.B16, V4.B16, V4.B16
	VMOV R0, V4.S[3]
	VEOR V4.B16, V0.B16, V0.B16
	B check

more:
	VLD1.P 64(R1), [V4.B16, V5.B16, V6.B16, V7.B16]
	TURN(V4)
	TURN(V5)
	TURN(V6)
	TURN(V7)
	FOLD(V16, V4, V0, V20)
	FOLD(V16, V5, V1, V21)
	FOLD(V16, V6, V2, V22)
	FOLD(V16, V7, V3, V23)

check:
	SUBS $1, R2, R2
	BNE more
	FOLD(V17, V1, V0, V20)
	FOLD(V17, V2, V0, V20)
	FOLD(V17, V3, V0, V20)
	TURN(V0)
	VST1 [V0.B16], (R4)
	RET
