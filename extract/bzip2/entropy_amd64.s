#include "go_asm.h"
#include "textflag.h"

// AX  bits, left-aligned
// BX  number of valid bits; from bit 8 on, symbols left in the group
// CX  weight of the run's next digit, as a shift (higher bits are garbage)
// DX  entry of a table
// SI  next byte of the window
// DI  the column
// R8  where the next part goes
// R9  run
// R10 how far to shift bits for the index of an entry
// R11 current table
// R12 length of the column
// R13 moves64
// R14, R15, BP scratch
// Z0  the first 64 entries of the move-to-front list; in decode16, X0 has the first 16

#define LEFT(symbols) (symbols<<8)

// TABLE turns the number of a table in R11 into its address.
#define TABLE \
	IMULQ $huffman__size, R11 \
	ADDQ column_tables(DI), R11

// REFILL makes at least 56 bits valid, enough for five entries of a table.
#define REFILL \
	MOVBEQ (SI), R14 \
	FILL

// REFILL_AVX2 does the same without the instruction MOVBE.
#define REFILL_AVX2 \
	MOVQ (SI), R14 \
	BSWAPQ R14 \
	FILL

// FILL adds the bits in R14, those of eight bytes.
#define FILL \
	SHRXQ BX, R14, R14 \
	ORQ R14, AX \
	MOVL BX, R15 \
	NOTL R15 \
	ANDL $63, R15 \
	SHRL $3, R15 \
	ADDQ R15, SI \
	ORL $56, BX

// LOOKUP loads the entry for the next bits from a table at offset into R11, and
// jumps to odd if there is none, or its place is places64 or more.
#define LOOKUP(offset) FIND(offset, const_places64)

// LOOKUP_AVX2 does the same for the places of decode16.
#define LOOKUP_AVX2(offset) FIND(offset, const_places16)

#define FIND(offset, places) \
	SHRXQ R10, AX, DX \
	MOVL offset(R11)(DX*4), DX \
	CMPL DX, $(places<<const_placeField) \
	JAE odd

// TAKE takes the codes of the entry in DX, and writes the part that they end; or
// it jumps to slow, before it has changed anything but scratch registers, if the
// part is too long.
//
// Entries with and without a place take the same way, because which of them
// comes next cannot be predicted. R15 is all ones in those without, which keep
// run and shift; the others begin a new run.
#define TAKE \
	RORXL $const_runField, DX, R14 \
	ANDL $15, R14 \
	SHLXQ CX, R14, R14 \
	ADDQ R9, R14 \
	CMPQ R14, $const_maxPart \
	JA slow \
	SHLXQ DX, AX, AX \
	MOVWLZX DX, R15 \
	SUBL R15, BX \
	RORXL $const_digitsField, DX, R15 \
	ADDL R15, CX \
	CMPL DX, $(1<<const_placeField) \
	SBBQ R15, R15 \
	ANDL R15, CX \
	VPEXTRB $0, X0, BP \
	MOVB BP, (R8) \
	MOVB R14, 1(R8) \
	LEAQ 2(R8)(R15*2), R8 \
	MOVQ R14, R9 \
	ANDQ R15, R9 \
	LEAQ 1(R9)(R15*1), R9 \
	ANDNQ R14, R15, R14 \
	ADDQ R14, R12 \
	ADDL R14, column_count(DI)(BP*4)

// MOVE moves the place of the entry in DX, less than places64, to the front.
#define MOVE \
	SHRL $const_placeField, DX \
	SHLL $6, DX \
	VMOVDQU64 (R13)(DX*1), Z2 \
	VPERMB Z0, Z2, Z0

// MOVE_AVX2 does the same for a place less than places16.
#define MOVE_AVX2 \
	SHRL $const_placeField, DX \
	SHLL $4, DX \
	VPSHUFB (R13)(DX*1), X0, X0

// LOAD loads the state of the column, but for the list.
#define LOAD \
	MOVQ column_bits(DI), AX \
	MOVQ column_have(DI), BX \
	MOVQ column_pos(DI), SI \
	ADDQ column_window(DI), SI \
	MOVQ column_parts(DI), R8 \
	LEAQ column_buf(DI)(R8*2), R8 \
	MOVQ column_run(DI), R9 \
	MOVQ column_shift(DI), CX \
	MOVQ column_left(DI), R14 \
	SHLL $8, R14 \
	ORL R14, BX \
	MOVL $(64-const_lutBits), R10 \
	MOVQ column_group(DI), R14 \
	MOVQ column_selectors(DI), R15 \
	MOVBLZX -1(R14)(R15*1), R11 \
	TABLE \
	MOVQ column_n(DI), R12

