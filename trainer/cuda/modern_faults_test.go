package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/backendtest"
	"pretext/trainer/cpu"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/sim"
)

// A launchFault is a fault of the host in launches of ModernBERT's kernels. (Positions of
// packed sequences that do not restart are none: turns by a rotary position depend on the
// distance of two tokens alone.)
type launchFault struct {
	name   string
	kernel string // kernels whose names begin with it
	heads  trainer.Heads
	plant  func(d *mislaunching, args launchArgs) bool // changes the arguments; false: the launch is left out
}

// launchArgs are those of a launch, as kernels.Pack lays them out.
type launchArgs []byte

func (a launchArgs) pointer(at int) uint64       { return binary.LittleEndian.Uint64(a[at:]) }
func (a launchArgs) setPointer(at int, v uint64) { binary.LittleEndian.PutUint64(a[at:], v) }
func (a launchArgs) integer(at int) int32        { return int32(binary.LittleEndian.Uint32(a[at:])) }
func (a launchArgs) setInteger(at int, v int32)  { binary.LittleEndian.PutUint32(a[at:], uint32(v)) }

// keepAll makes the kernels.Dropout at an offset drop nothing.
func (a launchArgs) keepAll(at int) {
	a.setInteger(at+12, 256)
	a.setInteger(at+16, int32(math.Float32bits(1)))
}

// A mislaunching device is a simulator whose launches have a fault.
type mislaunching struct {
	*sim.GPU
	fault  launchFault
	names  map[device.Function]string
	tables []uint64       // of rotary positions, in the order of their first use
	merged device.Pointer // for oneSequence
	name   string         // of the kernel that is launched
	stream device.Stream  // where it is launched
	times  int            // launches with the fault
}

func (d *mislaunching) Function(m device.Module, name string) (device.Function, device.Limits, error) {
	f, l, err := d.GPU.Function(m, name)
	d.names[f] = name
	return f, l, err
}

func (d *mislaunching) Launch(s device.Stream, f device.Function, c device.Config, args []byte) error {
	d.name, d.stream = d.names[f], s
	if strings.HasPrefix(d.name, d.fault.kernel) {
		changed := launchArgs(append([]byte(nil), args...))
		keep := d.fault.plant(d, changed)
		if !keep || string(changed) != string(args) {
			d.times++
		}
		if !keep {
			return nil
		}
		args = changed
	}
	return d.GPU.Launch(s, f, c, args)
}

// widened changes the reach of a window, the last argument.
func widened(by func(reach int32) int32) func(*mislaunching, launchArgs) bool {
	return func(_ *mislaunching, a launchArgs) bool {
		a.setInteger(len(a)-4, by(a.integer(len(a)-4)))
		return true
	}
}

// null makes a pointer null.
func null(at int) func(*mislaunching, launchArgs) bool {
	return func(_ *mislaunching, a launchArgs) bool { a.setPointer(at, 0); return true }
}

// undropped has no dropout.
func undropped(at int) func(*mislaunching, launchArgs) bool {
	return func(_ *mislaunching, a launchArgs) bool { a.keepAll(at); return true }
}

// added adds to an integer.
func added(at int, n int32) func(*mislaunching, launchArgs) bool {
	return func(_ *mislaunching, a launchArgs) bool { a.setInteger(at, a.integer(at)+n); return true }
}

// firstTable gives a turn the table of the first layer, which is global.
func firstTable(d *mislaunching, a launchArgs) bool {
	if d.tables = append(d.tables, a.pointer(8)); a.integer(60) >= 0 {
		a.setPointer(8, d.tables[0])
	}
	return true
}

// oneSequence makes the first sequence of attention reach to the end of the second, which is
// empty then.
func oneSequence(d *mislaunching, a launchArgs) bool {
	at := 40 // of kernels.Batch, behind five pointers
	switch {
	case strings.HasSuffix(d.name, "delta"):
		return true
	case strings.HasSuffix(d.name, "forward"):
		at = 24
	}
	cu, err := d.AllocHost(4 * 6) // of five sequences: the last is padding
	err = errors.Join(err, d.ToHost(d.stream, cu, device.Pointer(a.pointer(at))), d.SyncStream(d.stream))
	copy(cu[4:8], cu[8:12])
	if err := errors.Join(err, d.ToDevice(d.stream, d.merged, cu)); err != nil {
		panic(err)
	}
	a.setPointer(at, uint64(d.merged))
	return true
}

var modernLM, fromMeans = trainer.Heads{MLM: true}, trainer.Heads{Labels: 3}

