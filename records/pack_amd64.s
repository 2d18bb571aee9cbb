#include "textflag.h"

// The groups of seven bits of a value, the values from which a varint has a
// second and a third byte, less one, the continuation bits, and shortLimit and
// what is above it.
DATA pack<>+0(SB)/4, $0x0000007f
DATA pack<>+4(SB)/4, $0x00003f80
DATA pack<>+8(SB)/4, $0x001fc000
DATA pack<>+12(SB)/4, $0x00003fff
DATA pack<>+16(SB)/4, $0x00000080
DATA pack<>+20(SB)/4, $0x00008000
DATA pack<>+24(SB)/4, $0x00800000
DATA pack<>+28(SB)/4, $0xffe00000
GLOBL pack<>(SB), RODATA|NOPTR, $32

// func packVBMI2(out []byte, values []int32) int
//
// Each value is spread over a word of 32 bits, as putShort does. A second word
// has the highest bit of each byte that is part of the varint; VPCOMPRESSB
// removes the other bytes.
TEXT ·packVBMI2(SB), NOSPLIT, $0-56
	MOVQ out_base+0(FP), DI
	MOVQ values_base+24(FP), SI
	MOVQ values_len+32(FP), CX
	MOVQ DI, DX
	VPBROADCASTD pack<>+0(SB), Z0
	VPBROADCASTD pack<>+4(SB), Z1
	VPBROADCASTD pack<>+8(SB), Z2
	VPBROADCASTD pack<>+12(SB), Z3
	VPBROADCASTD pack<>+16(SB), Z4
	VPBROADCASTD pack<>+20(SB), Z5
	VPBROADCASTD pack<>+24(SB), Z6
	VPBROADCASTD pack<>+28(SB), Z7
	VPXORD Z13, Z13, Z13 // bits of all values
	KXNORW K1, K1, K1
	TESTQ CX, CX
	JLE packed16

pack16:
	CMPQ CX, $16
	JGE whole16
	MOVL $1, AX
	SHLL CX, AX
	DECL AX
	KMOVW AX, K1 // the rest, fewer than 16 values

whole16:
	VMOVDQU32.Z (SI), K1, Z8
	VPORD Z8, Z13, Z13
	VPCMPUD $6, Z0, Z8, K2 // has a second byte
	VPCMPUD $6, Z3, Z8, K3 // has a third byte
	VPANDD Z0, Z8, Z9
	VPANDD Z1, Z8, Z10
	VPSLLD $1, Z10, Z10
	VPANDD Z2, Z8, Z11
	VPSLLD $2, Z11, Z11
	VPTERNLOGD $0xfe, Z10, Z11, Z9
	VPORD Z4, Z9, K2, Z9
	VPORD Z5, Z9, K3, Z9
	VMOVDQA32.Z Z4, K1, Z12
	VPORD Z5, Z12, K2, Z12
	VPORD Z6, Z12, K3, Z12
	VPMOVB2M Z12, K4
	VPCOMPRESSB.Z Z9, K4, Z9
	KMOVQ K4, AX
	POPCNTQ AX, AX
	VMOVDQU8 Z9, (DI)
	ADDQ AX, DI
	ADDQ $64, SI
	SUBQ $16, CX
	JG pack16

packed16:
	SUBQ DX, DI
	VPTESTMD Z7, Z13, K2
	KORTESTW K2, K2
	JEQ fits16
	MOVQ $-1, DI

fits16:
	MOVQ DI, ret+48(FP)
	VZEROUPPER
	RET

// func packFours(out []byte, values []int32, shuffles *[256][16]byte) int
TEXT ·packFours(SB), NOSPLIT, $0-64
	MOVQ out_base+0(FP), DI
	MOVQ values_base+24(FP), SI
	MOVQ values_len+32(FP), CX
	MOVQ shuffles+48(FP), R8
	MOVQ DI, DX
	VPBROADCASTD pack<>+0(SB), X0
	VPBROADCASTD pack<>+4(SB), X1
	VPBROADCASTD pack<>+8(SB), X2
	VPBROADCASTD pack<>+12(SB), X3
	VPBROADCASTD pack<>+16(SB), X4
	VPBROADCASTD pack<>+20(SB), X5
	VPBROADCASTD pack<>+28(SB), X7
	VPXOR X13, X13, X13 // bits of all values
	TESTQ CX, CX
	JLE packed4

pack4:
	VMOVDQU (SI), X8
	VPOR X8, X13, X13
	VPCMPGTD X0, X8, X9  // has a second byte
	VPCMPGTD X3, X8, X10 // has a third byte
	VMOVMSKPS X9, AX
	VMOVMSKPS X10, BX
	SHLL $4, BX
	ORL BX, AX
	VPAND X4, X9, X9
	VPAND X5, X10, X10
	VPOR X9, X10, X10
	VPAND X1, X8, X11
	VPSLLD $1, X11, X11
	VPAND X2, X8, X12
	VPSLLD $2, X12, X12
	VPAND X0, X8, X8
	VPOR X11, X12, X12
	VPOR X8, X10, X10
	VPOR X12, X10, X10
	MOVL AX, BX
	SHLQ $4, BX
	VPSHUFB (R8)(BX*1), X10, X10
	VMOVDQU X10, (DI)
	POPCNTL AX, AX
	LEAQ 4(DI)(AX*1), DI
	ADDQ $16, SI
	SUBQ $4, CX
	JG pack4

packed4:
	SUBQ DX, DI
	VPTEST X7, X13
	JEQ fits4
	MOVQ $-1, DI

fits4:
	MOVQ DI, ret+56(FP)
	VZEROUPPER
	RET
