#include "go_asm.h"
#include "textflag.h"

// AX  bits, left-aligned
// BX  number of valid bits
// CX  weight of the run's next digit, as a shift
// DX  entry of a table, then the place in it
// SI  next byte of the window
// DI  decodeVector's state
// R8  next byte of the column
// R9  run
// R10 symbols left in the group
// R11 current table
// R12 counts
// R13 moves
// R14, R15 scratch
// Z0  the first 64 entries of the move-to-front list

// TABLE turns the number of a table in R11 into its address.
#define TABLE \
	IMULQ $huffman__size, R11 \
	ADDQ symbolDecoder_tables(DI), R11

// REFILL makes at least 56 bits valid.
#define REFILL \
	MOVBEQ (SI), R14 \
	SHRXQ BX, R14, R14 \
	ORQ R14, AX \
	MOVL $63, R15 \
	SUBL BX, R15 \
	SHRL $3, R15 \
	ADDQ R15, SI \
	ORL $56, BX

// LOOKUP loads the entry for the next bits from a table at offset into R11.
#define LOOKUP(offset) \
	MOVQ AX, DX \
	SHRQ $(64-const_lutBits), DX \
	MOVL offset(R11)(DX*4), DX

// STEP executes the entry in DX, or jumps to slow before it has changed
// anything but scratch registers.
//
// Entries with and without a place take the same way, because which of them
// comes next cannot be predicted. R15 is all ones in those without, which keep
// run and shift; the others write the run and begin a new one.
#define STEP \
	LEAL -1(DX), R14 \
	CMPL R14, $((64<<const_placeField)-1) \
	JAE slow \
	MOVL DX, R14 \
	SHRL $const_runField, R14 \
	MOVBLZX R14, R14 \
	SHLXQ CX, R14, R14 \
	ADDQ R9, R14 \
	CMPQ R14, $const_vectorRun \
	JA slow \
	VPBROADCASTB X0, Y1 \
	VMOVDQU Y1, (R8) \
	MOVQ R14, R9 \
	SHLXQ DX, AX, AX \
	MOVL DX, R14 \
	ANDL $63, R14 \
	SUBL R14, BX \
	MOVL DX, R14 \
	SHRL $const_symbolsField, R14 \
	ANDL $3, R14 \
	SUBQ R14, R10 \
	MOVL DX, R14 \
	SHRL $const_digitsField, R14 \
	ANDL $7, R14 \
	ADDL R14, CX \
	CMPL DX, $(1<<const_placeField) \
	SBBQ R15, R15 \
	ANDL R15, CX \
	ANDNQ R9, R15, R14 \
	ANDQ R15, R9 \
	LEAQ 1(R9)(R15*1), R9 \
	ADDQ R14, R8 \
	VMOVD X0, R15 \
	MOVBLZX R15, R15 \
	ADDL R14, (R12)(R15*4) \
	SHRL $const_placeField, DX \
	SHLL $6, DX \
	VMOVDQU64 (R13)(DX*1), Z2 \
	VPERMB Z0, Z2, Z0

// func decodeVector(s *symbolDecoder)
TEXT ·decodeVector(SB), NOSPLIT, $0-8
	MOVQ s+0(FP), DI
	MOVQ symbolDecoder_bits(DI), AX
	MOVQ symbolDecoder_have(DI), BX
	MOVQ symbolDecoder_pos(DI), SI
	ADDQ symbolDecoder_window(DI), SI
	MOVQ symbolDecoder_n(DI), R8
	ADDQ symbolDecoder_column(DI), R8
	MOVQ symbolDecoder_run(DI), R9
	MOVQ symbolDecoder_shift(DI), CX
	MOVQ symbolDecoder_left(DI), R10
	MOVQ symbolDecoder_group(DI), R14
	MOVQ symbolDecoder_selectors(DI), R15
	MOVBLZX -1(R14)(R15*1), R11
	TABLE
	MOVQ symbolDecoder_count(DI), R12
	LEAQ ·moves(SB), R13
	MOVQ symbolDecoder_list(DI), R14
	VMOVDQU64 (R14), Z0
	CMPQ R10, $const_maxSeveral
	JLT few

several:
	REFILL
	LOOKUP(huffman_several)
	STEP
	CMPQ R10, $const_maxSeveral
	JGE several

few:
	TESTQ R10, R10
	JLE group
	REFILL
	LOOKUP(huffman_one)
	STEP
	JMP few

group:
	MOVQ SI, R14
	SUBQ symbolDecoder_window(DI), R14
	CMPQ R14, symbolDecoder_lastPos(DI)
	JGT slow
	MOVQ R8, R14
	SUBQ symbolDecoder_column(DI), R14
	CMPQ R14, symbolDecoder_lastN(DI)
	JGT slow
	MOVQ symbolDecoder_group(DI), R14
	CMPQ R14, symbolDecoder_groups(DI)
	JGE slow
	MOVQ symbolDecoder_selectors(DI), R15
	MOVBLZX (R14)(R15*1), R11
	TABLE
	INCQ R14
	MOVQ R14, symbolDecoder_group(DI)
	MOVL $const_groupSize, R10
	JMP several

slow:
	MOVQ AX, symbolDecoder_bits(DI)
	MOVQ BX, symbolDecoder_have(DI)
	SUBQ symbolDecoder_window(DI), SI
	MOVQ SI, symbolDecoder_pos(DI)
	SUBQ symbolDecoder_column(DI), R8
	MOVQ R8, symbolDecoder_n(DI)
	MOVQ R9, symbolDecoder_run(DI)
	MOVQ CX, symbolDecoder_shift(DI)
	MOVQ R10, symbolDecoder_left(DI)
	MOVQ symbolDecoder_list(DI), R14
	VMOVDQU64 Z0, (R14)
	VZEROUPPER
	RET
