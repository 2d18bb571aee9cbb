#include "textflag.h"

// UMAXV leaves the greatest byte of n in the lowest byte of d. The arguments are numbers
// of registers.
#define UMAXV(n, d) WORD $(0x6e30a800 | (n)<<5 | (d))

// func copyChunks(dst, src *byte, n int) int
//
// A byte of V2 and V3 is set if that byte of src equals each of the three bytes after it.
TEXT ·copyChunks(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	SUB $35, R2, R2
	ADD R1, R2, R2 // the last byte at which a chunk may begin
	ADD $1, R1, R3
	ADD $2, R1, R4
	ADD $3, R1, R5

chunk:
	CMP R2, R1
	BHI done
	VLD1 (R1), [V0.B16, V1.B16]
	VLD1.P 32(R3), [V2.B16, V3.B16]
	VLD1.P 32(R4), [V4.B16, V5.B16]
	VLD1.P 32(R5), [V6.B16, V7.B16]
	VST1.P [V0.B16, V1.B16], 32(R0)
	VCMEQ V0.B16, V2.B16, V2.B16
	VCMEQ V1.B16, V3.B16, V3.B16
	VCMEQ V0.B16, V4.B16, V4.B16
	VCMEQ V1.B16, V5.B16, V5.B16
	VCMEQ V0.B16, V6.B16, V6.B16
	VCMEQ V1.B16, V7.B16, V7.B16
	VAND V2.B16, V4.B16, V2.B16
	VAND V3.B16, V5.B16, V3.B16
	VAND V2.B16, V6.B16, V2.B16
	VAND V3.B16, V7.B16, V3.B16
	VORR V2.B16, V3.B16, V4.B16
	UMAXV(4, 4)
	VMOV V4.B[0], R6
	CBNZ R6, run
	ADD $32, R1
	B chunk

run: // find the first set byte
	FMOVD F2, R6
	CBNZ R6, found
	ADD $8, R1
	VMOV V2.D[1], R6
	CBNZ R6, found
	ADD $8, R1
	FMOVD F3, R6
	CBNZ R6, found
	ADD $8, R1
	VMOV V3.D[1], R6

found:
	RBIT R6, R6
	CLZ R6, R6
	ADD R6>>3, R1, R1

done:
	MOVD src+8(FP), R2
	SUB R2, R1, R1
	MOVD R1, ret+24(FP)
	RET
