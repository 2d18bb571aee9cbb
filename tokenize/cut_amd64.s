#include "go_asm.h"
#include "textflag.h"

// White space by the low half of the byte, which is compared with the byte:
// space, tab, LF, CR. No byte equals 0xFF at the index of its own low half
// except 0xFF itself, which VPSHUFB turns into 0.
DATA spaces<>+0(SB)/8, $0xFFFFFFFFFFFFFF20
DATA spaces<>+8(SB)/8, $0xFFFF0DFFFF0A09FF
GLOBL spaces<>(SB), RODATA|NOPTR, $16

DATA letterCase<>+0(SB)/1, $0x20
GLOBL letterCase<>(SB), RODATA|NOPTR, $1

DATA letterA<>+0(SB)/1, $0x61
GLOBL letterA<>(SB), RODATA|NOPTR, $1

DATA lastLetter<>+0(SB)/1, $25
GLOBL lastLetter<>(SB), RODATA|NOPTR, $1

DATA digit0<>+0(SB)/1, $0x30
GLOBL digit0<>(SB), RODATA|NOPTR, $1

DATA lastDigit<>+0(SB)/1, $9
GLOBL lastDigit<>(SB), RODATA|NOPTR, $1

DATA one<>+0(SB)/1, $1
GLOBL one<>(SB), RODATA|NOPTR, $1

// one more than the space
DATA aboveSpace<>+0(SB)/1, $0x21
GLOBL aboveSpace<>(SB), RODATA|NOPTR, $1

// CLASSIFY reads 32 bytes at off(SI) and writes them back with letters in lower
// case. It leaves the bytes in Y0 and sets all bits of the bytes that are letters
// or digits in Y2, visible in Y3 and white space in Y4.
//
// Adding 1 makes the greatest byte of ASCII, which is a control character, the
// least signed number, so one comparison finds what is visible.
#define CLASSIFY(off) \
	VMOVDQU off(SI), Y0     \
	VPOR Y8, Y0, Y1         \
	VPSUBB Y9, Y1, Y1       \
	VPMINUB Y10, Y1, Y2     \
	VPCMPEQB Y1, Y2, Y1     \ // letters
	VPSUBB Y11, Y0, Y2      \
	VPMINUB Y12, Y2, Y3     \
	VPCMPEQB Y2, Y3, Y2     \ // digits
	VPADDB Y13, Y0, Y3      \
	VPCMPGTB Y14, Y3, Y3    \
	VPSHUFB Y0, Y15, Y4     \
	VPCMPEQB Y0, Y4, Y4     \
	VPOR Y1, Y2, Y2         \
	VPAND Y7, Y1, Y1        \
	VPOR Y1, Y0, Y0         \
	VMOVDQU Y0, off(SI)

// JOIN makes a mask of 64 bytes of that of the first 32 in low and of those
// that are set in high.
#define JOIN(high, low) \
	VPMOVMSKB high, R13     \
	SHLQ $32, R13           \
	ORQ R13, low

// func cutBlocks(c *cuts, blocks int, lower uint64)
//
// SI block of the text, DX its position, CX blocks left, DI others, R8 starts,
// R9 ends; R10 and R11 are 1 if the last byte of the block before was inside a
// run, punctuation.
TEXT ·cutBlocks(SB), NOSPLIT, $0-24
	MOVQ c+0(FP), SI
	MOVQ blocks+8(FP), CX
	MOVQ lower+16(FP), AX
	MOVQ AX, X7
	VPBROADCASTB X7, Y7
	VPBROADCASTB letterCase<>(SB), Y8
	VPBROADCASTB letterA<>(SB), Y9
	VPBROADCASTB lastLetter<>(SB), Y10
	VPBROADCASTB digit0<>(SB), Y11
	VPBROADCASTB lastDigit<>(SB), Y12
	VPBROADCASTB one<>(SB), Y13
	VPBROADCASTB aboveSpace<>(SB), Y14
	VBROADCASTI128 spaces<>(SB), Y15
	LEAQ cuts_others(SI), DI
	LEAQ cuts_starts(SI), R8
	LEAQ cuts_ends(SI), R9
	MOVB $0, cuts_controls(SI)
	XORQ DX, DX
	XORQ R10, R10
	XORQ R11, R11

block:
	CLASSIFY(0)
	VPMOVMSKB Y2, AX
	VPMOVMSKB Y3, BX
	VPMOVMSKB Y4, R12
	VPMOVMSKB Y0, R15
	CLASSIFY(32)
	JOIN(Y2, AX)      // letters and digits
	JOIN(Y3, BX)
	JOIN(Y4, R12)
	JOIN(Y0, R15)
	ANDNQ BX, AX, BX  // punctuation
	ORQ BX, R12
	NOTQ R12          // inside a run
	ANDNQ R12, AX, AX // others
	MOVQ AX, (DI)
	ANDNQ AX, R15, R15
	JNZ control

classified:
	LEAQ (R10)(R12*2), R13 // inside a run one byte before
	LEAQ (R11)(BX*2), R15  // after punctuation
	MOVQ R12, R10
	SHRQ $63, R10
	MOVQ BX, R11
	SHRQ $63, R11
	ANDNQ R12, R13, R14
	ORQ BX, R14       // starts
	ANDNQ R13, R12, R12
	ORQ R12, R15      // ends
	TESTQ R14, R14
	JZ started

