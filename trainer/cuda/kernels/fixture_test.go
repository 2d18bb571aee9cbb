package kernels_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"pretext/internal/dev/torture"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/ptx"
	"pretext/trainer/cuda/sim"
)

// A fixture runs kernels of one type on a simulated device, or on the GPU if there
// is one (see gpu_test.go). Its methods panic with an error, which run returns: so
// that a check can be run on a mutant too.
type fixture struct {
	typ     kernels.Type
	device  *sim.Device
	gpu     *hardware // nil: device computes
	modules map[string]*sim.Module
	replace map[string]string // text in place of the committed one: by module, or by module.kernel
	random  *rand.Rand
}

func newFixture(typ kernels.Type, seed uint64) *fixture {
	return newFixtureOf(typ, sim.Options{Seed: seed})
}

func newFixtureOf(typ kernels.Type, o sim.Options) *fixture {
	if o.MaxInstructions == 0 {
		o.MaxInstructions = 1 << 23
	}
	return &fixture{typ: typ, device: sim.New(o), modules: map[string]*sim.Module{}, random: rand.New(rand.NewPCG(o.Seed, 77))}
}

// A failure is what a check found; it is panicked with.
type failure struct{ error }

func (f *fixture) must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// run returns the error with which a check ended.
func (f *fixture) run(check func(f *fixture)) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			panic(r)
		}
	}()
	if f.gpu != nil {
		defer f.gpu.begin()()
	}
	check(f)
	return nil
}

// eachType runs a check in all types in a few orders of blocks and warps, and with other
// roundings (see sim.Options.Contract). A plain go test runs it once, in the type that is
// given.
func eachType(t *testing.T, plain kernels.Type, check func(f *fixture)) {
	inTypes(t, plain, kernels.Types(), check)
}

