#include "go_asm.h"
#include "textflag.h"

// All bits are set for the bytes of white space below 16: tab, LF, CR.
DATA spaces<>+0(SB)/8, $0x0000000000000000
DATA spaces<>+8(SB)/8, $0x0000FF0000FFFF00
GLOBL spaces<>(SB), RODATA|NOPTR, $16

// The bit of each of eight bytes, twice.
DATA bits<>+0(SB)/8, $0x8040201008040201
DATA bits<>+8(SB)/8, $0x8040201008040201
GLOBL bits<>(SB), RODATA|NOPTR, $16

// CMHS sets all bits of the bytes of d where n is not less than m, unsigned. The
// arguments are numbers of registers.
#define CMHS(m, n, d) WORD $(0x6e203c00 | (m)<<16 | (n)<<5 | (d))

// UMINV leaves the least byte of n in the lowest byte of d.
#define UMINV(n, d) WORD $(0x6e31a800 | (n)<<5 | (d))

// CLASSIFY makes letters lower-case in the 16 bytes in x, and sets all bits of the bytes
// that are letters or digits in word, visible or white space in seen, and white space in
// space. V30 keeps the highest bit of a byte that never was a control character. w and s
// are the numbers of word and seen.
#define CLASSIFY(x, word, seen, space, w, s) \
	VORR V16.B16, x.B16, word.B16     \
	VSUB V17.B16, word.B16, word.B16  \
	CMHS(w, 18, w)                    \ // letters
	VSUB V19.B16, x.B16, seen.B16     \
	CMHS(s, 20, s)                    \ // digits
	VTBL x.B16, [V24.B16], space.B16  \
	VCMEQ V16.B16, x.B16, V31.B16        \
	VORR V31.B16, space.B16, space.B16 \
	VAND V23.B16, word.B16, V31.B16      \
	VORR seen.B16, word.B16, word.B16 \
	VSUB V21.B16, x.B16, seen.B16     \
	CMHS(s, 22, s)                    \ // visible
	VORR V31.B16, x.B16, x.B16        \
	VORR space.B16, seen.B16, seen.B16 \
	VORR x.B16, seen.B16, V31.B16     \
	VAND V31.B16, V30.B16, V30.B16

// QUARTERS makes a mask of 64 bits, in a, of the bytes in a, b, c and d that are all ones
// or all zeros: b, c and d are lost, and the other half of a is a mask of the same.
#define QUARTERS(a, b, c, d) \
	VAND V25.B16, a.B16, a.B16 \
	VAND V25.B16, b.B16, b.B16 \
	VAND V25.B16, c.B16, c.B16 \
	VAND V25.B16, d.B16, d.B16 \
	VADDP b.B16, a.B16, a.B16 \
	VADDP d.B16, c.B16, c.B16 \
	VADDP c.B16, a.B16, a.B16

// POSITIONS writes the positions of the bits of mask, behind that in R2, to p. R14 is lost.
#define POSITIONS(mask, p, loop) \
	RBIT mask, R14 \
	SUB $1, mask, R15 \
	CLZ R14, R14 \
	ANDS R15, mask, mask \
	ADD R2, R14, R14 \
	MOVH.P R14, 2(p) \
	BNE loop

// func cutBlocks(c *cuts, blocks int, lower uint64)
//
// R0 block of the text, R1 blocks left, R2 position, R3 others, R4 starts, R5 ends; R6 and
// R7 are 1 if the last byte of the block before was inside a run, punctuation.
TEXT ·cutBlocks(SB), NOSPLIT, $0-24
	MOVD c+0(FP), R0
	MOVD blocks+8(FP), R1
	MOVD lower+16(FP), R2
	VDUP R2, V23.B16
	VMOVI $0x20, V16.B16 // the space, and what makes a letter lower-case
	VMOVI $0x61, V17.B16
	VMOVI $25, V18.B16
	VMOVI $0x30, V19.B16
	VMOVI $9, V20.B16
	VMOVI $0x21, V21.B16
	VMOVI $93, V22.B16
	MOVD $spaces<>(SB), R2
	VLD1 (R2), [V24.B16]
	MOVD $bits<>(SB), R2
	VLD1 (R2), [V25.B16]
	VMOVI $255, V30.B16
	ADD $cuts_others, R0, R3
	ADD $cuts_starts, R0, R4
	ADD $cuts_ends, R0, R5
	MOVD ZR, R2
	MOVD ZR, R6
	MOVD ZR, R7

block:
	VLD1 (R0), [V0.B16, V1.B16, V2.B16, V3.B16]
	CLASSIFY(V0, V4, V8, V12, 4, 8)
	CLASSIFY(V1, V5, V9, V13, 5, 9)
	CLASSIFY(V2, V6, V10, V14, 6, 10)
	CLASSIFY(V3, V7, V11, V15, 7, 11)
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0)
	QUARTERS(V4, V5, V6, V7)
	QUARTERS(V8, V9, V10, V11)
	QUARTERS(V12, V13, V14, V15)
	VADDP V8.B16, V4.B16, V4.B16
	VADDP V12.B16, V12.B16, V12.B16
	FMOVD F4, R8        // letters and digits
	VMOV V4.D[1], R9    // visible or white space
	FMOVD F12, R10      // white space
	MVN R9, R11         // others
	MOVD.P R11, 8(R3)
	BIC R8, R9, R9
	BIC R10, R9, R9     // punctuation
	ORR R10, R9, R10
	MVN R10, R10        // inside a run
	ORR R10<<1, R6, R11 // inside a run one byte before
	ORR R9<<1, R7, R13  // after punctuation
	LSR $63, R10, R6
	LSR $63, R9, R7
	BIC R11, R10, R12
	ORR R9, R12, R12    // starts
	BIC R10, R11, R11
	ORR R11, R13, R13   // ends
	CBZ R12, started

