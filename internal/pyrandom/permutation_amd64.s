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

// func traceSwaps(t *trace, words []uint32, limit int) (left, used int)
TEXT ·traceSwaps(SB), NOSPLIT, $0-56
	MOVQ t+0(FP), DI
	MOVQ words_base+8(FP), SI
	MOVQ words_len+16(FP), DX
	MOVQ limit+32(FP), R8
	LEAQ (SI)(DX*4), DX // end of the words
	LEAQ -4(DX), R13    // up to here there are two
	LZCNTL R8, CX       // shift of a draw of as many bits as limit has
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
	LZCNTL R8, CX
	SWAP(0)
	ADDQ $4, SI
	JMP small

done:
	MOVQ R8, left+40(FP)
	SUBQ words_base+8(FP), SI
	SHRQ $2, SI
	MOVQ SI, used+48(FP)
	RET

DATA sevenBits<>+0(SB)/4, $0x7f7f7f7f
GLOBL sevenBits<>(SB), RODATA|NOPTR, $4

// func follow(x []uint16, t *trace, want int)
TEXT ·follow(SB), NOSPLIT, $0-40
	MOVQ x_base+0(FP), DI
	MOVQ t+24(FP), SI
	MOVQ want+32(FP), CX
	VPBROADCASTD sevenBits<>(SB), Z7
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
