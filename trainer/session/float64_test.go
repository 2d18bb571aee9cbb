package session

import (
	"errors"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pretext/trainer"
	"pretext/trainer/comm"
	"pretext/trainer/cpu"
)

// Ranks add what one process adds, in another order. Training is not stable under such a
// difference: in twelve steps of the runs here it grows by a factor of 100 to 1000, and no
// bound on that is at hand. So these runs compute in float64, in which a difference of
// 2^-53 would have to grow by 2^30 to be seen in a checkpoint, whose tensors are float32.
// A wrong algorithm (an example counted twice, a norm of half the gradients, a moment of
// another part) differs by far more than float32 resolves.

// inFloat64 opens the CPU in float64, which has one code path on every processor.
func inFloat64() *Opened {
	return &Opened{Kind: deviceCPU, Precision: trainer.Float64, backend: cpu.Backend{Threads: 1}, close: func() error { return nil }}
}

// trainRanksOn trains on n ranks at once, each with the options that change makes, on the
// device that open returns. All must succeed. It
// returns the result of rank 0.
func trainRanksOn(t *testing.T, n int, o Options, open func(rank int) *Opened, change func(rank int, o *Options)) (end *Result) {
	t.Helper()
	port := freePort(t)
	var all sync.WaitGroup
	for r := range n {
		o := o
		o.Ranks = comm.Options{Rank: r, Ranks: n, LocalRank: r, LocalRanks: n, Host: "127.0.0.1", Port: port, Local: true, Wait: time.Minute}
		change(r, &o)
		all.Go(func() {
			group, err := comm.Join(t.Context(), o.Ranks)
			if err != nil {
				t.Error(err)
				return
			}
			device := open(r)
			result, err := (&run{o: o, device: device, group: group}).train(t.Context())
			if r == 0 {
				end = result
			}
			group.Abort(err)
			if err := errors.Join(err, group.Close(), device.Close()); err != nil {
				t.Errorf("rank %d of %d: %v", r, n, err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return end
}

// freePort returns a port of this machine that nobody listened at a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

// trainInFloat64 trains on n ranks, or in one process.
func trainInFloat64(t *testing.T, n int, o Options, change func(rank int, o *Options)) *Result {
	t.Helper()
	if n == 1 {
		return trainOn(t, o, inFloat64(), 0)
	}
	return trainRanksOn(t, n, o, func(int) *Opened { return inFloat64() }, change)
}

// sameRun requires that two runs in float64 wrote the same checkpoint of a step and the
// same metrics, but for the rounding of float64.
func sameRun(t *testing.T, name string, step int64, got, want Options) {
	t.Helper()
	sameCheckpoint(t, name, step, got, want)
	sameLines(t, name, steady(t, got.Out), steady(t, want.Out))
}

// sameCheckpoint is sameRun for the checkpoint alone.
//
// A tensor of a checkpoint is float32: each of the two was rounded by 2^-24 of its value.
// Where the true gradient is 0, as that of key biases, there are only rounding errors of
// float64: 2^-53 for each of some hundred additions of values below 1, so below 1e-14.
// AdamW and LAMB divide them by epsilon, 1e-6, and multiply by the learning rate, 1e-2,
// in a dozen steps: 1e-9. The second moment has their square.
func sameCheckpoint(t *testing.T, name string, step int64, got, want Options) {
	t.Helper()
	a, b := weights(t, stepDir(got, step)), weights(t, stepDir(want, step))
	if len(a) != len(b) || len(a) == 0 {
		t.Fatalf("%s: %d tensors, want %d", name, len(a), len(b))
	}
	for tensor, y := range b {
		floor := 1e-9
		switch tensor[:2] {
		case "m.":
			floor = 1e-14
		case "v.":
			floor = 1e-28
		}
		largest, worst := distance(t, a[tensor], y)
		if !(worst <= 0x1p-23*largest+floor) {
			t.Errorf("%s: step %d: %s differs by %.3g, of values up to %.3g", name, step, tensor, worst, largest)
		}
	}
}

// distance returns the largest value of want and the largest difference of a value.
func distance(t *testing.T, got, want []float32) (largest, worst float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	for i, y := range want {
		largest = max(largest, math.Abs(float64(y)))
		worst = max(worst, math.Abs(float64(got[i])-float64(y)))
	}
	return largest, worst
}

// stepDir is the checkpoint of a step.
func stepDir(o Options, step int64) string {
	return filepath.Join(o.Out, fmt.Sprintf("step-%08d", step))
}