start:
	TZCNTQ R14, AX
	ADDQ DX, AX
	MOVW AX, (R8)
	ADDQ $2, R8
	BLSRQ R14, R14
	JNZ start

started:
	TESTQ R15, R15
	JZ ended

end:
	TZCNTQ R15, AX
	ADDQ DX, AX
	MOVW AX, (R9)
	ADDQ $2, R9
	BLSRQ R15, R15
	JNZ end

ended:
	ADDQ $8, DI
	ADDQ $64, SI
	ADDQ $64, DX
	DECQ CX
	JNZ block

	MOVQ c+0(FP), SI
	LEAQ cuts_starts(SI), AX
	SUBQ AX, R8
	SHRQ $1, R8
	MOVQ R8, cuts_nStarts(SI)
	LEAQ cuts_ends(SI), AX
	SUBQ AX, R9
	SHRQ $1, R9
	MOVQ R9, cuts_nEnds(SI)
	VZEROUPPER
	RET

control:
	MOVQ c+0(FP), R13
	MOVB $1, cuts_controls(R13)
	JMP classified

// func fillQueue(c *cuts, k, parts, other int, cache *wordCache, masks *[maxPiece + 1][4]uint64) int
//
// The hash is that of wordKey.set.
TEXT ·fillQueue(SB), NOSPLIT, $0-56
	MOVQ c+0(FP), SI
	MOVQ k+8(FP), BX
	MOVQ parts+16(FP), CX
	MOVQ other+24(FP), DX
	MOVQ cache+32(FP), DI
	MOVQ masks+40(FP), R12
	LEAQ cuts_starts(SI), R8
	LEAQ (R8)(BX*2), R8
	LEAQ cuts_ends(SI), R9
	LEAQ (R9)(BX*2), R9
	LEAQ cuts_queue(SI), R10
	LEAQ cuts_sets(SI), R11
	MOVQ $const_golden, R13
	XORQ AX, AX
	SUBQ BX, CX
	CMPQ CX, $const_queueLength
	JLE word
	MOVQ $const_queueLength, CX

word:
	CMPQ AX, CX
	JGE filled
	MOVWLZX (R8)(AX*2), BX
	MOVWLZX (R9)(AX*2), R14
	CMPQ R14, DX
	JGT filled
	SUBQ BX, R14
	CMPQ R14, $const_maxCached
	JGT filled
	SHLQ $5, R14 // the size of an entry of keyMasks
	VMOVDQU (SI)(BX*1), X0
	VPAND (R12)(R14*1), X0, X0
	VMOVDQU X0, (R10)
	VPEXTRQ $1, X0, R14
	VMOVQ X0, BX
	IMULQ R13, R14
	ROLQ $32, R14
	XORQ R14, BX
	IMULQ R13, BX
	SHRQ $48, BX
	MOVW BX, (R11)(AX*2)
	SHLQ $6, BX // the size of a wordSet
	PREFETCHT0 (DI)(BX*1)
	ADDQ $16, R10
	INCQ AX
	JMP word

filled:
	MOVQ AX, ret+48(FP)
	RET

// func fetchSlots(c *cuts, k, parts int, pieces *pieceCache, masks *[maxPiece + 1][4]uint64) int
//
// The hash is that of pieceKey.slot.
TEXT ·fetchSlots(SB), NOSPLIT, $0-48
	MOVQ c+0(FP), SI
	MOVQ k+8(FP), BX
	MOVQ parts+16(FP), CX
	MOVQ pieces+24(FP), DI
	MOVQ masks+32(FP), R12
	LEAQ cuts_starts(SI), R8
	LEAQ (R8)(BX*2), R8
	LEAQ cuts_ends(SI), R9
	LEAQ (R9)(BX*2), R9
	LEAQ cuts_slots(SI), R10
	MOVQ $const_golden, R13
	XORQ AX, AX // slots
	SUBQ BX, CX // parts left

piece:
	TESTQ CX, CX
	JLE fetched
	MOVWLZX (R8), BX
	MOVWLZX (R9), R14
	ADDQ $2, R8
	ADDQ $2, R9
	DECQ CX
	SUBQ BX, R14
	CMPQ R14, $const_maxPiece
	JGT piece
	MOVBLZX (SI)(BX*1), R15
	CMPL R15, $0xC2 // the first byte of the first character beyond ASCII
	JLT piece
	SUBL $const_firstWideLead, R15
	CMPL R15, $const_lastWideLead-const_firstWideLead
	JLS piece
	SHLQ $5, R14 // the size of an entry of keyMasks
	VMOVDQU (SI)(BX*1), Y0
	VPAND (R12)(R14*1), Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VMOVQ X0, BX
	VPEXTRQ $1, X0, R14
	IMULQ R13, R14
	ROLQ $32, R14
	XORQ R14, BX
	IMULQ R13, BX
	VMOVQ X1, R14
	IMULQ R13, R14
	ROLQ $29, R14
	XORQ R14, BX
	VPEXTRQ $1, X1, R14
	XORQ R14, BX
	IMULQ R13, BX
	SHRQ $(64-const_pieceBits), BX
	MOVW BX, (R10)(AX*2)
	SHLQ $7, BX // the size of a pieceSlot
	PREFETCHT0 (DI)(BX*1)
	PREFETCHT0 64(DI)(BX*1)
	INCQ AX
	JMP piece

fetched:
	MOVQ AX, ret+40(FP)
	VZEROUPPER
	RET