var launchFaults = []launchFault{
	{"the whole window on either side", "attention_local_", modernLM, widened(func(n int32) int32 { return 2 * n })},
	{"a window wider by one", "attention_local_forward", modernLM, widened(func(n int32) int32 { return n + 1 })},
	{"dk with a narrower window", "attention_local_backward_keys", modernLM, widened(func(n int32) int32 { return n - 1 })},
	{"dq with a wider window", "attention_local_backward_queries", modernLM, widened(func(n int32) int32 { return n + 1 })},
	{"local layers with the global theta", "rotate", modernLM, firstTable},
	{"gradients turned with the global theta", "rotate", modernLM, func(d *mislaunching, a launchArgs) bool {
		if a.integer(60) == 0 {
			d.tables = append(d.tables, a.pointer(8))
			return true
		}
		return firstTable(d, a)
	}},
	{"gradients turned the same way", "rotate", modernLM, func(_ *mislaunching, a launchArgs) bool { a.setInteger(60, 0); return true }},
	{"gradients not turned", "rotate", modernLM, func(_ *mislaunching, a launchArgs) bool { return a.integer(60) == 0 }},
	{"tokens have the positions of the next one's sequence", "rotate", modernLM, func(_ *mislaunching, a launchArgs) bool { a.setPointer(16, a.pointer(16)+4); return true }},
	{"packed sequences as one", "attention_", modernLM, oneSequence},
	{"the first head alone is turned", "rotate", modernLM, added(56, -1)},
	{"the activation drops what another site drops", "geglu_forward", modernLM, added(56+8, 1)},
	{"the activation's gradient without dropout", "geglu_backward", modernLM, undropped(56)},
	{"GELU by tanh", "geglu_forward", modernLM, added(84, 1)},
	{"the slope of GELU by tanh", "geglu_backward", modernLM, added(84, 1)},
	{"no residual", "stream_forward", modernLM, null(40)},
	{"the stream is not stored", "stream_forward", modernLM, null(24)},
	{"rows of the stream are not those that the heads read", "stream_forward", modernLM, null(48)},
	{"dropout of the block's output left out", "stream_forward", modernLM, undropped(104)},
	{"no gradient past the blocks", "stream_backward", modernLM, null(24)},
	{"the gradient of the stream is not stored", "stream_backward", modernLM, null(0)},
	{"the output's gradient without dropout", "stream_backward", modernLM, undropped(96)},
	{"rows of the stream's gradient are not spread", "spread_stream", modernLM, func(*mislaunching, launchArgs) bool { return false }},
	{"a row less is spread", "spread_stream", modernLM, added(24, -1)},
	{"words drop what another site drops", "words_forward", modernLM, added(96+8, 1)},
	{"the words' gradient without dropout", "words_backward", modernLM, undropped(96)},
	{"means of the next sequence", "mean_rows", fromMeans, func(_ *mislaunching, a launchArgs) bool {
		if len(a) == 28 { // not mean_rows_backward
			a.setPointer(16, a.pointer(16)+4)
		}
		return true
	}},
	{"no gradient for the last sequence's rows", "mean_rows_backward", fromMeans, added(56, -1)},
}

// TestFaultsInModernLaunchesAreCaught plants each fault, one at a time; in a plain go test
// every twentieth. The comparison that the tests of the backend make must notice it.
func TestFaultsInModernLaunchesAreCaught(t *testing.T) {
	subjects := map[trainer.Heads]*faultSubject{modernLM: newFaultSubject(t, modernLM), fromMeans: newFaultSubject(t, fromMeans)}
	for heads, s := range subjects {
		if err := s.run(t, &mislaunching{fault: launchFault{kernel: "none"}}); err != nil {
			t.Fatalf("%v, without a fault: %v", heads, err)
		}
	}
	tried := 0
	for i, f := range launchFaults {
		if i%20 != 0 && share(true, false) {
			continue
		}
		tried++
		d := &mislaunching{fault: f}
		err := subjects[f.heads].run(t, d)
		t.Logf("%-52s %v", f.name, err)
		if d.times == 0 {
			t.Errorf("%s: no launch is changed", f.name)
		} else if err == nil {
			t.Errorf("%s: not caught", f.name)
		}
	}
	t.Logf("%d planted", tried)
}

// A faultSubject is a model with the exact gradients of a batch.
type faultSubject struct {
	config  trainer.Config
	heads   trainer.Heads
	options trainer.Options
	batch   *trainer.Batch
	exact   map[string][]float64
}

// newFaultSubject returns a model of a global and a local layer with weights so large that
// GELU is no straight line.
func newFaultSubject(t *testing.T, h trainer.Heads) *faultSubject {
	c := modernConfig(128, 2, 21)
	c.InitializerRange, c.Modern.MeanPooling = 0.15, true
	s := &faultSubject{config: c, heads: h, options: tinyOptions}
	s.options.Tokens, s.options.Precision = 80, trainer.Float32
	s.batch = ragged(rand.New(rand.NewPCG(5, 6)), c, 5, 9, 31, 17)
	for i := range s.batch.Sequence {
		s.batch.Labels = append(s.batch.Labels, int32(i%3))
	}
	m := openTinyOf(t, cpu.Backend{}, c, h, withPrecision(s.options, trainer.Float64))
	var err error
	if s.exact, err = s.gradients(m); err != nil {
		t.Fatal(err)
	}
	return s
}

func withPrecision(o trainer.Options, p trainer.Precision) trainer.Options {
	o.Precision = p
	return o
}

// gradients returns those of the batch.
func (s *faultSubject) gradients(m trainer.Model) (map[string][]float64, error) {
	if err := m.Accumulate(s.batch, s.batch.Counts(s.heads).Coef(), true); err != nil {
		return nil, err
	}
	all := map[string][]float64{}
	for x, err := range m.Tensors(trainer.Gradients) {
		if err != nil {
			return nil, err
		}
		for _, v := range x.Data {
			all[x.Name] = append(all[x.Name], float64(v))
		}
	}
	return all, m.Close()
}

// run computes the gradients on the device. It returns the simulator's error, or one that
// names the tensor whose gradient is farthest off.
func (s *faultSubject) run(t *testing.T, d *mislaunching) error {
	d.GPU, d.names = sim.NewGPU(sim.Options{Seed: 3}), map[device.Function]string{}
	var err error
	if d.merged, err = d.Alloc(4 * 6); err != nil {
		t.Fatal(err)
	}
	got, err := s.gradients(openTinyOf(t, onDevice(d), s.config, s.heads, s.options))
	if err != nil {
		return err
	}
	worst, where := 0.0, ""
	for name, want := range s.exact {
		if off := apart(got[name], want); !(off <= worst) {
			worst, where = off, name
		}
	}
	if limit := backendtest.Tolerances(trainer.Float32).Gradient; !(worst <= limit) {
		return fmt.Errorf("gradient of %s is off by %.2g, allowed %.2g", where, worst, limit)
	}
	return nil
}
