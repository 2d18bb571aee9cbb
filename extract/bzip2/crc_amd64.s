#include "textflag.h"

// reverse turns the 16 bytes of a word around.
DATA reverse<>+0(SB)/8, $0x08090A0B0C0D0E0F
DATA reverse<>+8(SB)/8, $0x0001020304050607
GLOBL reverse<>(SB), RODATA|NOPTR, $16

// LOAD loads 16 bytes as a polynomial, the first bit of the data in the highest.
#define LOAD(offset, x) \
	VMOVDQU offset(SI), x \
	VPSHUFB X6, x, x

// FOLD multiplies x by the power of the factors in k, and adds next.
#define FOLD(k, next, x, t) \
	VPCLMULQDQ $0x00, k, x, t \
	VPCLMULQDQ $0x11, k, x, x \
	VPXOR t, x, x \
	VPXOR next, x, x

// func foldCRC(crc uint32, p *byte, blocks int, factors *crcFactors, rest *[16]byte)
//
// X0 to X3 are polynomials that, side by side, leave the same remainder as the
// data so far.
TEXT ·foldCRC(SB), NOSPLIT, $0-40
	MOVL crc+0(FP), AX
	MOVQ p+8(FP), SI
	MOVQ blocks+16(FP), CX
	MOVQ factors+24(FP), DX
	MOVQ rest+32(FP), DI
	VMOVDQU reverse<>(SB), X6
	VMOVDQU (DX), X7   // for 64 bytes
	VMOVDQU 16(DX), X8 // for 16 bytes
	LOAD(0, X0)
	LOAD(16, X1)
	LOAD(32, X2)
	LOAD(48, X3)
	VMOVD AX, X4
	VPSLLDQ $12, X4, X4
	VPXOR X4, X0, X0

more:
	ADDQ $64, SI
	DECQ CX
	JZ join
	LOAD(0, X9)
	LOAD(16, X10)
	LOAD(32, X11)
	LOAD(48, X12)
	FOLD(X7, X9, X0, X4)
	FOLD(X7, X10, X1, X5)
	FOLD(X7, X11, X2, X4)
	FOLD(X7, X12, X3, X5)
	JMP more

join:
	FOLD(X8, X1, X0, X4)
	FOLD(X8, X2, X0, X4)
	FOLD(X8, X3, X0, X4)
	VPSHUFB X6, X0, X0
	VMOVDQU X0, (DI)
	VZEROUPPER
	RET
