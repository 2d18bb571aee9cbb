#include "go_asm.h"
#include "textflag.h"

// CHAIN advances chain j by one row: it writes the byte of the chain's entry and
// loads the next entry. CX collects the bits of all entries.
//
// The entries of so many chains are in memory, where they wait for less than for
// the table.
#define CHAIN(j) \
	MOVL (j*4)(SI), AX \
	MOVB AX, (j*(const_chainCap+const_chainPad))(BX) \
	SHRL $8, AX \
	MOVL (DI)(AX*4), AX \
	MOVL AX, (j*4)(SI) \
	ORL AX, CX

#define FOUR(j) \
	CHAIN(j) \
	CHAIN((j+1)) \
	CHAIN((j+2)) \
	CHAIN((j+3))

// func strideChains(t *table, x *[chains]uint32, p int, out *[chains][chainCap + chainPad]byte) int
TEXT ·strideChains(SB), NOSPLIT, $0-40
	MOVQ t+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ out+24(FP), BX
	LEAQ const_chainCap(BX), R8
	ADDQ p+16(FP), BX
	XORL CX, CX
	XORL DX, DX

entry:
	ORL (SI)(DX*4), CX
	INCL DX
	CMPL DX, $const_chains
	JLT entry
	TESTL CX, CX
	JS done // marked

row:
	FOUR(0)
	FOUR(4)
	FOUR(8)
	FOUR(12)
	FOUR(16)
	FOUR(20)
	INCQ BX
	CMPQ BX, R8
	JEQ done
	TESTL CX, CX
	JNS row

done:
	SUBQ out+24(FP), BX
	MOVQ BX, ret+32(FP)
	RET
