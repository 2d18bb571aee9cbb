#include "textflag.h"

// Eight blocks of Philox4x32-10 at once: Y0 to Y3 hold the counter words of
// eight blocks, Y8 and Y9 the multipliers, Y10 and Y11 the key, Y13 and Y14
// what is added to it. A 32×32→64-bit product exists for even elements only, so
// odd ones are shifted down for a second one.

DATA sequence<>+0(SB)/4, $0
DATA sequence<>+4(SB)/4, $1
DATA sequence<>+8(SB)/4, $2
DATA sequence<>+12(SB)/4, $3
DATA sequence<>+16(SB)/4, $4
DATA sequence<>+20(SB)/4, $5
DATA sequence<>+24(SB)/4, $6
DATA sequence<>+28(SB)/4, $7
GLOBL sequence<>(SB), RODATA|NOPTR, $32

DATA philox<>+0(SB)/4, $0xD2511F53
DATA philox<>+4(SB)/4, $0xCD9E8D57
DATA philox<>+8(SB)/4, $0x9E3779B9
DATA philox<>+12(SB)/4, $0xBB67AE85
GLOBL philox<>(SB), RODATA|NOPTR, $16

// Low halves of four words, then high halves.
DATA halves<>+0(SB)/8, $0x0d0c090805040100
DATA halves<>+8(SB)/8, $0x0f0e0b0a07060302
DATA halves<>+16(SB)/8, $0x0d0c090805040100
DATA halves<>+24(SB)/8, $0x0f0e0b0a07060302
GLOBL halves<>(SB), RODATA|NOPTR, $32

#define LOAD \
	VPBROADCASTD key+0(FP), Y10 \
	VPBROADCASTD key+4(FP), Y11 \
	VPBROADCASTD position+8(FP), Y0 \
	VPBROADCASTD position+12(FP), Y1 \
	VPBROADCASTD site+16(FP), Y2 \
	VPBROADCASTD place+20(FP), Y3 \
	VPADDD sequence<>(SB), Y3, Y3 \
	VPBROADCASTD philox<>+0(SB), Y8 \
	VPBROADCASTD philox<>+4(SB), Y9 \
	VPBROADCASTD philox<>+8(SB), Y13 \
	VPBROADCASTD philox<>+12(SB), Y14

#define ROUND \
	VPSRLQ $32, Y0, Y4 \
	VPMULUDQ Y0, Y8, Y5 \
	VPMULUDQ Y4, Y8, Y4 \
	VPSRLQ $32, Y5, Y6 \
	VPBLENDD $0xAA, Y4, Y6, Y6 \
	VPSLLQ $32, Y4, Y4 \
	VPBLENDD $0xAA, Y4, Y5, Y4 \
	VPSRLQ $32, Y2, Y5 \
	VPMULUDQ Y2, Y9, Y7 \
	VPMULUDQ Y5, Y9, Y5 \
	VPSRLQ $32, Y7, Y12 \
	VPBLENDD $0xAA, Y5, Y12, Y12 \
	VPSLLQ $32, Y5, Y5 \
	VPBLENDD $0xAA, Y5, Y7, Y5 \
	VPXOR Y12, Y1, Y0 \
	VPXOR Y10, Y0, Y0 \
	VMOVDQA Y5, Y1 \
	VPXOR Y6, Y3, Y2 \
	VPXOR Y11, Y2, Y2 \
	VMOVDQA Y4, Y3 \
	VPADDD Y13, Y10, Y10 \
	VPADDD Y14, Y11, Y11

#define ROUNDS \
	ROUND \
	ROUND \
	ROUND \
	ROUND \
	ROUND \
	ROUND \
	ROUND \
	ROUND \
	ROUND \
	ROUND

// func hiddenBytes(key, position uint64, site, place uint32, out *[128]byte)
TEXT ·hiddenBytes(SB), NOSPLIT, $0-32
	LOAD
	ROUNDS
	MOVQ out+24(FP), DI
	VPUNPCKLDQ Y1, Y0, Y4
	VPUNPCKHDQ Y1, Y0, Y5
	VPUNPCKLDQ Y3, Y2, Y6
	VPUNPCKHDQ Y3, Y2, Y7
	VPUNPCKLQDQ Y6, Y4, Y0
	VPUNPCKHQDQ Y6, Y4, Y1
	VPUNPCKLQDQ Y7, Y5, Y2
	VPUNPCKHQDQ Y7, Y5, Y3
	VMOVDQU X0, (DI)
	VMOVDQU X1, 16(DI)
	VMOVDQU X2, 32(DI)
	VMOVDQU X3, 48(DI)
	VEXTRACTI128 $1, Y0, 64(DI)
	VEXTRACTI128 $1, Y1, 80(DI)
	VEXTRACTI128 $1, Y2, 96(DI)
	VEXTRACTI128 $1, Y3, 112(DI)
	VZEROUPPER
	RET

// A word of four lanes holds eight keys of a row in its low halves, and of the
// row eight below in its high ones.
#define SPREAD(REG, AT) \
	VPSHUFB Y15, REG, Y4 \
	VEXTRACTI128 $1, Y4, X5 \
	VMOVQ X4, AT(DI) \
	VPEXTRQ $1, X4, (AT+256)(DI) \
	VMOVQ X5, (AT+32)(DI) \
	VPEXTRQ $1, X5, (AT+288)(DI)

// func attentionBytes(key, position uint64, site, place uint32, out *[512]byte)
TEXT ·attentionBytes(SB), NOSPLIT, $0-32
	MOVQ out+24(FP), DI
	MOVL place+20(FP), AX
	VMOVDQU halves<>(SB), Y15
	MOVL $4, CX
next: // two rows, and the two eight below
	LOAD
	VMOVD AX, X3
	VPBROADCASTD X3, Y3
	VPADDD sequence<>(SB), Y3, Y3
	ROUNDS
	SPREAD(Y0, 0)
	SPREAD(Y1, 8)
	SPREAD(Y2, 16)
	SPREAD(Y3, 24)
	ADDL $8, AX
	ADDQ $64, DI
	DECL CX
	JNE next
	VZEROUPPER
	RET

// func apply(x *float32, mask *byte, n int, keep uint32, scale float32)
TEXT ·apply(SB), NOSPLIT, $0-32
	MOVQ x+0(FP), DI
	MOVQ mask+8(FP), SI
	MOVQ n+16(FP), CX
	MOVL keep+24(FP), AX
	VMOVD AX, X1
	VPBROADCASTD X1, Y1
	VBROADCASTSS scale+28(FP), Y2
	SHRQ $3, CX
	JEQ done
eight:
	VPMOVZXBD (SI), Y0
	VPCMPGTD Y0, Y1, Y0
	VMULPS (DI), Y2, Y3
	VANDPS Y3, Y0, Y3
	VMOVUPS Y3, (DI)
	ADDQ $8, SI
	ADDQ $32, DI
	DECQ CX
	JNE eight
done:
	VZEROUPPER
	RET
