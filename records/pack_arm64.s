#include "textflag.h"

// What the values from which a varint has a second and a third byte add to the sum of a
// step: in byte 0, the bit of the word for the index of shuffles, in byte 1, one byte more.
DATA sums<>+0(SB)/8, $0x0000010200000101
DATA sums<>+8(SB)/8, $0x0000010800000104
DATA sums<>+16(SB)/8, $0x0000012000000110
DATA sums<>+24(SB)/8, $0x0000018000000140
GLOBL sums<>(SB), RODATA|NOPTR, $32

// CMHI sets all bits of the words of d where n is greater than m, unsigned. The
// arguments are numbers of registers.
#define CMHI(m, n, d) WORD $(0x6ea03400 | (m)<<16 | (n)<<5 | (d))

// UMAXV leaves the greatest word of n in the lowest word of d.
#define UMAXV(n, d) WORD $(0x6eb0a800 | (n)<<5 | (d))

// func packFours(out []byte, values []int32, shuffles *[256][16]byte) int
//
// Each value is spread over a word of 32 bits, as putShort does; a look-up joins the bytes
// of the four varints.
TEXT ·packFours(SB), NOSPLIT, $0-64
	MOVD out_base+0(FP), R0
	MOVD values_base+24(FP), R1
	MOVD values_len+32(FP), R2
	MOVD shuffles+48(FP), R3
	MOVD R0, R4
	MOVD $sums<>(SB), R5
	VLD1 (R5), [V16.B16, V17.B16]
	MOVD $0x7f, R5
	VDUP R5, V18.S4
	MOVD $0x3fff, R5
	VDUP R5, V19.S4
	MOVD $0x007f7f7f, R5
	VDUP R5, V20.S4
	MOVD $0x80, R5
	VDUP R5, V21.S4
	MOVD $0x8000, R5
	VDUP R5, V22.S4
	VEOR V13.B16, V13.B16, V13.B16 // bits of all values
	CMP $0, R2
	BLE packed4

pack4:
	VLD1.P 16(R1), [V0.B16]
	CMHI(18, 0, 1) // has a second byte
	CMHI(19, 0, 2) // has a third byte
	VORR V0.B16, V13.B16, V13.B16
	VAND V16.B16, V1.B16, V3.B16
	VAND V17.B16, V2.B16, V4.B16
	VADD V3.S4, V4.S4, V3.S4
	VADDV V3.S4, V3
	VUSHR $7, V0.S4, V5.S4
	VUSHR $14, V0.S4, V6.S4
	VMOV V3.S[0], R5
	VSLI $8, V5.S4, V0.S4
	VSLI $16, V6.S4, V0.S4
	AND $0xff, R5, R6
	ADD R6<<4, R3, R6
	LSR $8, R5, R5
	VLD1 (R6), [V7.B16]
	VAND V21.B16, V1.B16, V1.B16
	VAND V22.B16, V2.B16, V2.B16
	VAND V20.B16, V0.B16, V0.B16
	VORR V1.B16, V2.B16, V1.B16
	VORR V1.B16, V0.B16, V0.B16
	VTBL V7.B16, [V0.B16], V0.B16
	VST1 [V0.B16], (R0)
	ADD $4, R5
	ADD R5, R0
	SUBS $4, R2
	BGT pack4

packed4:
	SUB R4, R0, R0
	UMAXV(13, 13)
	VMOV V13.S[0], R5
	LSR $21, R5, R5 // shortLimit is 1<<21
	CBZ R5, fits4
	MOVD $-1, R0

fits4:
	MOVD R0, ret+56(FP)
	RET

// func unpackFours(dst []int32, b []byte, steps *[256]unpackStep) (values, used int)
TEXT ·unpackFours(SB), NOSPLIT, $0-72
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R2
	MOVD b_base+24(FP), R1
	MOVD b_len+32(FP), R3
	MOVD steps+48(FP), R4
	SUBS $16, R2
	BLT done
	SUBS $16, R3
	BLT done
	ADD R2<<2, R0, R2 // the last place before which a step may begin
	ADD R1, R3        // and the last byte

next:
	CMP R3, R1
	BHI done
	CMP R2, R0
	BHI done
	VLD1 (R1), [V0.B16]
	FMOVD F0, R5
	VMOV V0.D[1], R6
	ORR R5, R6, R6
	TST $0x8080808080808080, R6
	BEQ sixteen
	AND $0x8080808080808080, R5, R5
	LSR $7, R5, R5
	MOVD $0x0102040810204080, R6
	MUL R6, R5, R5
	LSR $56, R5, R5
	ADD R5<<5, R4, R5
	MOVWU 16(R5), R6
	MOVWU 20(R5), R7
	CBZ R6, done
	VLD1 (R5), [V1.B16]
	VTBL V1.B16, [V0.B16], V1.B16
	VUSHR $8, V1.H8, V2.H8 // bytes of a varint to pairs of 14 bits
	VSLI $7, V2.H8, V1.H8
	VUSHR $16, V1.S4, V2.S4
	VSLI $14, V2.S4, V1.S4
	VST1 [V1.B16], (R0)
	ADD R6, R0
	ADD R7, R1
	B next

sixteen:
	VUXTL V0.B8, V1.H8
	VUXTL2 V0.B16, V2.H8
	VUXTL V1.H4, V3.S4
	VUXTL2 V1.H8, V4.S4
	VUXTL V2.H4, V5.S4
	VUXTL2 V2.H8, V6.S4
	VST1.P [V3.B16, V4.B16, V5.B16, V6.B16], 64(R0)
	ADD $16, R1
	B next

done:
	MOVD dst_base+0(FP), R2
	SUB R2, R0, R0
	LSR $2, R0, R0
	MOVD R0, values+56(FP)
	MOVD b_base+24(FP), R2
	SUB R2, R1, R1
	MOVD R1, used+64(FP)
	RET
