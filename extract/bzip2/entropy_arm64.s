#include "go_asm.h"
#include "textflag.h"

// R0  bits, left-aligned
// R1  number of valid bits; from bit 8 on, symbols left in the group
// R2  weight of the run's next digit, as a shift (higher bits are garbage)
// R3  entry of a table
// R4  next byte of the window
// R5  the column, from its field bits on
// R6  where the next part goes
// R7  run
// R8  current table; R16 its table of several symbols
// R9  length of the column
// R10 moves16
// R11 numbers of occurrences
// R12 place of the entry
// R13, R14, R15 scratch
// V0  the first 16 entries of the move-to-front list

#define FIELD(name) (name-column_bits)(R5)

#define LEFT(symbols) (symbols<<8)

// TABLE makes the table of number R8 the current one; R13 is lost.
#define TABLE \
	MOVD $huffman__size, R13 \
	MOVD FIELD(column_tables), R16 \
	MADD R13, R16, R8, R8 \
	ADD $huffman_several, R8, R16

// REFILL makes at least 56 bits valid, enough for five entries of a table.
#define REFILL \
	MOVD (R4), R13 \
	MVN R1, R14 \
	REV R13, R13 \
	UBFX $3, R14, $3, R14 \
	LSR R1, R13, R13 \
	ADD R14, R4, R4 \
	ORR R13, R0, R0 \
	ORR $56, R1, R1

// LOOKUP loads the entry for the next bits from a table, and jumps to odd if there is
// none, or its place is places16 or more.
#define LOOKUP(table) \
	LSR $(64-const_lutBits), R0, R3 \
	MOVWU (table)(R3<<2), R3 \
	LSR $const_placeField, R3, R12 \
	CMP $const_places16, R12 \
	BHS odd

// TAKE takes the codes of the entry in R3, and writes the part that they end; or it jumps
// to slow, before it has changed anything but scratch registers, if the part is too long.
//
// Entries with and without a place take the same way, because which of them comes next
// cannot be predicted. Those without keep run and shift; the others begin a new run.
#define TAKE \
	UBFX $const_runField, R3, $4, R13 \
	LSL R2, R13, R13 \
	ADD R7, R13, R13 \
	CMP $const_maxPart, R13 \
	BHI slow \
	VMOV V0.B[0], R14 \
	LSL R3, R0, R0 \
	SUB R3.UXTH, R1, R1 \
	ADD R3>>const_digitsField, R2, R2 \
	ORR R13<<8, R14, R15 \
	MOVH R15, (R6) \
	ADD $2, R6, R15 \
	CMP $0, R12 \
	CSEL EQ, R6, R15, R6 \
	MOVWU (R11)(R14<<2), R15 \
	CSEL EQ, R2, ZR, R2 \
	CSINC EQ, R13, ZR, R7 \
	CSEL EQ, ZR, R13, R13 \
	ADD R13, R9, R9 \
	ADD R13, R15, R15 \
	MOVW R15, (R11)(R14<<2)

// MOVE moves the place in R12, less than places16, to the front.
#define MOVE \
	ADD R12<<4, R10, R13 \
	VLD1 (R13), [V1.B16] \
	VTBL V1.B16, [V0.B16], V0.B16

// NEXT decodes the next entry of several symbols, or jumps to few at the end of a group.
#define NEXT \
	CMPW $LEFT(const_maxSeveral), R1 \
	BLT few \
	LOOKUP(R16) \
	TAKE \
	MOVE

// func decode16(col *column)
TEXT ·decode16(SB), NOSPLIT, $0-8
	MOVD col+0(FP), R5
	ADD $column_buf, R5, R6
	ADD $column_count, R5, R11
	MOVD $column_bits, R13
	ADD R13, R5, R5
	MOVD (column_parts-column_bits)(R5), R13
	ADD R13<<1, R6, R6
	MOVD FIELD(column_bits), R0
	MOVD FIELD(column_have), R1
	MOVD FIELD(column_pos), R4
	MOVD FIELD(column_window), R13
	ADD R13, R4, R4
	MOVD FIELD(column_run), R7
	MOVD FIELD(column_shift), R2
	MOVD FIELD(column_left), R13
	ORR R13<<8, R1, R1
	MOVD FIELD(column_group), R13
	MOVD FIELD(column_selectors), R14
	ADD R13, R14, R14
	MOVBU -1(R14), R8
	TABLE
	MOVD FIELD(column_n), R9
	MOVD $·moves16(SB), R10
	MOVD FIELD(column_list), R13
	VLD1 (R13), [V0.B16]

next:
	CMPW $LEFT(const_maxSeveral), R1
	BLT few

