#include "textflag.h"

// The byte order of words in a message.
DATA swap<>+0(SB)/8, $0x0405060700010203
DATA swap<>+8(SB)/8, $0x0c0d0e0f08090a0b
GLOBL swap<>(SB), RODATA|NOPTR, $16

// Two streams, x and y. X0 is the operand that SHA256RNDS2 implies, X15 the order of the bytes.
// x: state in X1 (ABEF) and X2 (CDGH), message in X3 to X6.
// y: state in X7 and X8, message in X9 to X12. X13 is for a moment's use.

// Loads four words of a message.
#define LOAD(p, off, m) \
	MOVOU off(p), m \
	PSHUFB X15, m

// Four rounds of one stream. g is the number of the group of rounds.
#define ROUNDS(g, m, s0, s1) \
	MOVOU   (g*16)(R8), X0 \
	PADDD   m, X0 \
	SHA256RNDS2 X0, s0, s1 \
	PSHUFD  $0x0e, X0, X0 \
	SHA256RNDS2 X0, s1, s0

// Completes the words of the next group.
#define NEXT(prev, m, next) \
	MOVO    m, X13 \
	PALIGNR $4, prev, X13 \
	PADDD   X13, next \
	SHA256MSG2 m, next

// Four rounds of both streams.
#define BOTH(g, mx, my) \
	ROUNDS(g, mx, X1, X2) \
	ROUNDS(g, my, X7, X8)

// The same with the schedule of messages.
#define SCHEDULED(g, px, mx, nx, py, my, ny) \
	BOTH(g, mx, my) \
	NEXT(px, mx, nx) \
	NEXT(py, my, ny) \
	SHA256MSG1 mx, px \
	SHA256MSG1 my, py

// Brings a state from eight words in memory into two registers.
#define STATE(p, s0, s1) \
	MOVOU   (p), X13 \
	MOVOU   16(p), s1 \
	PSHUFD  $0xb1, X13, X13 \
	PSHUFD  $0x1b, s1, s1 \
	MOVO    X13, s0 \
	PALIGNR $8, s1, s0 \
	PBLENDW $0xf0, X13, s1

// The reverse of STATE.
#define STORE(p, s0, s1) \
	PSHUFD  $0x1b, s0, X13 \
	PSHUFD  $0xb1, s1, s1 \
	MOVO    X13, s0 \
	PBLENDW $0xf0, s1, s0 \
	PALIGNR $8, X13, s1 \
	MOVOU   s0, (p) \
	MOVOU   s1, 16(p)

// func blocks(x, y *[8]uint32, p, q *byte, n int, k *[64]uint32)
TEXT ·blocks(SB), NOSPLIT, $64-48
	MOVQ  x+0(FP), AX
	MOVQ  y+8(FP), BX
	MOVQ  p+16(FP), SI
	MOVQ  q+24(FP), DI
	MOVQ  n+32(FP), CX
	MOVQ  k+40(FP), R8
	MOVOU swap<>(SB), X15
	STATE(AX, X1, X2)
	STATE(BX, X7, X8)

block:
	MOVOU X1, 0(SP)
	MOVOU X2, 16(SP)
	MOVOU X7, 32(SP)
	MOVOU X8, 48(SP)

	LOAD(SI, 0, X3)
	LOAD(DI, 0, X9)
	BOTH(0, X3, X9)
	LOAD(SI, 16, X4)
	LOAD(DI, 16, X10)
	BOTH(1, X4, X10)
	SHA256MSG1 X4, X3
	SHA256MSG1 X10, X9
	LOAD(SI, 32, X5)
	LOAD(DI, 32, X11)
	BOTH(2, X5, X11)
	SHA256MSG1 X5, X4
	SHA256MSG1 X11, X10
	LOAD(SI, 48, X6)
	LOAD(DI, 48, X12)

	SCHEDULED(3, X5, X6, X3, X11, X12, X9)
	SCHEDULED(4, X6, X3, X4, X12, X9, X10)
	SCHEDULED(5, X3, X4, X5, X9, X10, X11)
	SCHEDULED(6, X4, X5, X6, X10, X11, X12)
	SCHEDULED(7, X5, X6, X3, X11, X12, X9)
	SCHEDULED(8, X6, X3, X4, X12, X9, X10)
	SCHEDULED(9, X3, X4, X5, X9, X10, X11)
	SCHEDULED(10, X4, X5, X6, X10, X11, X12)
	SCHEDULED(11, X5, X6, X3, X11, X12, X9)
	SCHEDULED(12, X6, X3, X4, X12, X9, X10)

	BOTH(13, X4, X10)
	NEXT(X3, X4, X5)
	NEXT(X9, X10, X11)
	BOTH(14, X5, X11)
	NEXT(X4, X5, X6)
	NEXT(X10, X11, X12)
	BOTH(15, X6, X12)

	MOVOU 0(SP), X13
	PADDD X13, X1
	MOVOU 16(SP), X13
	PADDD X13, X2
	MOVOU 32(SP), X13
	PADDD X13, X7
	MOVOU 48(SP), X13
	PADDD X13, X8

	ADDQ $64, SI
	ADDQ $64, DI
	DECQ CX
	JNZ  block

	STORE(AX, X1, X2)
	STORE(BX, X7, X8)
	RET

// func features() (ebx uint32)
TEXT ·features(SB), NOSPLIT, $0-4
	XORL AX, AX
	CPUID
	CMPL AX, $7
	JLT  none
	MOVL $7, AX
	XORL CX, CX
	CPUID
	MOVL BX, ebx+0(FP)
	RET

none:
	MOVL $0, ebx+0(FP)
	RET
