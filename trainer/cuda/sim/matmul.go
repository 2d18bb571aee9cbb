package sim

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"pretext/trainer/cuda/device"
)

// A DataType is the type of the elements of a matrix.
type DataType = device.DataType

// The element types that products support.
const (
	Float32  = device.Float32
	BFloat16 = device.BFloat16
	Float16  = device.Float16
)

// A Matrix describes a matrix in device memory, stored column by column or, with
// RowMajor, row by row.
type Matrix struct {
	At         Pointer
	Type       DataType
	Rows, Cols int
	LD         int // elements from the start of a column (RowMajor: row) to the start of the next
	RowMajor   bool
}

// An Epilogue is an operation that a matrix product applies to its result before
// it stores it, such as adding a bias.
type Epilogue = device.Epilogue

// The epilogues; see [device.Epilogue].
const (
	None        = device.None
	Bias        = device.Bias
	GELUAuxBias = device.GELUAuxBias
	DGELU       = device.DGELU
	DGELUBGrad  = device.DGELUBGrad
	BGradA      = device.BGradA
	BGradB      = device.BGradB
)

// A Matmul describes the matrix product D = epilogue(Alpha·op(A)·op(B) + Beta·C)
// with the semantics of cublasLtMatmul, where op transposes or does nothing. Sums
// are in single precision or better. If C.At is 0, C is D. D may be the same matrix
// as C, but must not overlap any other operand.
type Matmul struct {
	A, B, C, D     Matrix
	TransA, TransB bool
	Alpha, Beta    float32
	ScaleA, ScaleB Pointer // factors of 8-bit operands, float32
	Epilogue       Epilogue
	Bias           Pointer
	Aux            Pointer // input of GELU, stored or read by the epilogue; type of D, by columns
	AuxLD          int     // elements from a column of Aux to the next; a multiple of 8
	Workspace      Pointer // of WorkspaceSize bytes, all of which the product may overwrite
	WorkspaceSize  int

	time time.Duration // what it takes, for Elapsed
}

// check returns a [*Fault] if cuBLASLt would refuse this product, and otherwise nil.
func (m *Matmul) check(k int) error {
	bad := func(format string, a ...any) error {
		return &Fault{Kind: BadMatmul, Kernel: "matmul", Detail: fmt.Sprintf(format, a...)}
	}
	am, ak := shape(m.A, m.TransA)
	bk, bn := shape(m.B, m.TransB)
	if am != m.D.Rows || bn != m.D.Cols || ak != bk || k < 1 || m.C.Rows != m.D.Rows || m.C.Cols != m.D.Cols {
		return bad("%d×%d times %d×%d to %d×%d, plus %d×%d", am, ak, bk, bn, m.D.Rows, m.D.Cols, m.C.Rows, m.C.Cols)
	}
	for name, x := range map[string]Matrix{"A": m.A, "B": m.B, "C": m.C, "D": m.D} {
		least := x.Rows
		if x.RowMajor {
			least = x.Cols
		}
		if x.LD < least || int(x.At)%x.Type.Size() != 0 {
			return bad("%s has %d elements from one row or column of %d to the next, and lies at %#x", name, x.LD, least, uint64(x.At))
		}
	}
	if m.A.Type.Eight() || m.B.Type.Eight() {
		if err := m.checkEight(k); err != nil {
			return err
		}
	} else if m.A.Type != m.B.Type || m.C.Type != m.D.Type || m.D.Type != m.A.Type && m.D.Type != Float32 {
		return bad("types %d, %d to %d", m.A.Type, m.B.Type, m.D.Type)
	}
	if m.Epilogue != None && (m.D.RowMajor || m.Epilogue != DGELU && m.Bias == 0) {
		return bad("epilogue %d: D must lie by columns, and a bias must be given", m.Epilogue)
	}
	if m.Epilogue == GELUAuxBias || m.Epilogue == DGELU || m.Epilogue == DGELUBGrad {
		if m.Aux == 0 || m.AuxLD < m.D.Rows || m.AuxLD%8 != 0 {
			return bad("Aux with %d elements from one column to the next: at least %d, and a multiple of 8", m.AuxLD, m.D.Rows)
		}
	}
	return nil
}

// shape returns the rows and columns of x, or of its transpose if trans is set.
func shape(x Matrix, trans bool) (rows, cols int) {
	if trans {
		return x.Cols, x.Rows
	}
	return x.Rows, x.Cols
}

// multiply computes the product m and stores it in D.
func (d *Device) multiply(m Matmul) error {
	if m.C.At == 0 {
		m.C = m.D
	}
	rows, k := shape(m.A, m.TransA)
	cols := m.D.Cols
	if err := m.check(k); err != nil {
		return err
	}
	if err := d.useWorkspace(m); err != nil {
		return err
	}
	a, err := d.matrix(m.A, m.TransA)
	if err != nil {
		return err
	}
	b, err := d.matrix(m.B, m.TransB)
	if err != nil {
		return err
	}
	factor, err := d.scales(m)
	if err != nil {
		return err
	}
	x := make([]float64, rows*cols) // by rows
	if m.Beta != 0 {
		if x, err = d.matrix(m.C, false); err != nil {
			return err
		}
	}
	sum := make([]float64, cols)
	for i := range rows {
		clear(sum)
		d.addTerms(sum, a[i*k:(i+1)*k], b, m.A.Type)
		for j, v := range x[i*cols : (i+1)*cols] {
			x[i*cols+j] = float64(float32(factor*sum[j] + float64(m.Beta)*v))
		}
	}
	if err := d.finish(m, x, a, b); err != nil {
		return err
	}
	return d.store(m.D, x)
}

