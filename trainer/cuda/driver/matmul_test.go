//go:build cgo && linux

package driver_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/driver/drivertest"
	"pretext/trainer/cuda/sim"
)

func TestProductsArriveAsCuBLASLtTakesThem(t *testing.T) {
	f := drivertest.New(t)
	d := open(t)
	s := must(t, d.NewStream)
	f.Calls()
	shape := device.Matmul{M: 21, N: 22, K: 23, TransA: true, LDA: 31, LDB: 32, LDD: 33, Type: device.BFloat16, Result: device.BFloat16, Epilogue: device.DGELUBGrad, AuxLD: 40}
	p := must(t, func() (device.Product, error) { return d.Plan(shape, 1<<20, "") })
	check(t, d.Matmul(s, p, device.Operands{A: 0x1a0, B: 0x1b0, C: 0x1c0, D: 0x1d0, Bias: 0x1e0, Aux: 0x1f0, Alpha: 1.5, Beta: 2.5, Workspace: 0x2000}))
	check(t, d.FreeProduct(p))
	want := []string{
		"cublasLtMatmulDescCreate compute=68 scale=0",
		"cublasLtMatrixLayoutCreate type=14 rows=23 cols=21 ld=31",
		"cublasLtMatrixLayoutCreate type=14 rows=23 cols=22 ld=32",
		"cublasLtMatrixLayoutCreate type=14 rows=21 cols=22 ld=33",
		"cublasLtMatmulDescSetAttribute attribute=3 value=1 bytes=4",
		"cublasLtMatmulDescSetAttribute attribute=4 value=0 bytes=4",
		"cublasLtMatmulDescSetAttribute attribute=7 value=d0 bytes=4",
		"cublasLtMatmulDescSetAttribute attribute=12 value=28 bytes=8",
		"cublasLtMatmulDescSetAttribute attribute=8 value=100010 bytes=8",
		"cublasLtMatmulDescSetAttribute attribute=11 value=100010 bytes=8",
		"cublasLtMatmulPreferenceCreate",
		"cublasLtMatmulPreferenceSetAttribute attribute=1 value=100000 bytes=8",
		"cublasLtMatmulPreferenceSetAttribute attribute=5 value=10 bytes=4",
		"cublasLtMatmulPreferenceSetAttribute attribute=6 value=10 bytes=4",
		"cublasLtMatmulPreferenceSetAttribute attribute=7 value=10 bytes=4",
		"cublasLtMatmulPreferenceSetAttribute attribute=8 value=10 bytes=4",
		"cublasLtMatmulAlgoGetHeuristic workspace=1048576 wanted=8 kinds=44,11,22,22,22,22,33",
		"cublasLtMatmulPreferenceDestroy",
		"cublasLtMatmulDescSetAttribute attribute=8 value=1e0 bytes=8",
		"cublasLtMatmulDescSetAttribute attribute=11 value=1f0 bytes=8",
		// The third algorithm: the first is not supported, the second needs more workspace.
		"cublasLtMatmul kinds=44,11,22,22,22,22 alpha=1.5 a=1a0 b=1b0 beta=2.5 c=1c0 d=1d0 algorithm=102030405060720 workspace=2000 bytes=102 stream=s",
		"cublasLtMatrixLayoutDestroy", "cublasLtMatrixLayoutDestroy", "cublasLtMatrixLayoutDestroy", "cublasLtMatmulDescDestroy",
	}
	var n names
	n.add("s", uint64(s))
	if diff := cmp.Diff(want, n.in(f.Calls())); diff != "" {
		t.Error(diff)
	}
	check(t, d.Close())
}

