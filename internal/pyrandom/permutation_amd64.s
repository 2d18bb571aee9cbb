#include "textflag.h"

// Offsets of the fields of trace.
#define LAST 0
#define PREV 256
#define FINAL 384

// SWAP takes the word at offset from SI. A rejected draw in AX is not below the limit
// in R8: then final and prev of limit-1 are written again with the next draw, and
// last[AX] is not read any more. The loop waits only for the last two instructions.
#define SWAP(offset) \
	SHRXL CX, offset(SI), AX; \
	MOVBLZX LAST(DI)(AX*1), BX; \
	MOVBLZX (LAST-1)(DI)(R8*1), R11; \
	LEAL -1(R8), R12; \
	MOVB BX, (FINAL-1)(DI)(R8*1); \
	MOVB R11, (PREV-1)(DI)(R8*1); \
	MOVB R12, LAST(DI)(AX*1); \
	CMPQ AX, R8; \
	SBBQ $0, R8

// SMALL is the limit below which the number of bits changes often.
#define SMALL 16

// The shift of a draw for each limit below SMALL.
DATA shifts<>+0(SB)/8, $0x1d1d1d1d1e1e1f20
DATA shifts<>+8(SB)/8, $0x1c1c1c1c1c1c1c1c
GLOBL shifts<>(SB), RODATA|NOPTR, $16

// func traceSwaps(t *trace, words []uint32, limit int) (left, used int)
TEXT ·traceSwaps(SB), NOSPLIT, $0-56
	MOVQ t+0(FP), DI
	MOVQ words_base+8(FP), SI
	MOVQ words_len+16(FP), DX
	MOVQ limit+32(FP), R8
	LEAQ shifts<>(SB), R10
	LEAQ (SI)(DX*4), DX // end of the words
	LEAQ -4(DX), R13    // up to here there are two
	BSRL R8, CX
	XORL $31, CX        // shift of a draw of as many bits as limit has
	MOVL $0x80000000, R9
	SHRXL CX, R9, R9    // the smallest limit with so many bits

two:
	CMPQ R8, $SMALL
	JB small
	CMPQ SI, R13
	JAE one
	SWAP(0)
	ADDQ $4, SI
	CMPQ R8, R9
	JB fewer
	SWAP(0)
	ADDQ $4, SI
	CMPQ R8, R9
	JAE two

fewer: // bits
	INCL CX
	SHRL $1, R9
	JMP two

one:
	CMPQ SI, DX
	JAE done
	SWAP(0)
	ADDQ $4, SI
	CMPQ R8, R9
	JB fewer

	// The last few limits have few draws of each number of bits: to count the bits
	// again for each takes less time than leaving the loop so often.
small:
	CMPQ R8, $1
	JBE done
	CMPQ SI, DX
	JAE done
	MOVBLZX (R10)(R8*1), CX
	SWAP(0)
	ADDQ $4, SI
	JMP small

done:
	MOVQ R8, left+40(FP)
	SUBQ words_base+8(FP), SI
	SHRQ $2, SI
	MOVQ SI, used+48(FP)
	RET

// Bytes of 127, 112 and 16.
DATA bytes<>+0(SB)/4, $0x7f7f7f7f
DATA bytes<>+4(SB)/4, $0x70707070
DATA bytes<>+8(SB)/4, $0x10101010
GLOBL bytes<>(SB), RODATA|NOPTR, $12

// func followVBMI(x []uint16, t *trace, want int)
TEXT ·followVBMI(SB), NOSPLIT, $0-40
	MOVQ x_base+0(FP), DI
	MOVQ t+24(FP), SI
	MOVQ want+32(FP), CX
	VPBROADCASTD bytes<>+0(SB), Z7
	VMOVDQU8 PREV(SI), Z0
	VMOVDQU8 (PREV+64)(SI), Z1
	LEAQ FINAL(SI), SI

sources64:
	TESTQ CX, CX
	JLE followed
	MOVQ $-1, AX
	CMPQ CX, $64
	JGE all64
	BZHIQ CX, AX, AX

all64:
	KMOVQ AX, K1 // lanes in use
	VMOVDQU8 (SI), Z2

hop:
	VPMOVB2M Z2, K2
	KANDNQ K1, K2, K2 // lanes whose source is not an origin
	VMOVDQA64 Z2, Z3
	VPERMI2B Z1, Z0, Z3
	VMOVDQU8 Z3, K2, Z2
	VPMOVB2M Z2, K3
	KORTESTQ K2, K2
	JEQ arrived
	KANDNQ K1, K3, K3
	VMOVDQA64 Z2, Z3
	VPERMI2B Z1, Z0, Z3
	VMOVDQU8 Z3, K3, Z2
	JMP hop

arrived:
	VPANDD Z7, Z2, Z2
	VPMOVZXBW Y2, Z3
	VEXTRACTI64X4 $1, Z2, Y4
	VPMOVZXBW Y4, Z4
	VMOVDQU16 Z3, (DI)
	VMOVDQU16 Z4, 64(DI)
	ADDQ $64, SI
	ADDQ $128, DI
	SUBQ $64, CX
	JMP sources64

followed:
	VZEROUPPER
	RET

// SOURCES16 looks up the lanes of Y1 from 0 to 15 in the 16 bytes at offset of prev, adds
// them to Y3, and takes 16 from all lanes. VPSHUFB gives zero where the highest bit is
// set, as adding 112 with saturation sets it in lanes from 16 on.
#define SOURCES16(offset) \
	VBROADCASTI128 (PREV+offset)(SI), Y4; \
	VPADDUSB Y6, Y1, Y5; \
	VPSHUFB Y5, Y4, Y4; \
	VPOR Y4, Y3, Y3; \
	VPSUBB Y8, Y1, Y1

// func follow(x []uint16, t *trace, want int)
TEXT ·follow(SB), NOSPLIT, $0-40
	MOVQ x_base+0(FP), DI
	MOVQ t+24(FP), SI
	MOVQ want+32(FP), CX
	VPBROADCASTD bytes<>+0(SB), Y7
	VPBROADCASTD bytes<>+4(SB), Y6
	VPBROADCASTD bytes<>+8(SB), Y8
	LEAQ FINAL(SI), R8

sources32:
	TESTQ CX, CX
	JLE followed
	VMOVDQU (R8), Y2
	MOVL $-1, AX
	CMPQ CX, $32
	JGE hop
	BZHIL CX, AX, AX // lanes in use

hop:
	VPMOVMSKB Y2, BX
	ANDNL AX, BX, BX // lanes whose source is not an origin
	JEQ arrived
	VPXOR Y3, Y3, Y3
	VMOVDQA Y2, Y1
	SOURCES16(0)
	SOURCES16(16)
	SOURCES16(32)
	SOURCES16(48)
	SOURCES16(64)
	SOURCES16(80)
	SOURCES16(96)
	SOURCES16(112)
	VPBLENDVB Y2, Y2, Y3, Y2 // origins stay
	JMP hop

arrived:
	VPAND Y7, Y2, Y2
	VPMOVZXBW X2, Y3
	VEXTRACTI128 $1, Y2, X4
	VPMOVZXBW X4, Y4
	VMOVDQU Y3, (DI)
	VMOVDQU Y4, 32(DI)
	ADDQ $32, R8
	ADDQ $64, DI
	SUBQ $32, CX
	JMP sources32

followed:
	VZEROUPPER
	RET