func inTypes(t *testing.T, plain kernels.Type, types []kernels.Type, check func(f *fixture)) {
	seeds := uint64(2)
	if !all() {
		types, seeds = []kernels.Type{plain}, 1
	}
	for _, typ := range types {
		t.Run(string(typ), func(t *testing.T) {
			t.Parallel()
			for seed := range seeds {
				f := newFixtureOf(typ, sim.Options{Seed: seed, Contract: seed + 1, Errors: seed + 1})
				f.gpu = gpu
				if err := f.run(check); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// all reports whether every case is run: those that a plain go test leaves to make
// check, on a GPU too, which is fast.
func all() bool { return torture.Full() || gpu != nil }

// encode returns values as elements, and what they are after rounding.
func (f *fixture) encode(x []float64) ([]byte, []float64) {
	b, back := make([]byte, 0, 4*len(x)), make([]float64, len(x))
	for i, v := range x {
		switch f.typ {
		case kernels.F32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
			back[i] = float64(float32(v))
		case kernels.BF16:
			h := bf16(float32(v))
			b = binary.LittleEndian.AppendUint16(b, h)
			back[i] = float64(math.Float32frombits(uint32(h) << 16))
		case kernels.F16:
			h := half(v)
			b = binary.LittleEndian.AppendUint16(b, h)
			back[i] = fromHalf(h)
		}
	}
	return b, back
}

func bf16(v float32) uint16 {
	u := math.Float32bits(v)
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

// half rounds to the nearest half by its definition: a multiple of 2^-24, of 11
// bits.
func half(v float64) uint16 {
	sign := uint16(0)
	if math.Signbit(v) {
		sign, v = 0x8000, -v
	}
	_, e := math.Frexp(v)
	unit := math.Ldexp(1, max(e-11, -24))
	v = math.RoundToEven(v/unit) * unit
	switch {
	case v != v:
		return 0x7fff
	case v >= 65520:
		return sign | 0x7c00
	case v < 0x1p-14:
		return sign | uint16(v*0x1p24)
	}
	m, e := math.Frexp(v)
	return sign | uint16(e+14)<<10 | uint16(m*2048)&0x3ff
}

func fromHalf(h uint16) float64 {
	sign := 1 - 2*float64(h>>15)
	e, m := int(h>>10&31), float64(h&0x3ff)
	switch e {
	case 0:
		return sign * m * 0x1p-24
	case 31:
		if m == 0 {
			return sign * math.Inf(1)
		}
		return math.NaN()
	}
	return sign * math.Ldexp(1024+m, e-25)
}

// put brings bytes to the device.
func (f *fixture) put(name string, b []byte) uint64 {
	p := f.room(name, len(b))
	f.write(p, b)
	return p
}

// write replaces bytes on the device.
func (f *fixture) write(p uint64, b []byte) {
	if f.gpu != nil {
		f.must(f.gpu.write(device.Pointer(p), b))
		return
	}
	f.must(f.device.Write(sim.Pointer(p), b))
}

// bytes returns n bytes of the device.
func (f *fixture) bytes(p uint64, n int) []byte {
	b := make([]byte, n)
	if f.gpu != nil {
		f.must(f.gpu.read(b, device.Pointer(p)))
	} else {
		f.must(f.device.Read(b, sim.Pointer(p)))
	}
	return b
}

// elems brings values to the device as elements; it returns what they are there.
func (f *fixture) elems(name string, x []float64) (uint64, []float64) {
	b, back := f.encode(x)
	return f.put(name, b), back
}

// numbers brings a slice of numbers or of structs of them to the device.
func numbers[T any](f *fixture, name string, x []T) uint64 {
	var b []byte
	for _, v := range x {
		b = append(b, kernels.Pack(v)...)
	}
	return f.put(name, b)
}

func (f *fixture) floats(name string, x []float64) uint64 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return numbers(f, name, y)
}

// output allocates n elements that were never written, outputFloats n floats.
func (f *fixture) output(name string, n int) uint64       { return f.room(name, n*f.typ.Size()) }
func (f *fixture) outputFloats(name string, n int) uint64 { return f.room(name, n*4) }

func (f *fixture) room(name string, n int) uint64 {
	if f.gpu != nil {
		p, err := f.gpu.alloc(n)
		f.must(err)
		return uint64(p)
	}
	p, err := f.device.Alloc(name, n)
	f.must(err)
	return uint64(p)
}

// read returns n elements.
func (f *fixture) read(p uint64, n int) []float64 {
	b := f.bytes(p, n*f.typ.Size())
	x := make([]float64, n)
	for i := range x {
		switch f.typ {
		case kernels.F32:
			x[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		case kernels.BF16:
			x[i] = float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
		case kernels.F16:
			x[i] = fromHalf(binary.LittleEndian.Uint16(b[2*i:]))
		}
	}
	return x
}

// readAs returns n numbers of a type.
func readAs[T any](f *fixture, p uint64, n int) []T {
	x := make([]T, n)
	_, err := binary.Decode(f.bytes(p, binary.Size(x)), binary.LittleEndian, x)
	f.must(err)
	return x
}

func (f *fixture) readFloats(p uint64, n int) []float64 {
	x := make([]float64, n)
	for i, v := range readAs[float32](f, p, n) {
		x[i] = float64(v)
	}
	return x
}

// kernel returns a kernel of a module, loaded alone unless the module was replaced.
func (f *fixture) kernel(module, name string) *sim.Kernel {
	loaded := module
	text, ok := f.replace[module]
	if !ok && f.modules[module] == nil {
		if loaded += "." + name; f.replace[loaded] != "" {
			text = f.replace[loaded]
		} else {
			var err error
			text, err = alone(module, f.typ, name)
			f.must(err)
		}
	}
	m, ok := f.modules[loaded]
	if !ok {
		var err error
		m, err = f.device.Load(text)
		f.must(err)
		f.modules[loaded] = m
	}
	k, err := m.Kernel(name)
	f.must(err)
	return k
}

// parsed are the modules that alone has parsed; texts those of single kernels.
var (
	parsing sync.Mutex
	parsed  = map[string]*ptx.Module{}
	texts   = map[string]string{}
)

// parse returns a committed module, which is not to be changed.
func parse(module string, typ kernels.Type) (*ptx.Module, error) {
	parsing.Lock()
	defer parsing.Unlock()
	name := module + "." + string(typ)
	if parsed[name] == nil {
		text, err := kernels.PTX(module, typ)
		if err != nil {
			return nil, err
		}
		if parsed[name], err = ptx.Parse(text); err != nil {
			return nil, err
		}
	}
	return parsed[name], nil
}

// alone returns the text of a module that has one kernel of a committed one.
func alone(module string, typ kernels.Type, name string) (string, error) {
	m, err := parse(module, typ)
	if err != nil {
		return "", err
	}
	parsing.Lock()
	defer parsing.Unlock()
	at := module + "." + string(typ) + "." + name
	if texts[at] == "" {
		k := m.Kernel(name)
		if k == nil {
			return "", fmt.Errorf("module %s has no kernel %s", module, name)
		}
		texts[at] = only(m, *k)
	}
	return texts[at], nil
}

// only returns the text of m with one kernel.
func only(m *ptx.Module, k ptx.Kernel) string {
	one := *m
	one.Kernels = []*ptx.Kernel{&k}
	return one.String()
}

// launch runs a kernel to its end.
func (f *fixture) launch(module, name string, grid sim.Dim, threads int, args ...any) {
	f.launchShared(module, name, grid, threads, 0, args...)
}

// launchShared runs a kernel with dynamic shared memory, above the limit of
// launches without opt-in.
func (f *fixture) launchShared(module, name string, grid sim.Dim, threads, shared int, args ...any) {
	c := sim.Config{Grid: grid, Block: sim.Dim{X: threads}, Shared: shared}
	if f.gpu != nil {
		f.must(f.gpu.launch(kernelName{f.typ, module, name}, c, kernels.Pack(args...)))
		return
	}
	k := f.kernel(module, name)
	if shared > 0 {
		f.must(k.AllowShared(shared))
	}
	f.must(f.device.Launch(k, c, kernels.Pack(args...)))
}

// normal returns n normally distributed values.
func (f *fixture) normal(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = f.random.NormFloat64()
	}
	return x
}

// precision is about the relative error of a rounded element.
func (f *fixture) precision() float64 {
	return map[kernels.Type]float64{kernels.F32: 4e-7, kernels.BF16: 2.2e-3, kernels.F16: 2.8e-4}[f.typ]
}

// near fails unless got is want but for an error of a size: the norm of the
// difference over the norm of want, and for single values five times that.
func (f *fixture) near(what string, got, want []float64, size float64) {
	if len(got) != len(want) {
		panic(failure{fmt.Errorf("%s: %d values, want %d", what, len(got), len(want))})
	}
	difference, norm := 0.0, 0.0
	for i := range want {
		difference += (got[i] - want[i]) * (got[i] - want[i])
		norm += want[i] * want[i]
	}
	if !(math.Sqrt(difference) <= size*math.Sqrt(norm)) {
		panic(failure{fmt.Errorf("%s is off by %.2g, allowed %.2g", what, math.Sqrt(difference/norm), size)})
	}
	root := math.Sqrt(norm / float64(len(want)))
	for i := range want {
		if math.Abs(got[i]-want[i]) > 12*size*max(root, math.Abs(want[i])) {
			panic(failure{fmt.Errorf("%s[%d] is %v, want %v", what, i, got[i], want[i])})
		}
	}
}

// u32 is the largest relative error of a rounding to single precision.
const u32 = 0x1p-24

// unit returns the largest relative error of a rounding to an element, and the absolute one
// of the smallest elements.
func (f *fixture) unit() (relative, least float64) {
	switch f.typ {
	case kernels.BF16:
		return 0x1p-8, 0x1p-134
	case kernels.F16:
		return 0x1p-11, 0x1p-25
	}
	return u32, 0x1p-150
}

// roundings returns n·2^-24·|x|: the bound on the error of n roundings to single precision of
// numbers up to |x|.
func roundings(n float64, x []float64) []float64 {
	slack := make([]float64, len(x))
	for i, v := range x {
		slack[i] = n * u32 * math.Abs(v)
	}
	return slack
}

// within fails unless every element is the correctly rounded value of a number in want ±
// slack: without slack, of want itself.
func (f *fixture) within(what string, got, want, slack []float64) {
	f.between(what, got, want, slack, func(x []float64) []float64 {
		_, x = f.encode(x)
		return x
	})
}

// withinFloats is within for results in single precision.
func (f *fixture) withinFloats(what string, got, want, slack []float64) {
	f.between(what, got, want, slack, func(x []float64) []float64 {
		for i, v := range x {
			x[i] = float64(float32(v))
		}
		return x
	})
}

func (f *fixture) between(what string, got, want, slack []float64, round func(x []float64) []float64) {
	if len(got) != len(want) || len(slack) != len(want) {
		panic(failure{fmt.Errorf("%s: %d values and %d bounds, want %d", what, len(got), len(slack), len(want))})
	}
	low, high := make([]float64, len(want)), make([]float64, len(want))
	for i, v := range want {
		low[i], high[i] = v-slack[i], v+slack[i]
	}
	low, high = round(low), round(high)
	for i, v := range got {
		if !(low[i] <= v && v <= high[i]) {
			panic(failure{fmt.Errorf("%s[%d] is %v, want %v ± %.2g, which rounds to %v … %v", what, i, v, want[i], slack[i], low[i], high[i])})
		}
	}
}

// blocks returns the number of blocks that n things need.
func blocks(n, each int) int { return (n + each - 1) / each }