// Operands of 8 bits have a type each and factors, which a product without 8 bits has not.
func TestEightBitsArriveAsCuBLASLtTakesThem(t *testing.T) {
	f := drivertest.New(t)
	d := open(t)
	s := must(t, d.NewStream)
	f.Calls()
	shape := device.Matmul{M: 16, N: 32, K: 48, TransA: true, LDA: 48, LDB: 48, LDD: 16, Type: device.Float8E4M3, TypeB: device.Float8E5M2, Result: device.Float32}
	p := must(t, func() (device.Product, error) { return d.Plan(shape, 1<<20, "") })
	x := device.Operands{A: 0x1a0, B: 0x1b0, D: 0x1d0, ScaleA: 0x1e4, ScaleB: 0x1e8, Alpha: 1, Workspace: 0x2000}
	check(t, d.Matmul(s, p, x))
	calls := strings.Join(f.Calls(), "\n")
	for _, want := range []string{
		"cublasLtMatrixLayoutCreate type=28 rows=48 cols=16 ld=48", "cublasLtMatrixLayoutCreate type=29 rows=48 cols=32 ld=48",
		"cublasLtMatrixLayoutCreate type=0 rows=16 cols=32 ld=16",
		"cublasLtMatmulDescSetAttribute attribute=17 value=100010 bytes=8", "cublasLtMatmulDescSetAttribute attribute=18 value=100010 bytes=8",
		"cublasLtMatmulDescSetAttribute attribute=17 value=1e4 bytes=8\ncublasLtMatmulDescSetAttribute attribute=18 value=1e8 bytes=8\ncublasLtMatmul ",
	} {
		if !strings.Contains(calls, want) {
			t.Errorf("no %q in\n%s", want, calls)
		}
	}
	x.ScaleB = 0
	if err := d.Matmul(s, p, x); err == nil || !strings.Contains(err.Error(), "no factor") {
		t.Errorf("without a factor: %v", err)
	}
	check(t, d.FreeProduct(p), d.Close())
}

func TestAlgorithmsAreUsedAgain(t *testing.T) {
	drivertest.New(t)
	d := open(t)
	shape := device.Matmul{M: 2, N: 3, K: 4, LDA: 2, LDB: 4, LDD: 2}
	p := must(t, func() (device.Product, error) { return d.Plan(shape, 1000, "") })
	first := d.Algorithm(p)
	const head = "Fake GPU 70; cublasLt 12.6.4; "
	if !strings.HasPrefix(first, head+"2007060504030201") || len(first) != len(head)+128 {
		t.Errorf("got %q", first)
	}
	// Of the four that the library proposes, the first is not supported, and the second
	// needs more workspace.
	list := must(t, func() ([]string, error) { return d.Algorithms(shape, 1000) })
	if len(list) != 2 || list[0] != first {
		t.Errorf("proposals %q, want %q first", list, first)
	}
	for _, a := range list {
		p := must(t, func() (device.Product, error) { return d.Plan(shape, 1000, a) })
		if got := d.Algorithm(p); got != a {
			t.Errorf("got %s, want the proposal %s", got, a)
		}
	}
	other := strings.NewReplacer("20070605", "50070605", "21070605", "51070605", "22070605", "52070605", "23070605", "53070605",
		"24070605", "54070605", "25070605", "55070605", "26070605", "56070605", "27070605", "57070605").Replace(first)
	for name, c := range map[string]struct{ given, want string }{
		"the same":           {first, first},
		"another":            {other, other},
		"of another chip":    {"Fake GPU 71; cublasLt 12.6.4; " + other[len(head):], first},
		"of another library": {"Fake GPU 70; cublasLt 12.6.5; " + other[len(head):], first},
		"not hexadecimal":    {head + strings.Repeat("x", 128), first},
		"too short":          {other[:len(other)-2], first},
		"one that it lacks":  {head + strings.Repeat("0", 128), first},
	} {
		p := must(t, func() (device.Product, error) { return d.Plan(shape, 1000, c.given) })
		if got := d.Algorithm(p); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	// Algorithm 5 needs 105 bytes.
	p = must(t, func() (device.Product, error) { return d.Plan(shape, 104, other) })
	if got := d.Algorithm(p); got != first {
		t.Errorf("with too little workspace: got %s, want %s", got, first)
	}
	check(t, d.Close())
}

func TestNoAlgorithmIsAnError(t *testing.T) {
	drivertest.New(t)
	d := open(t)
	shape := device.Matmul{M: 2, N: 3, K: 4, LDA: 2, LDB: 4, LDD: 2}
	for _, c := range []struct {
		found     string
		workspace int
	}{{"0", 1000}, {"2", 1000}, {"4", 50}} {
		t.Setenv("FAKE_FOUND", c.found)
		_, err := d.Plan(shape, c.workspace, "")
		_, err2 := d.Algorithms(shape, c.workspace)
		for _, err := range []error{err, err2} {
			if err == nil || !strings.HasSuffix(err.Error(), "cuBLASLt has no algorithm for this product") {
				t.Errorf("%+v: got %v", c, err)
			}
		}
	}
	check(t, d.Close())
}

// room is the elements of each operand of multiply.
const room = 2048

// multiply computes a product of made-up matrices on a device, and returns all of
// D, Aux and the bias, with what lies between columns.
func multiply(t *testing.T, d device.Device, m device.Matmul) ([]float64, error) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	s := must(t, d.NewStream)
	x := device.Operands{Alpha: 1.5, Beta: -0.5}
	h := must(t, func() ([]byte, error) { return d.AllocHost(4 * room) })
	types := []device.DataType{m.Type, m.Type, m.Result, m.Result, m.Result, m.Result}
	for i, p := range []*device.Pointer{&x.A, &x.B, &x.C, &x.D, &x.Aux, &x.Bias} {
		*p = must(t, func() (device.Pointer, error) { return d.Alloc(4 * room) })
		for j := range room {
			encode(h, types[i], j, random.NormFloat64())
		}
		check(t, d.ToDevice(s, *p, h), d.SyncStream(s))
	}
	const workspace = 1 << 20
	x.Workspace = must(t, func() (device.Pointer, error) { return d.Alloc(workspace) })
	p, err := d.Plan(m, workspace, "")
	if err == nil {
		err = d.Matmul(s, p, x)
	}
	if err != nil {
		return nil, err
	}
	var out []float64
	for _, p := range []device.Pointer{x.D, x.Aux, x.Bias} {
		check(t, d.ToHost(s, h, p), d.SyncStream(s))
		for i := range room {
			out = append(out, decode(h, m.Result, i))
		}
	}
	return out, nil
}