// SAVE stores the state of the column, but for the list.
#define SAVE \
	MOVQ AX, column_bits(DI) \
	MOVBLZX BX, R14 \
	MOVQ R14, column_have(DI) \
	SHRL $8, BX \
	MOVQ BX, column_left(DI) \
	SUBQ column_window(DI), SI \
	MOVQ SI, column_pos(DI) \
	LEAQ column_buf(DI), R14 \
	SUBQ R14, R8 \
	SHRQ $1, R8 \
	MOVQ R8, column_parts(DI) \
	MOVQ R12, column_n(DI) \
	MOVQ R9, column_run(DI) \
	ANDL $63, CX \
	MOVQ CX, column_shift(DI)

// GROUP begins the next group of symbols, or jumps to slow if plain must make a check
// or load more of the file first.
#define GROUP \
	MOVQ SI, R14 \
	SUBQ column_window(DI), R14 \
	CMPQ R14, column_lastPos(DI) \
	JGT slow \
	CMPQ R12, column_limit(DI) \
	JGT slow \
	MOVQ column_group(DI), R14 \
	CMPQ R14, column_groups(DI) \
	JGE slow \
	MOVQ column_selectors(DI), R15 \
	MOVBLZX (R14)(R15*1), R11 \
	TABLE \
	INCQ R14 \
	MOVQ R14, column_group(DI) \
	ORL $LEFT(const_groupSize), BX

// LONG loads the entry of a code of length lutBits+R15 in R14, left-aligned.
#define LONG \
	MOVL $(32-const_lutBits), BP \
	SUBL R15, BP \
	SHRXL BP, R14, R14 \
	MOVLQSX (huffman_first+4*const_lutBits)(R11)(R15*4), R15 \
	ADDQ R15, R14 \
	MOVL huffman_entries(R11)(R14*4), DX

// func decode64(col *column)
TEXT ·decode64(SB), NOSPLIT, $8-8
	MOVQ col+0(FP), DI
	LOAD
	LEAQ ·moves64(SB), R13
	MOVQ column_list(DI), R14
	VMOVDQU64 (R14), Z0

next:
	CMPL BX, $LEFT(const_maxSeveral)
	JLT few

several:
	REFILL
	LOOKUP(huffman_several)
	TAKE
	MOVE
	CMPL BX, $LEFT(const_maxSeveral)
	JLT few
	LOOKUP(huffman_several)
	TAKE
	MOVE
	CMPL BX, $LEFT(const_maxSeveral)
	JLT few
	LOOKUP(huffman_several)
	TAKE
	MOVE
	CMPL BX, $LEFT(const_maxSeveral)
	JLT few
	LOOKUP(huffman_several)
	TAKE
	MOVE
	CMPL BX, $LEFT(const_maxSeveral)
	JLT few
	LOOKUP(huffman_several)
	TAKE
	MOVE
	CMPL BX, $LEFT(const_maxSeveral)
	JGE several

few:
	CMPL BX, $LEFT(1)
	JLT group
	REFILL
	LOOKUP(huffman_one)
	TAKE
	MOVE
	JMP few

group:
	GROUP
	JMP several

odd:
	// A code that is not in the table: find its length.
	REFILL
	CMPL DX, $const_noEntry
	JNE far
	MOVQ AX, R14
	SHRQ $32, R14
	VPBROADCASTD R14, Z2
	VPCMPUD $1, huffman_above(R11), Z2, K1 // R14 < above
	KMOVW K1, R15
	TESTL R15, R15
	JZ slow
	TZCNTL R15, R15
	JZ slow // of lutBits or fewer: the end of the block
	LONG
	CMPL DX, $(const_places64<<const_placeField)
	JAE far
	TAKE
	MOVE
	JMP next

