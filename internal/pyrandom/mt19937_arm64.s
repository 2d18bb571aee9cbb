#include "textflag.h"

// func twistBlocks(words *uint64, distance, n int)
TEXT ·twistBlocks(SB), NOSPLIT, $0-24
	MOVD words+0(FP), R0
	MOVD distance+8(FP), R1
	MOVD n+16(FP), R2
	ADD R1<<2, R0, R3 // the words mixed in
	ADD $4, R0, R4    // the words i+1
	MOVD $0x80000000, R5 // upperMask
	VDUP R5, V16.S4
	MOVD $1, R5
	VDUP R5, V17.S4
	MOVD $0x9908b0df, R5 // matrixA
	VDUP R5, V18.S4
	CBZ R2, twisted

twist:
	VLD1 (R0), [V0.B16, V1.B16]
	VLD1.P 32(R4), [V2.B16, V3.B16]
	VLD1.P 32(R3), [V4.B16, V5.B16]
	VCMTST V17.S4, V2.S4, V6.S4 // all ones if word i+1 is odd
	VCMTST V17.S4, V3.S4, V7.S4
	VBIT V16.B16, V0.B16, V2.B16
	VBIT V16.B16, V1.B16, V3.B16
	VUSHR $1, V2.S4, V2.S4
	VUSHR $1, V3.S4, V3.S4
	VAND V18.B16, V6.B16, V6.B16
	VAND V18.B16, V7.B16, V7.B16
	VEOR V4.B16, V2.B16, V2.B16
	VEOR V5.B16, V3.B16, V3.B16
	VEOR V6.B16, V2.B16, V2.B16
	VEOR V7.B16, V3.B16, V3.B16
	VST1.P [V2.B16, V3.B16], 32(R0)
	SUBS $1, R2, R2
	BNE twist

twisted:
	RET

// TEMPER makes the outputs of the four words in x; t is lost.
#define TEMPER(x, t) \
	VUSHR $11, x.S4, t.S4 \
	VEOR t.B16, x.B16, x.B16 \
	VSHL $7, x.S4, t.S4 \
	VAND V16.B16, t.B16, t.B16 \
	VEOR t.B16, x.B16, x.B16 \
	VSHL $15, x.S4, t.S4 \
	VAND V17.B16, t.B16, t.B16 \
	VEOR t.B16, x.B16, x.B16 \
	VUSHR $18, x.S4, t.S4 \
	VEOR t.B16, x.B16, x.B16

// func temperBlocks(out *uint32, words *uint64, n int)
TEXT ·temperBlocks(SB), NOSPLIT, $0-24
	MOVD out+0(FP), R0
	MOVD words+8(FP), R1
	MOVD n+16(FP), R2
	MOVD $0x9d2c5680, R5
	VDUP R5, V16.S4
	MOVD $0xefc60000, R5
	VDUP R5, V17.S4
	CBZ R2, tempered

temper:
	VLD1.P 32(R1), [V0.B16, V1.B16]
	TEMPER(V0, V2)
	TEMPER(V1, V3)
	VST1.P [V0.B16, V1.B16], 32(R0)
	SUBS $1, R2, R2
	BNE temper

tempered:
	RET