// finish applies the epilogue of m to the result x (rows of D, columns of D). a
// and b are the factors op(A) and op(B), whose sums the bias gradients need.
func (d *Device) finish(m Matmul, x, a, b []float64) error {
	rows, cols := m.D.Rows, m.D.Cols
	aux := Matrix{At: m.Aux, Type: m.D.Type, Rows: rows, Cols: cols, LD: m.AuxLD}
	bias := Matrix{At: m.Bias, Type: m.D.Type, Rows: rows, Cols: 1, LD: rows}
	switch m.Epilogue {
	case Bias, GELUAuxBias:
		v, err := d.matrix(bias, false)
		if err != nil {
			return err
		}
		for i := range x {
			x[i] += v[i/cols]
		}
		if m.Epilogue == Bias {
			return nil
		}
		if err := d.store(aux, x); err != nil {
			return err
		}
		for i, v := range x {
			x[i], _ = d.gelu(v)
		}
	case DGELU, DGELUBGrad:
		u, err := d.matrix(aux, false)
		if err != nil {
			return err
		}
		for i, v := range u {
			_, slope := d.gelu(v)
			x[i] *= slope
		}
		if m.Epilogue == DGELUBGrad {
			return d.store(bias, sums(x, rows, cols))
		}
	case BGradA:
		return d.store(bias, sums(a, rows, len(a)/rows))
	case BGradB:
		bias.Rows, bias.LD = cols, cols
		total := make([]float64, cols)
		for i, v := range b {
			total[i%cols] += v
		}
		return d.store(bias, total)
	}
	return nil
}

// gelu returns GELU(x) by the tanh approximation, and its derivative at x, with tanh off by
// Options.EpilogueTanh.
func (d *Device) gelu(x float64) (y, slope float64) {
	const c = 0.7978845608028654 // √(2/π)
	t := math.Tanh(c*(x+0.044715*x*x*x)) * (1 - d.options.EpilogueTanh)
	return 0.5 * x * (1 + t), 0.5*(1+t) + 0.5*x*(1-t*t)*c*(1+3*0.044715*x*x)
}

// sums returns the sum of each row of x (rows, cols).
func sums(x []float64, rows, cols int) []float64 {
	s := make([]float64, rows)
	for i, v := range x {
		s[i/cols] += v
	}
	return s
}

// lines calls f for every line of x that is contiguous in memory: for each column or, with
// RowMajor, for each row. b has the bytes of the line. In a row-major copy of x, the elements
// of the line have the indices first, first + step, first + 2·step, ….
func (d *Device) lines(x Matrix, how access, f func(b []byte, first, step int)) error {
	lines, length, first, step := x.Cols, x.Rows, 1, x.Cols
	if x.RowMajor {
		lines, length, first, step = x.Rows, x.Cols, x.Cols, 1
	}
	for i := range lines {
		b, err := d.bytes(x.At.Add(i*x.LD*x.Type.Size()), length*x.Type.Size(), how, "matmul")
		if err != nil {
			return err
		}
		f(b, i*first, step)
	}
	return nil
}

// matrix reads x, or its transpose if trans is set, and returns its elements row
// by row.
func (d *Device) matrix(x Matrix, trans bool) ([]float64, error) {
	out := make([]float64, x.Rows*x.Cols)
	err := d.lines(x, reads, func(b []byte, at, step int) { loadLine(x.Type, out, b, at, step) })
	if err != nil || !trans {
		return out, err
	}
	turned := make([]float64, len(out))
	for i, v := range out {
		turned[i%x.Cols*x.Rows+i/x.Cols] = v
	}
	return turned, nil
}

// loadLine decodes the elements in b to out[at], out[at+step], ….
func loadLine(t DataType, out []float64, b []byte, at, step int) {
	switch t {
	case Float32:
		for ; len(b) >= 4; b, at = b[4:], at+step {
			out[at] = float64(f32(binary.LittleEndian.Uint32(b)))
		}
	case BFloat16:
		for ; len(b) >= 2; b, at = b[2:], at+step {
			out[at] = float64(f32(uint32(binary.LittleEndian.Uint16(b)) << 16))
		}
	default:
		for size := t.Size(); len(b) > 0; b, at = b[size:], at+step {
			out[at] = float64(load(t, b))
		}
	}
}

// store rounds the elements v, given row by row, to the type of x and stores them
// in x.
func (d *Device) store(x Matrix, v []float64) error {
	size := x.Type.Size()
	return d.lines(x, writes, func(b []byte, at, step int) {
		for ; len(b) > 0; b, at = b[size:], at+step {
			save(x.Type, b, float32(v[at]))
		}
	})
}
