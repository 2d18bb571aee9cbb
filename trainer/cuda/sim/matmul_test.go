package sim

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// layout puts a matrix of small whole numbers (exact in every type) on a device
// and returns it by rows.
func (p *products) matrix(rows, cols int, typ DataType, rowMajor bool) (Matrix, []float64) {
	x := Matrix{Type: typ, Rows: rows, Cols: cols, LD: rows + 3, RowMajor: rowMajor}
	lines := cols
	if rowMajor {
		x.LD, lines = cols+3, rows
	}
	v := make([]float64, rows*cols)
	b := make([]byte, lines*x.LD*typ.Size())
	for i := range v {
		v[i] = float64(p.r.IntN(7) - 3)
		at := i%cols*x.LD + i/cols
		if rowMajor {
			at = i/cols*x.LD + i%cols
		}
		switch u := float32(v[i]); typ {
		case Float32:
			binary.LittleEndian.PutUint32(b[4*at:], b32(u))
		case BFloat16:
			binary.LittleEndian.PutUint16(b[2*at:], uint16(toBF16(u)))
		case Float16:
			binary.LittleEndian.PutUint16(b[2*at:], uint16(toF16(u)))
		}
	}
	x.At = Pointer(put(p.t, p.d, "matrix", b))
	return x, v
}

type products struct {
	t *testing.T
	d *Device
	r *rand.Rand
}

func (p *products) read(x Matrix) []float64 {
	v, err := p.d.matrix(x, false)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func turned(v []float64, rows int) []float64 {
	cols := len(v) / rows
	out := make([]float64, len(v))
	for i := range rows {
		for j := range cols {
			out[j*rows+i] = v[i*cols+j]
		}
	}
	return out
}

// TestProductsInEveryLayout compares with the definition, whole numbers, for all
// types, orders and transposes.
func TestProductsInEveryLayout(t *testing.T) {
	const m, n, k = 5, 4, 6
	for flags := range 64 {
		for _, types := range [][2]DataType{{Float32, Float32}, {BFloat16, BFloat16}, {BFloat16, Float32}, {Float16, Float16}, {Float16, Float32}} {
			p := &products{t, New(Options{}), rand.New(rand.NewPCG(uint64(flags), 1))}
			bit := func(i int) bool { return flags>>i&1 == 1 }
			am, ak, bk, bn := m, k, k, n
			if bit(0) {
				am, ak = k, m
			}
			if bit(1) {
				bk, bn = n, k
			}
			a, av := p.matrix(am, ak, types[0], bit(2))
			b, bv := p.matrix(bk, bn, types[0], bit(3))
			d, dv := p.matrix(m, n, types[1], bit(4))
			if bit(0) {
				av = turned(av, am)
			}
			if bit(1) {
				bv = turned(bv, bk)
			}
			beta := float32(0)
			if bit(5) {
				beta = -1
			}
			s := p.d.NewStream()
			s.Matmul(Matmul{A: a, B: b, D: d, TransA: bit(0), TransB: bit(1), Alpha: 2, Beta: beta})
			if err := s.Synchronize(); err != nil {
				t.Fatal(err)
			}
			want := make([]float64, m*n)
			for i := range want {
				want[i] = float64(beta) * dv[i]
				for l := range k {
					want[i] += 2 * av[i/n*k+l] * bv[l*n+i%n]
				}
			}
			if got := p.read(d); !slices.Equal(slices.Compact(difference(got, want)), []float64{0}) {
				t.Fatalf("flags %06b, types %v: got %v, want %v", flags, types, got, want)
			}
		}
	}
}

func difference(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = math.Abs(a[i] - b[i])
	}
	return d
}