far:
	// Places 64 to 127 lie in memory: those before it move by one.
	CMPL DX, $((2*const_places64)<<const_placeField)
	JAE slow
	TAKE
	SHRL $const_placeField, DX
	MOVQ column_list(DI), R14
	VMOVDQU64 Z0, (R14)
	VPBROADCASTB (R14)(DX*1), Z3
	VMOVDQU64 63(R14), Z4
	LEAL -63(DX), CX // places 64 to DX: 1 to 64 bytes
	MOVQ $-1, R15
	NEGL CX
	SHRXQ CX, R15, R15
	KMOVQ R15, K1
	VMOVDQU8 Z4, K1, 64(R14)
	VMOVDQU64 (64*(const_places64-1))(R13), Z2
	VPERMB Z0, Z2, Z0
	MOVL $1, R15
	KMOVQ R15, K1
	VMOVDQU8 Z3, K1, Z0
	XORL CX, CX // TAKE began a new run
	JMP next

slow:
	SAVE
	MOVQ column_list(DI), R14
	VMOVDQU64 Z0, (R14)
	VZEROUPPER
	RET

// func decode16(col *column)
TEXT ·decode16(SB), NOSPLIT, $8-8
	MOVQ col+0(FP), DI
	LOAD
	LEAQ ·moves16(SB), R13
	MOVQ column_list(DI), R14
	VMOVDQU (R14), X0

next:
	CMPL BX, $LEFT(const_maxSeveral)
	JLT few

several:
	REFILL_AVX2
	LOOKUP_AVX2(huffman_several)
	TAKE
	MOVE_AVX2
	CMPL BX, $LEFT(const_maxSeveral)
	JLT few
	LOOKUP_AVX2(huffman_several)
	TAKE
	MOVE_AVX2
	CMPL BX, $LEFT(const_maxSeveral)
	JLT few
	LOOKUP_AVX2(huffman_several)
	TAKE
	MOVE_AVX2
	CMPL BX, $LEFT(const_maxSeveral)
	JLT few
	LOOKUP_AVX2(huffman_several)
	TAKE
	MOVE_AVX2
	CMPL BX, $LEFT(const_maxSeveral)
	JLT few
	LOOKUP_AVX2(huffman_several)
	TAKE
	MOVE_AVX2
	CMPL BX, $LEFT(const_maxSeveral)
	JGE several

few:
	CMPL BX, $LEFT(1)
	JLT group
	REFILL_AVX2
	LOOKUP_AVX2(huffman_one)
	TAKE
	MOVE_AVX2
	JMP few

group:
	GROUP
	JMP several

odd:
	// A code that is not in the table: find its length.
	REFILL_AVX2
	CMPL DX, $const_noEntry
	JNE far
	MOVQ AX, R14
	SHRQ $32, R14
	VMOVD R14, X2
	VPBROADCASTD X2, Y2
	VPMAXUD huffman_above(R11), Y2, Y5
	VPMAXUD (huffman_above+32)(R11), Y2, Y6
	VPCMPEQD Y2, Y5, Y5 // not R14 < above
	VPCMPEQD Y2, Y6, Y6
	VMOVMSKPS Y5, R15
	VMOVMSKPS Y6, BP
	SHLL $8, BP
	ORL BP, R15
	XORL $0xffff, R15
	JZ slow
	TZCNTL R15, R15
	JZ slow // of lutBits or fewer: the end of the block
	LONG
	CMPL DX, $(const_places16<<const_placeField)
	JAE far
	TAKE
	MOVE_AVX2
	JMP next

far:
	// Places 16 to 47 lie in memory: those before it move by one.
	CMPL DX, $((3*const_places16)<<const_placeField)
	JAE slow
	TAKE
	SHRL $const_placeField, DX
	MOVQ column_list(DI), R14
	VMOVDQU X0, (R14)
	MOVBLZX (R14)(DX*1), BP
	VMOVDQU (const_places16-1)(R14), Y4
	VMOVDQU const_places16(R14), Y5
	LEAQ ·uptoPlace(SB), R15
	SUBQ DX, R15
	VMOVDQU (3*const_places16-1)(R15), Y6 // ones for places 16 to DX
	VPBLENDVB Y6, Y4, Y5, Y5
	VMOVDQU Y5, const_places16(R14)
	VPSHUFB (16*(const_places16-1))(R13), X0, X0
	VPINSRB $0, BP, X0, X0
	XORL CX, CX // TAKE began a new run
	JMP next

slow:
	SAVE
	MOVQ column_list(DI), R14
	VMOVDQU X0, (R14)
	VZEROUPPER
	RET
