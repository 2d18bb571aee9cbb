#include "textflag.h"

// The factors of a fold of 16 bytes over D bits: x^(D+32) for the first 8 bytes and
// x^(D-32) for the others, modulo the polynomial of CRC-32C, in the bit order of the
// data.
#define FACTORS(name, offset, first, second) \
	DATA name<>+offset(SB)/8, $first; \
	DATA name<>+(offset+8)(SB)/8, $second

// Over 128 bytes.
FACTORS(fold128, 0, 0x6992cea2, 0x0d3b6092)
GLOBL fold128<>(SB), RODATA|NOPTR, $16

// Over 64 bytes.
FACTORS(fold64, 0, 0x740eef02, 0x9e4addf8)
GLOBL fold64<>(SB), RODATA|NOPTR, $16

// Over 48, 32 and 16 bytes: of 64 bytes, the first three parts to the last.
FACTORS(last, 0, 0x1c291d04, 0x1d82c63da)
FACTORS(last, 16, 0x1384aa63a, 0xba4fc28e)
FACTORS(last, 32, 0xf20c0dfe, 0x14cd00bd6)
FACTORS(last, 48, 0, 0)
GLOBL last<>(SB), RODATA|NOPTR, $64

// FOLD multiplies x by the factors in k and adds next.
#define FOLD(k, next, x, t) \
	VPCLMULQDQ $0x00, k, x, t; \
	VPCLMULQDQ $0x11, k, x, x; \
	VPTERNLOGQ $0x96, next, t, x

// func foldCRC(b []byte) uint32
TEXT ·foldCRC(SB), NOSPLIT, $0-28
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), CX
	VBROADCASTI32X4 fold128<>(SB), Z7
	VBROADCASTI32X4 fold64<>(SB), Z6
	MOVL $-1, AX
	VMOVD AX, X2
	VPXORD (SI), Z2, Z0
	VMOVDQU64 64(SI), Z1
	ADDQ $128, SI
	SUBQ $128, CX

pairs:
	CMPQ CX, $128
	JLT pair
	FOLD(Z7, (SI), Z0, Z3)
	FOLD(Z7, 64(SI), Z1, Z4)
	ADDQ $128, SI
	SUBQ $128, CX
	JMP pairs

pair:
	FOLD(Z6, Z1, Z0, Z3)
	CMPQ CX, $64
	JLT single
	FOLD(Z6, (SI), Z0, Z3)
	ADDQ $64, SI
	SUBQ $64, CX

single:
	VEXTRACTI32X4 $3, Z0, X5
	VMOVDQU64 last<>(SB), Z2
	VPXORD Z4, Z4, Z4
	FOLD(Z2, Z4, Z0, Z3)
	VEXTRACTI64X4 $1, Z0, Y1
	VPXOR Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPXOR X1, X0, X0
	VPXOR X5, X0, X0
	VMOVQ X0, BX
	VPEXTRQ $1, X0, DX
	XORL AX, AX
	CRC32Q BX, AX
	CRC32Q DX, AX

words:
	CMPQ CX, $8
	JLT bytes
	CRC32Q (SI), AX
	ADDQ $8, SI
	SUBQ $8, CX
	JMP words

bytes:
	TESTQ CX, CX
	JZ done
	CRC32B (SI), AX
	INCQ SI
	DECQ CX
	JMP bytes

done:
	NOTL AX
	MOVL AX, ret+24(FP)
	VZEROUPPER
	RET

// FOLD16 multiplies x by the factors in k and adds next, 16 bytes at a time.
#define FOLD16(k, next, x, t) \
	VPCLMULQDQ $0x00, k, x, t; \
	VPCLMULQDQ $0x11, k, x, x; \
	VPXOR next, t, t; \
	VPXOR t, x, x

// func foldCRC16(b []byte) uint32
TEXT ·foldCRC16(SB), NOSPLIT, $0-28
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), CX
	VMOVDQU fold64<>(SB), X7
	MOVL $-1, AX
	VMOVD AX, X4
	VPXOR (SI), X4, X0
	VMOVDQU 16(SI), X1
	VMOVDQU 32(SI), X2
	VMOVDQU 48(SI), X3
	JMP check

more:
	FOLD16(X7, (SI), X0, X4)
	FOLD16(X7, 16(SI), X1, X5)
	FOLD16(X7, 32(SI), X2, X6)
	FOLD16(X7, 48(SI), X3, X4)

check:
	ADDQ $64, SI
	SUBQ $64, CX
	CMPQ CX, $64
	JGE more
	VMOVDQU last<>+0(SB), X4
	VMOVDQU last<>+16(SB), X5
	VMOVDQU last<>+32(SB), X6
	FOLD16(X4, X3, X0, X7)
	FOLD16(X5, X0, X1, X7)
	FOLD16(X6, X1, X2, X7)
	VMOVQ X2, BX
	VPEXTRQ $1, X2, DX
	XORL AX, AX
	CRC32Q BX, AX
	CRC32Q DX, AX

words:
	CMPQ CX, $8
	JLT bytes
	CRC32Q (SI), AX
	ADDQ $8, SI
	SUBQ $8, CX
	JMP words

bytes:
	TESTQ CX, CX
	JZ done
	CRC32B (SI), AX
	INCQ SI
	DECQ CX
	JMP bytes

done:
	NOTL AX
	MOVL AX, ret+24(FP)
	VZEROUPPER
	RET
