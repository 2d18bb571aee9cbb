#include "textflag.h"

// Seven bits of each byte; the weights of the bytes of a varint in pairs, 1 and 128, and of
// the pairs, 1 and 1<<14.
DATA unpack<>+0(SB)/4, $0x7f7f7f7f
DATA unpack<>+4(SB)/4, $0x80018001
DATA unpack<>+8(SB)/4, $0x40000001
GLOBL unpack<>(SB), RODATA|NOPTR, $12

// func unpackFours(dst []int32, b []byte, steps *[256]unpackStep) (values, used int)
TEXT ·unpackFours(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), R8
	MOVQ b_base+24(FP), SI
	MOVQ b_len+32(FP), R9
	MOVQ steps+48(FP), R10
	VPBROADCASTD unpack<>+0(SB), X5
	VPBROADCASTD unpack<>+4(SB), X6
	VPBROADCASTD unpack<>+8(SB), X7
	SUBQ $16, R8
	JLT done
	SUBQ $16, R9
	JLT done
	LEAQ (DI)(R8*4), R8 // the last place before which a step may begin
	ADDQ SI, R9         // and the last byte

next:
	CMPQ SI, R9
	JHI done
	CMPQ DI, R8
	JHI done
	VMOVDQU (SI), X0
	VPMOVMSKB X0, AX
	TESTL AX, AX
	JZ sixteen
	MOVBLZX AX, AX
	SHLL $5, AX
	MOVL 16(R10)(AX*1), CX
	MOVL 20(R10)(AX*1), DX
	TESTL CX, CX
	JZ done
	VPSHUFB (R10)(AX*1), X0, X1
	VPAND X5, X1, X1
	VPMADDUBSW X1, X6, X1
	VPMADDWD X7, X1, X1
	VMOVDQU X1, (DI)
	ADDQ CX, DI
	ADDQ DX, SI
	JMP next

sixteen:
	VPMOVZXBD X0, Y1
	VPMOVZXBD 8(SI), Y2
	VMOVDQU Y1, (DI)
	VMOVDQU Y2, 32(DI)
	ADDQ $64, DI
	ADDQ $16, SI
	JMP next

done:
	SUBQ dst_base+0(FP), DI
	SHRQ $2, DI
	MOVQ DI, values+56(FP)
	SUBQ b_base+24(FP), SI
	MOVQ SI, used+64(FP)
	VZEROUPPER
	RET
