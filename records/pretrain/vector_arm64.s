#include "textflag.h"

// func widenEights(dst []int32, src []uint16)
TEXT ·widenEights(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R2
	MOVD src_base+24(FP), R1
	SUBS $16, R2, R2
	BLT eight

sixteen:
	VLD1.P 32(R1), [V0.H8, V1.H8]
	VUXTL V0.H4, V2.S4
	VUXTL2 V0.H8, V3.S4
	VUXTL V1.H4, V4.S4
	VUXTL2 V1.H8, V5.S4
	VST1.P [V2.S4, V3.S4, V4.S4, V5.S4], 64(R0)
	SUBS $16, R2, R2
	BGE sixteen

eight:
	ADDS $16, R2, R2
	BEQ widened
	VLD1 (R1), [V0.H8]
	VUXTL V0.H4, V2.S4
	VUXTL2 V0.H8, V3.S4
	VST1 [V2.S4, V3.S4], (R0)

widened:
	RET

// What each of eight tokens that is left out adds to the sum of a step: in byte 0, its bit
// in the set, in byte 1, one token more.
DATA sums<>+0(SB)/8, $0x0108010401020101
DATA sums<>+8(SB)/8, $0x0180014001200110
GLOBL sums<>(SB), RODATA|NOPTR, $16

// func putEights(places []uint16, tokens []int32, a, b int32, kept *[256][8]uint16) int
//
// V2 has the index of the first of eight tokens in all lanes.
TEXT ·putEights(SB), NOSPLIT, $0-72
	MOVD places_base+0(FP), R0
	MOVD tokens_base+24(FP), R1
	MOVD tokens_len+32(FP), R2
	MOVW a+48(FP), R3
	VDUP R3, V16.S4
	MOVW b+52(FP), R3
	VDUP R3, V17.S4
	MOVD kept+56(FP), R4
	MOVD $sums<>(SB), R3
	VLD1 (R3), [V18.B16]
	MOVD $8, R3
	VDUP R3, V19.H8
	MOVD $0x8ff, R5 // all eight, less the sum
	VEOR V2.B16, V2.B16, V2.B16
	MOVD R0, R6
	B check

tokens8:
	VLD1.P 32(R1), [V0.S4, V1.S4]
	VCMEQ V16.S4, V0.S4, V3.S4
	VCMEQ V17.S4, V0.S4, V4.S4
	VCMEQ V16.S4, V1.S4, V5.S4
	VCMEQ V17.S4, V1.S4, V6.S4
	VORR V3.B16, V4.B16, V3.B16
	VORR V5.B16, V6.B16, V5.B16
	VUZP1 V5.H8, V3.H8, V3.H8
	VAND V18.B16, V3.B16, V3.B16
	VADDV V3.H8, V3
	VMOV V3.H[0], R3
	SUB R3, R5, R3
	AND $0xff, R3, R7
	ADD R7<<4, R4, R7
	VLD1 (R7), [V4.H8]
	LSR $8, R3, R3
	VADD V4.H8, V2.H8, V4.H8
	VST1 [V4.H8], (R0)
	ADD R3<<1, R0, R0
	VADD V19.H8, V2.H8, V2.H8

check:
	SUBS $8, R2, R2
	BGE tokens8
	SUB R6, R0, R0
	LSR $1, R0, R0
	MOVD R0, ret+64(FP)
	RET

// func fetch(p *byte)
TEXT ·fetch(SB), NOSPLIT, $0-8
	MOVD p+0(FP), R0
	PRFM (R0), PLDL1KEEP
	PRFM 64(R0), PLDL1KEEP
	PRFM 128(R0), PLDL1KEEP
	PRFM 192(R0), PLDL1KEEP
	PRFM 256(R0), PLDL1KEEP
	PRFM 320(R0), PLDL1KEEP
	RET
