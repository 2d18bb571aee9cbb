#include "textflag.h"

// Offsets of the fields of trace.
#define PREV 256
#define FINAL 384

// SWAP takes the next word at R1. A rejected draw in R3 is not below the limit in R8: then
// final and prev of limit-1 are written again with the next draw, and last[R3] is not read
// any more. The loop waits only for the last two instructions. R0, R5 and R6 point to last,
// prev and final.
#define SWAP \
	MOVWU.P 4(R1), R3 \
	SUB $1, R8, R12 \
	LSR R2, R3, R3 \
	MOVBU (R0)(R3), R4 \
	MOVBU (R0)(R12), R7 \
	MOVB R4, (R6)(R12) \
	MOVB R7, (R5)(R12) \
	MOVB R12, (R0)(R3) \
	CMP R8, R3 \
	CSEL LO, R12, R8, R8

// SMALL is the limit below which the number of bits changes often.
#define SMALL 16

// func traceSwaps(t *trace, words []uint32, limit int) (left, used int)
TEXT ·traceSwaps(SB), NOSPLIT, $0-56
	MOVD t+0(FP), R0
	MOVD words_base+8(FP), R1
	MOVD words_len+16(FP), R10
	MOVD limit+32(FP), R8
	ADD $PREV, R0, R5
	ADD $FINAL, R0, R6
	ADD R10<<2, R1, R10 // end of the words
	SUB $4, R10, R11    // up to here there are two
	CLZW R8, R2         // shift of a draw of as many bits as limit has
	MOVD $0x80000000, R9
	LSR R2, R9, R9      // the smallest limit with so many bits

two:
	CMP $SMALL, R8
	BLO small
	CMP R11, R1
	BHS one
	SWAP
	CMP R9, R8
	BLO fewer
	SWAP
	CMP R9, R8
	BHS two

fewer: // bits
	ADD $1, R2
	LSR $1, R9
	B two

one:
	CMP R10, R1
	BHS done
	SWAP
	CMP R9, R8
	BLO fewer

	// The last few limits have few draws of each number of bits: to count the bits
	// again for each takes less time than leaving the loop so often.
small:
	CMP $1, R8
	BLS done
	CMP R10, R1
	BHS done
	CLZW R8, R2
	SWAP
	B small

done:
	MOVD R8, left+40(FP)
	MOVD words_base+8(FP), R2
	SUB R2, R1, R1
	LSR $2, R1, R1
	MOVD R1, used+48(FP)
	RET

// The numbers of 16 lanes.
DATA lanes<>+0(SB)/8, $0x0706050403020100
DATA lanes<>+8(SB)/8, $0x0f0e0d0c0b0a0908
GLOBL lanes<>(SB), RODATA|NOPTR, $16

// CMHS sets all bits of the bytes of d where n is not less than m, unsigned. The
// arguments are numbers of registers.
#define CMHS(m, n, d) WORD $(0x6e203c00 | (m)<<16 | (n)<<5 | (d))

// UMINV leaves the least byte of n in the lowest byte of d.
#define UMINV(n, d) WORD $(0x6e31a800 | (n)<<5 | (d))

// func follow(x []uint16, t *trace, want int)
//
// V16 to V23 are prev. A look-up whose index is beyond the table leaves its lane as it is,
// so origins stay.
TEXT ·follow(SB), NOSPLIT, $0-40
	MOVD x_base+0(FP), R0
	MOVD t+24(FP), R1
	MOVD want+32(FP), R2
	ADD $PREV, R1, R1
	VLD1.P 64(R1), [V16.B16, V17.B16, V18.B16, V19.B16]
	VLD1.P 64(R1), [V20.B16, V21.B16, V22.B16, V23.B16] // then R1 is final
	MOVD $lanes<>(SB), R3
	VLD1 (R3), [V6.B16]
	VMOVI $64, V7.B16
	VMOVI $127, V5.B16

sources16:
	CMP $0, R2
	BLE followed
	VLD1.P 16(R1), [V0.B16]
	CMP $16, R2
	BGE hop
	VDUP R2, V1.B16
	CMHS(1, 6, 2) // lanes that are not in use arrive at once
	VORR V2.B16, V0.B16, V0.B16

hop:
	UMINV(0, 1)
	VMOV V1.B[0], R3
	TBNZ $7, R3, arrived
	VSUB V7.B16, V0.B16, V1.B16
	VTBX V0.B16, [V16.B16, V17.B16, V18.B16, V19.B16], V0.B16
	VTBX V1.B16, [V20.B16, V21.B16, V22.B16, V23.B16], V0.B16
	B hop

arrived:
	VAND V5.B16, V0.B16, V0.B16
	VUXTL V0.B8, V2.H8
	VUXTL2 V0.B16, V3.H8
	VST1.P [V2.B16, V3.B16], 32(R0)
	SUB $16, R2
	B sources16

followed:
	RET