several:
	REFILL
	LOOKUP(R16)
	TAKE
	MOVE
	NEXT
	NEXT
	NEXT
	NEXT
	CMPW $LEFT(const_maxSeveral), R1
	BGE several

few:
	CMPW $LEFT(1), R1
	BLT group
	REFILL
	LOOKUP(R8)
	TAKE
	MOVE
	B few

group:
	// Begin the next group of symbols, unless plain must make a check or load more of
	// the file first.
	MOVD FIELD(column_window), R13
	MOVD FIELD(column_lastPos), R14
	SUB R13, R4, R13
	CMP R14, R13
	BGT slow
	MOVD FIELD(column_limit), R13
	CMP R13, R9
	BGT slow
	MOVD FIELD(column_group), R14
	MOVD FIELD(column_groups), R13
	CMP R13, R14
	BGE slow
	MOVD FIELD(column_selectors), R13
	MOVBU (R13)(R14), R8
	ADD $1, R14, R14
	MOVD R14, FIELD(column_group)
	TABLE
	ADD $LEFT(const_groupSize), R1, R1
	B several

// CMHI sets all bits of the words of d where n is greater than m, unsigned. The arguments
// are numbers of registers.
#define CMHI(m, n, d) WORD $(0x6ea03400 | (m)<<16 | (n)<<5 | (d))

odd:
	// A code that is not in the table: find its length. The limits never fall, so the
	// number of those above the bits, of the lengths from lutBits on, is enough.
	REFILL
	CMP $(const_noEntry>>const_placeField), R12
	BNE far
	LSR $32, R0, R14
	VDUP R14, V2.S4
	ADD $huffman_above, R8, R13
	VLD1 (R13), [V4.S4, V5.S4, V6.S4, V7.S4]
	CMHI(2, 4, 4)
	CMHI(2, 5, 5)
	CMHI(2, 6, 6)
	CMHI(2, 7, 7)
	VADD V4.S4, V5.S4, V4.S4
	VADD V6.S4, V7.S4, V6.S4
	VADD V4.S4, V6.S4, V4.S4
	VADDV V4.S4, V4
	VMOV V4.S[0], R15
	CBZW R15, slow
	ADDW $(const_maxCodeLen-const_lutBits+1), R15, R15 // minus the number: the length from lutBits on
	CBZW R15, slow                                     // of lutBits or fewer: the end of the block
	MOVD $(32-const_lutBits), R13
	SUB R15, R13, R13
	LSR R13, R14, R14
	ADD $(huffman_first+4*const_lutBits), R8, R13
	MOVW (R13)(R15<<2), R13
	ADD R13, R14, R14
	ADD $huffman_entries, R8, R13
	MOVWU (R13)(R14<<2), R3
	LSR $const_placeField, R3, R12
	CMP $const_places16, R12
	BHS far
	TAKE
	MOVE
	B next

far:
	// Places 16 to 47 lie in memory: those before it move by one.
	CMP $(3*const_places16), R12
	BHS slow
	TAKE
	MOVD FIELD(column_list), R13
	VST1 [V0.B16], (R13)
	MOVBU (R13)(R12), R14
	ADD $(const_places16-1), R13, R15
	VLD1 (R15), [V4.B16, V5.B16]
	ADD $const_places16, R13, R13
	VLD1 (R13), [V6.B16, V7.B16]
	MOVD $·uptoPlace(SB), R15
	SUB R12, R15, R15
	ADD $(3*const_places16-1), R15, R15
	VLD1 (R15), [V2.B16, V3.B16] // ones for places 16 to R12
	VBIT V2.B16, V4.B16, V6.B16
	VBIT V3.B16, V5.B16, V7.B16
	VST1 [V6.B16, V7.B16], (R13)
	ADD $(16*(const_places16-1)), R10, R13
	VLD1 (R13), [V1.B16]
	VTBL V1.B16, [V0.B16], V0.B16
	VMOV R14, V0.B[0]
	B next

slow:
	MOVD R0, FIELD(column_bits)
	AND $0xff, R1, R13
	MOVD R13, FIELD(column_have)
	LSR $8, R1, R1
	MOVD R1, FIELD(column_left)
	MOVD FIELD(column_window), R13
	SUB R13, R4, R4
	MOVD R4, FIELD(column_pos)
	MOVD R9, FIELD(column_n)
	MOVD R7, FIELD(column_run)
	AND $63, R2, R2
	MOVD R2, FIELD(column_shift)
	MOVD FIELD(column_list), R13
	VST1 [V0.B16], (R13)
	MOVD col+0(FP), R13
	ADD $column_buf, R13, R13
	SUB R13, R6, R6
	LSR $1, R6, R6
	MOVD R6, FIELD(column_parts)
	RET
