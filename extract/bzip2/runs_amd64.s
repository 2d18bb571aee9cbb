#include "textflag.h"

// func copyChunks(dst, src *byte, n int) int
//
// Byte i of a comparison is set if src[i] equals each of the three bytes after it.
TEXT ·copyChunks(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	XORL AX, AX
	SUBQ $35, CX

chunk:
	CMPQ AX, CX
	JGT done
	VMOVDQU (SI)(AX*1), Y0
	VPCMPEQB 1(SI)(AX*1), Y0, Y1
	VPCMPEQB 2(SI)(AX*1), Y0, Y2
	VPCMPEQB 3(SI)(AX*1), Y0, Y3
	VMOVDQU Y0, (DI)(AX*1)
	VPAND Y1, Y2, Y2
	VPAND Y2, Y3, Y3
	VPMOVMSKB Y3, DX
	TESTL DX, DX
	JNZ run
	ADDQ $32, AX
	JMP chunk

run:
	BSFL DX, DX
	ADDQ DX, AX

done:
	MOVQ AX, ret+24(FP)
	VZEROUPPER
	RET
