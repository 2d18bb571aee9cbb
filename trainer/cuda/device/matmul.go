package device

// A DataType is the type of a matrix's elements.
type DataType uint8

// The types of elements.
const (
	Float32 DataType = iota
	BFloat16
	Float16

	// The 8-bit formats of the OCP 8-bit Floating Point Specification, revision 1.0: E4M3
	// has no infinities and numbers up to 448, E5M2 has numbers up to 57,344.
	Float8E4M3
	Float8E5M2
)

// Size returns the bytes of an element.
func (t DataType) Size() int {
	switch {
	case t == Float32:
		return 4
	case t.Eight():
		return 1
	}
	return 2
}

// Eight reports whether elements have 8 bits.
func (t DataType) Eight() bool { return t == Float8E4M3 || t == Float8E5M2 }

// A Matmul is the shape of products that [Device.Plan] prepares:
//
//	D = epilogue(Alpha·op(A)·op(B) + Beta·C)
//
// as cublasLtMatmul computes it: matrices are column-major, and sums have at least
// single precision. op(A) is (M, K), op(B) is (K, N), C and D are (M, N). op
// transposes if TransA or TransB is set: A is stored as (M, K), or as (K, M) with
// TransA. The rest of this module describes matrices as row-major; a row-major
// (rows, width) matrix is (width, rows) here. So y = x·Wᵀ has M = out, N = rows,
// K = in, A = W with TransA, and B = x.
//
// Products of 8-bit types need compute capability 8.9: A is transposed, B is not, M, N and K
// are multiples of 16, and not both are [Float8E5M2]. The result is BFloat16 or Float32.
type Matmul struct {
	M, N, K        int
	TransA, TransB bool
	LDA, LDB, LDD  int      // elements from one stored column to the next; LDD applies to C too
	Type           DataType // of A and B
	TypeB          DataType // of B instead, if Type has 8 bits
	Result         DataType // of C and D: Type or Float32
	Epilogue       Epilogue
	AuxLD          int // elements from one stored column of Aux to the next, for epilogues with Aux; a multiple of 8
}

// B returns the type of B.
func (m Matmul) B() DataType {
	if m.Type.Eight() {
		return m.TypeB
	}
	return m.Type
}

// An Epilogue is an operation on x = Alpha·op(A)·op(B) + Beta·C before D is
// stored. Bias, its gradient and Aux have D's type. A bias has an element for
// each of the M rows. Bias gradients are stored, not added. GELU has the tanh
// form.
type Epilogue uint8

// The epilogues.
const (
	None        Epilogue = iota // D = x
	Bias                        // D = x + bias
	GELUAuxBias                 // Aux = x + bias, D = gelu(Aux)
	DGELU                       // D = x·gelu'(Aux)
	DGELUBGrad                  // D = x·gelu'(Aux); bias = sums of D's rows
	BGradA                      // D = x; bias = sums of op(A)'s rows
	BGradB                      // D = x; bias (N) = sums of op(B)'s columns
)

// Operands are the arguments of one product. Addresses are multiples of 16.
type Operands struct {
	A, B        Pointer
	C           Pointer // read only if Beta is not 0; zero means D
	D           Pointer // equals C or does not overlap it; never overlaps another operand
	Bias, Aux   Pointer // zero if the epilogue does not use them
	Alpha, Beta float32

	// The factors of 8-bit operands, float32 in device memory: op(A) and op(B) are
	// multiplied by them. Other types ignore them.
	ScaleA, ScaleB Pointer

	Workspace Pointer // scratch memory of at least the size passed to Plan, at a multiple of 256; in use until the product is done
}