func TestEpiloguesAreThoseOfCuBLASLt(t *testing.T) {
	const m, n, k = 8, 3, 5
	for _, epilogue := range []Epilogue{Bias, GELUAuxBias, DGELU, DGELUBGrad, BGradA, BGradB} {
		p := &products{t, New(Options{}), rand.New(rand.NewPCG(3, 1))}
		a, av := p.matrix(m, k, Float32, true)
		b, bv := p.matrix(k, n, Float32, false)
		c, cv := p.matrix(m, n, Float32, false)
		d, _ := p.matrix(m, n, Float32, false)
		bias, biasV := p.matrix(m, 1, Float32, false)
		aux, auxV := p.matrix(m, n, Float32, false)
		aux.LD = 16
		aux.At = Pointer(put(t, p.d, "aux", make([]float32, 16*n)))
		if err := p.d.store(aux, auxV); err != nil {
			t.Fatal(err)
		}
		s := p.d.NewStream()
		s.Matmul(Matmul{A: a, B: b, C: c, D: d, Alpha: 1, Beta: 1, Epilogue: epilogue, Bias: bias.At, Aux: aux.At, AuxLD: 16})
		if err := s.Synchronize(); err != nil {
			t.Fatal(err)
		}
		x, gradient := make([]float64, m*n), slices.Clone(biasV)
		for i := range x {
			x[i] = cv[i]
			for l := range k {
				x[i] += av[i/n*k+l] * bv[l*n+i%n]
			}
		}
		wantAux := auxV
		act := func(v float64) float64 { return 0.5 * v * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v))) }
		slope := func(v float64) float64 { return (act(v+1e-5) - act(v-1e-5)) / 2e-5 }
		switch epilogue {
		case Bias, GELUAuxBias:
			for i := range x {
				x[i] += biasV[i/n]
			}
			if epilogue == GELUAuxBias {
				wantAux = slices.Clone(x)
				for i := range x {
					x[i] = act(x[i])
				}
			}
		case DGELU, DGELUBGrad:
			for i := range x {
				x[i] *= slope(auxV[i])
			}
			if epilogue == DGELUBGrad {
				for r := range m {
					gradient[r] = x[r*n] + x[r*n+1] + x[r*n+2] // stored, not added
				}
			}
		case BGradA:
			for r := range m {
				gradient[r] = 0
				for l := range k {
					gradient[r] += av[r*k+l]
				}
			}
		case BGradB:
			for j := range n {
				gradient[j] = 0
				for l := range k {
					gradient[j] += bv[l*n+j]
				}
			}
		}
		for what, pair := range map[string][2][]float64{"D": {p.read(d), x}, "Aux": {p.read(aux), wantAux}, "bias": {p.read(bias), gradient}} {
			if worst := slices.Max(difference(pair[0], pair[1])); worst > 1e-5 {
				t.Errorf("epilogue %d: %s is off by %g: got %v, want %v", epilogue, what, worst, pair[0], pair[1])
			}
		}
	}
}

func TestBiasAndAuxHaveTheTypeOfD(t *testing.T) {
	p := &products{t, New(Options{}), rand.New(rand.NewPCG(3, 1))}
	a, _ := p.matrix(8, 8, BFloat16, false)
	b, _ := p.matrix(8, 8, BFloat16, false)
	d, _ := p.matrix(8, 8, BFloat16, false)
	bias := Pointer(put(t, p.d, "bias of 16 bits", []uint16{0x3f80, 0, 0, 0, 0, 0, 0, 0}))
	s := p.d.NewStream()
	s.Matmul(Matmul{A: a, B: b, D: d, Epilogue: Bias, Bias: bias, Alpha: 0})
	if err := s.Synchronize(); err != nil {
		t.Fatal(err)
	}
	if v := p.read(d); v[0] != 1 || v[8] != 0 {
		t.Errorf("got %v", v)
	}
}

func TestProductsThatCuBLASLtRefusesAreFaults(t *testing.T) {
	for name, change := range map[string]func(m *Matmul){
		"shapes":                    func(m *Matmul) { m.A.Cols = 7 },
		"a shape of D":              func(m *Matmul) { m.D.Rows = 4; m.C.Rows = 4 },
		"a transpose":               func(m *Matmul) { m.TransB = true; m.B.Cols = 5 },
		"a step below the rows":     func(m *Matmul) { m.B.LD = 3 },
		"types of A and B":          func(m *Matmul) { m.A.Type = Float16 },
		"D of another 16-bit type":  func(m *Matmul) { m.D.Type = Float16; m.C.Type = Float16 },
		"C of another type than D":  func(m *Matmul) { m.C.Type = Float32 },
		"a bias by rows":            func(m *Matmul) { m.Epilogue = Bias; m.Bias = m.C.At; m.D.RowMajor = true },
		"an epilogue without bias":  func(m *Matmul) { m.Epilogue = BGradA },
		"an epilogue without aux":   func(m *Matmul) { m.Epilogue = DGELU },
		"an odd step in aux":        func(m *Matmul) { m.Epilogue = DGELU; m.Aux = m.C.At; m.AuxLD = 12 },
		"a pointer between numbers": func(m *Matmul) { m.A.At++ },
	} {
		p := &products{t, New(Options{}), rand.New(rand.NewPCG(3, 1))}
		m := Matmul{Alpha: 1}
		m.A, _ = p.matrix(8, 8, BFloat16, false)
		m.B, _ = p.matrix(8, 8, BFloat16, false)
		m.C, _ = p.matrix(8, 8, BFloat16, false)
		m.D = m.C
		change(&m)
		s := p.d.NewStream()
		s.Matmul(m)
		if err := s.Synchronize(); !IsFault(err, BadMatmul) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
