package sim

import (
	"math"
	"testing"

	"pretext/trainer/cuda/device"
)

// The tables of the OCP 8-bit Floating Point Specification, section 5: exponent bias, largest
// and smallest numbers, and codes that are no numbers.
func TestEightBitsAreThoseOfTheSpecification(t *testing.T) {
	for _, c := range []struct {
		name   string
		format eight
		codes  map[byte]float64
		nans   []byte
	}{
		{"E4M3", e4m3, map[byte]float64{0x7e: 448, 0x08: 0x1p-6, 0x07: 0.875 * 0x1p-6, 0x01: 0x1p-9, 0x00: 0, 0x38: 1, 0x78: 256}, []byte{0x7f, 0xff}},
		{"E5M2", e5m2, map[byte]float64{0x7b: 57344, 0x04: 0x1p-14, 0x03: 0.75 * 0x1p-14, 0x01: 0x1p-16, 0x00: 0, 0x3c: 1, 0x7c: math.Inf(1)}, []byte{0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff}},
	} {
		for code, want := range c.codes {
			if got := float64(c.format.value(code)); got != want {
				t.Errorf("%s: code %#x is %v, want %v", c.name, code, got, want)
			}
			if got := float64(c.format.value(code | 0x80)); got != -want || !math.Signbit(got) {
				t.Errorf("%s: code %#x is %v, want %v", c.name, code|0x80, got, -want)
			}
		}
		for _, code := range c.nans {
			if v := c.format.value(code); v == v {
				t.Errorf("%s: code %#x is %v, want NaN", c.name, code, v)
			}
		}
	}
}

// TestEightBitsAreRounded converts all 256 codes there and back, every middle between two
// numbers, and what lies beside it.
func TestEightBitsAreRounded(t *testing.T) {
	for name, f := range map[string]eight{"E4M3": e4m3, "E5M2": e5m2} {
		for code := range 256 {
			v, c := f.value(byte(code)), byte(code)
			switch {
			case v != v:
				c = f.nan
			case math.IsInf(float64(v), 0):
				c = c&0x80 | f.most // satfinite
			}
			if got := f.code(v); got != c {
				t.Errorf("%s: %v becomes %#x, want %#x", name, v, got, c)
			}
		}
		for code := range f.most {
			low, high := float64(f.value(code)), float64(f.value(code+1))
			if !(low < high) {
				t.Fatalf("%s: code %#x is %v, the next %v", name, code, low, high)
			}
			middle := float32((low + high) / 2)
			even := code + code&1
			for sign, bit := range map[float32]byte{1: 0, -1: 0x80} {
				for v, want := range map[float32]byte{middle: even, math.Nextafter32(middle, 0): code, math.Nextafter32(middle, 1e6): code + 1} {
					if got := f.code(sign * v); got != bit|want {
						t.Errorf("%s: %v becomes %#x, want %#x", name, sign*v, got, bit|want)
					}
				}
			}
		}
		for _, v := range []float32{float32(f.value(f.most)) * 1.01, 1e30, float32(math.Inf(1))} {
			if f.code(v) != f.most || f.code(-v) != 0x80|f.most {
				t.Errorf("%s: %v becomes %#x and %#x", name, v, f.code(v), f.code(-v))
			}
		}
	}
}

func TestProductsOfEightBits(t *testing.T) {
	d := New(Options{Seed: 1})
	put := func(typ DataType, x []float64) Pointer {
		b := make([]byte, len(x)*typ.Size())
		for i, v := range x {
			save(typ, b[i*typ.Size():], float32(v))
		}
		p, err := d.Alloc("operand", len(b))
		if err == nil {
			err = d.Write(p, b)
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	const m, n, k = 16, 32, 48
	a, b := make([]float64, m*k), make([]float64, n*k)
	for i := range a {
		a[i] = float64(e4m3.value(byte(i*7) & 0x77))
	}
	for i := range b {
		b[i] = float64(e5m2.value(byte(i*5)&0x3f | byte(i%2*128)))
	}
	out := put(Float32, make([]float64, m*n))
	p := Matmul{
		A: Matrix{At: put(device.Float8E4M3, a), Type: device.Float8E4M3, Rows: k, Cols: m, LD: k}, TransA: true,
		B:     Matrix{At: put(device.Float8E5M2, b), Type: device.Float8E5M2, Rows: k, Cols: n, LD: k},
		D:     Matrix{At: out, Type: Float32, Rows: m, Cols: n, LD: m},
		Alpha: 1, ScaleA: put(Float32, []float64{0.25}), ScaleB: put(Float32, []float64{8}),
	}
	if err := d.multiply(p); err != nil {
		t.Fatal(err)
	}
	got, err := d.matrix(p.D, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m {
		for j := range n {
			want := 0.0
			for l := range k {
				want += 2 * a[i*k+l] * b[j*k+l]
			}
			if got[i*n+j] != float64(float32(want)) {
				t.Fatalf("element %d, %d is %v, want %v", i, j, got[i*n+j], want)
			}
		}
	}
	for name, edit := range map[string]func(p *Matmul){
		"transposed B": func(p *Matmul) { p.TransB, p.B.Rows, p.B.Cols = true, n, k },
		"two E5M2":     func(p *Matmul) { p.A.Type = device.Float8E5M2 },
		"to half":      func(p *Matmul) { p.D.Type = Float16 },
		"a size of 24": func(p *Matmul) { p.A.Rows, p.B.Rows = 24, 24 },
		"no factor":    func(p *Matmul) { p.ScaleB = 0 },
		"GELU":         func(p *Matmul) { p.Epilogue, p.Aux, p.AuxLD, p.Bias = GELUAuxBias, out, m, out },
	} {
		wrong := p
		edit(&wrong)
		if err := d.multiply(wrong); !IsFault(err, BadMatmul) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