start:
	POSITIONS(R12, R4, start)

started:
	CBZ R13, ended

end:
	POSITIONS(R13, R5, end)

ended:
	ADD $64, R2
	SUBS $1, R1, R1
	BNE block

	MOVD c+0(FP), R0
	ADD $cuts_starts, R0, R1
	SUB R1, R4, R4
	LSR $1, R4
	MOVD R4, cuts_nStarts(R0)
	ADD $cuts_ends, R0, R1
	SUB R1, R5, R5
	LSR $1, R5
	MOVD R5, cuts_nEnds(R0)
	UMINV(30, 30)
	VMOV V30.B[0], R1
	LSR $7, R1, R1
	EOR $1, R1, R1
	MOVB R1, cuts_controls(R0)
	RET

// func fillQueue(c *cuts, k, parts, other int, cache *wordCache, masks *[maxPiece + 1][4]uint64) int
//
// The hash is that of wordKey.set.
TEXT ·fillQueue(SB), NOSPLIT, $0-56
	MOVD c+0(FP), R0
	MOVD k+8(FP), R1
	MOVD parts+16(FP), R2
	MOVD other+24(FP), R3
	MOVD cache+32(FP), R4
	MOVD masks+40(FP), R5
	ADD $cuts_starts, R0, R6
	ADD R1<<1, R6, R6
	ADD $cuts_ends, R0, R7
	ADD R1<<1, R7, R7
	ADD $cuts_queue, R0, R8
	ADD $cuts_sets, R0, R9
	MOVD $const_golden, R10
	MOVD $const_queueLength, R11
	SUB R1, R2, R2
	CMP R11, R2
	CSEL GT, R11, R2, R2
	MOVD R9, R16
	ADD R2<<1, R9, R17 // where the sets end
	CMP R17, R9
	BHS filled

word:
	MOVHU.P 2(R6), R12
	MOVHU.P 2(R7), R13
	CMP R3, R13
	BGT filled
	SUB R12, R13, R13
	CMP $const_maxCached, R13
	BGT filled
	ADD R12, R0, R12
	ADD R13<<5, R5, R13 // the size of an entry of keyMasks
	VLD1 (R12), [V0.B16]
	VLD1 (R13), [V1.B16]
	VAND V1.B16, V0.B16, V0.B16
	VST1.P [V0.B16], 16(R8)
	VMOV V0.D[1], R14
	FMOVD F0, R15
	MUL R10, R14, R14
	EOR R14@>32, R15, R15
	MUL R10, R15, R15
	LSR $48, R15, R15
	MOVH.P R15, 2(R9)
	ADD R15<<6, R4, R15 // the size of a wordSet
	PRFM (R15), PLDL1KEEP
	CMP R17, R9
	BLO word

filled:
	SUB R16, R9, R9
	LSR $1, R9, R9
	MOVD R9, ret+48(FP)
	RET

// func fetchSlots(c *cuts, k, parts int, pieces *pieceCache, masks *[maxPiece + 1][4]uint64) int
//
// The hash is that of pieceKey.slot.
TEXT ·fetchSlots(SB), NOSPLIT, $0-48
	MOVD c+0(FP), R0
	MOVD k+8(FP), R1
	MOVD parts+16(FP), R2
	MOVD pieces+24(FP), R4
	MOVD masks+32(FP), R5
	ADD $cuts_starts, R0, R6
	ADD R1<<1, R6, R6
	ADD $cuts_ends, R0, R7
	ADD R1<<1, R7, R7
	ADD $cuts_slots, R0, R9
	MOVD $const_golden, R10
	MOVD R9, R16
	SUB R1, R2, R2 // parts left

piece:
	CMP $0, R2
	BLE fetched
	MOVHU.P 2(R6), R12
	MOVHU.P 2(R7), R13
	SUB $1, R2
	SUB R12, R13, R13
	CMP $const_maxPiece, R13
	BGT piece
	ADD R12, R0, R12
	MOVBU (R12), R14
	CMP $0xC2, R14 // the first byte of the first character beyond ASCII
	BLO piece
	SUB $const_firstWideLead, R14, R14
	CMPW $(const_lastWideLead-const_firstWideLead), R14
	BLS piece
	ADD R13<<5, R5, R13 // the size of an entry of keyMasks
	VLD1 (R12), [V0.B16, V1.B16]
	VLD1 (R13), [V2.B16, V3.B16]
	VAND V2.B16, V0.B16, V0.B16
	VAND V3.B16, V1.B16, V1.B16
	FMOVD F0, R12
	VMOV V0.D[1], R13
	FMOVD F1, R14
	VMOV V1.D[1], R15
	MUL R10, R13, R13
	EOR R13@>32, R12, R12
	MUL R10, R12, R12
	MUL R10, R14, R14
	EOR R14@>35, R12, R12
	EOR R15, R12, R12
	MUL R10, R12, R12
	LSR $(64-const_pieceBits), R12, R12
	MOVH.P R12, 2(R9)
	ADD R12<<7, R4, R12 // the size of a pieceSlot
	PRFM (R12), PLDL1KEEP
	ADD $64, R12
	PRFM (R12), PLDL1KEEP
	B piece

fetched:
	SUB R16, R9, R9
	LSR $1, R9, R9
	MOVD R9, ret+40(FP)
	RET