// encode and decode write and read element i of a type; 16-bit types are cut, not
// rounded, and have no small numbers.
func encode(b []byte, typ device.DataType, i int, v float64) {
	u := math.Float32bits(float32(v))
	switch typ {
	case device.Float32:
		binary.LittleEndian.PutUint32(b[4*i:], u)
	case device.BFloat16:
		binary.LittleEndian.PutUint16(b[2*i:], uint16(u>>16))
	case device.Float16:
		h := uint16(u >> 16 & 0x8000)
		if e := int(u>>23&255) - 112; e > 0 {
			h |= uint16(e<<10) | uint16(u>>13&0x3ff)
		}
		binary.LittleEndian.PutUint16(b[2*i:], h)
	}
}

func decode(b []byte, typ device.DataType, i int) float64 {
	if typ == device.Float32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	h := uint32(binary.LittleEndian.Uint16(b[2*i:]))
	if typ == device.BFloat16 {
		return float64(math.Float32frombits(h << 16))
	}
	v := math.Ldexp(float64(h&0x3ff|0x400), int(h>>10&31)-25)
	if h>>10&31 == 0 {
		v = math.Ldexp(float64(h&0x3ff), -24)
	}
	if h>>15 == 1 {
		return -v
	}
	return v
}

func hasAux(e device.Epilogue) bool {
	return e == device.GELUAuxBias || e == device.DGELU || e == device.DGELUBGrad
}

// The fake library computes a product from what cuBLASLt's functions were given,
// the simulator from the shape itself.
func TestProductsAreThoseOfTheSimulator(t *testing.T) {
	for e := device.None; e <= device.BGradB; e++ {
		for trans := range 4 {
			m := device.Matmul{M: 7, N: 11, K: 5, TransA: trans&1 == 1, TransB: trans&2 == 2, LDA: 9, LDB: 13, LDD: 12, Epilogue: e}
			if hasAux(e) {
				m.AuxLD = 16
			}
			drivertest.New(t)
			d := open(t)
			got := must(t, func() ([]float64, error) { return multiply(t, d, m) })
			check(t, d.Close())
			simulated := sim.NewGPU(sim.Options{Seed: 1})
			want := must(t, func() ([]float64, error) { return multiply(t, simulated, m) })
			check(t, simulated.Close())
			for i := range want {
				if diff := math.Abs(got[i] - want[i]); !(diff <= 1e-5) {
					t.Fatalf("%+v: element %d is %g, want %g", m, i, got[i], want[i])
				}
			}
		}
	}
}
