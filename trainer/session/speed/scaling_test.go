package speed_test

import (
	"math"
	"testing"

	"pretext/trainer"
	"pretext/trainer/session/speed"
)

// figures are those of a run whose times can be computed by hand: all examples have
// full length, and GPUs do not differ.
func figures() speed.Figures {
	f := speed.DefaultFigures()
	f.Model, f.ShortSeqProb, f.Jitter, f.LatencyMicros = "tiny", 0, 0, 0
	f.Batch, f.Tokens, f.Steps = 1024, 1024, 2
	f.TokensPerSecond, f.Link, f.Network = 1e6, 100, 10
	return f
}

func simulated(t *testing.T, f speed.Figures, gpus ...int) []speed.Scaling {
	t.Helper()
	f.GPUs = gpus
	s, err := speed.Simulate(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*math.Abs(want) {
		t.Errorf("%s: got %v, want %v", name, got, want)
	}
}

// gradientBytes returns the size of the gradients of tiny, and of those that are
// complete at the end of a backward pass: of the first layer and the embeddings.
func gradientBytes(t *testing.T) (all, last float64) {
	t.Helper()
	c, err := trainer.Preset("tiny", 30522)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range trainer.Tensors(c, trainer.PretrainHeads()) {
		all += 4 * float64(s.Size())
		if s.Layer <= 0 {
			last += 4 * float64(s.Size())
		}
	}
	return all, last
}

func TestOneGPUIsAsFastAsMeasured(t *testing.T) {
	f := figures()
	f.OptimizerMillis, f.LaunchMillis = 2, 0.5
	s := simulated(t, f, 1)[0]
	near(t, "computing", s.Compute, 1e3*1024*128/1e6+128*0.5)
	near(t, "step", s.Step, s.Compute+2)
	near(t, "tokens per second", s.Tokens, 1e3*1024*128/s.Step)
	if s.Efficiency != 1 || s.Communication != 0 || s.Waiting != 0 {
		t.Errorf("got %+v", s)
	}
}

// Where computing takes no time, a step is what a ring takes for all gradients.
func TestSendingTakesTheTimeOfARing(t *testing.T) {
	f := figures()
	f.TokensPerSecond = 1e15
	bytes, last := gradientBytes(t)
	for n, speed := range map[int]float64{2: 100, 8: 100, 16: 10} {
		r := float64(n)
		near(t, "step", simulated(t, f, n)[0].Communication, 2*(r-1)/r*bytes/speed/1e6)
	}
	// With much to compute, what is left are the buckets that are complete last. With
	// ZeRO-1 the weights follow.
	f.TokensPerSecond = 1e4
	near(t, "hidden", simulated(t, f, 8)[0].Communication, 2*7/8.*last/100/1e6)
	f.Zero1, f.OptimizerMillis = true, 8
	s := simulated(t, f, 8)[0]
	near(t, "with ZeRO-1", s.Communication, 7/8.*(last+bytes)/100/1e6)
	near(t, "update with ZeRO-1", s.Optimizer, 1)
	f = figures()
	f.TokensPerSecond, f.LatencyMicros, f.Link = 1e15, 10, 1e9
	near(t, "latency", simulated(t, f, 8)[0].Communication, 4*2*7*10/1e3) // of four buckets
}

func TestScalingDependsOnWhatItIsAskedFor(t *testing.T) {
	f := speed.DefaultFigures()
	f.TokensPerSecond, f.Link, f.Network, f.Steps, f.OptimizerMillis = 300e3, 300, 40, 3, 4
	want := simulated(t, f, 8, 64, 1000)
	for i, s := range simulated(t, f, 8, 64, 1000) {
		if s != want[i] {
			t.Errorf("the same figures gave %+v, then %+v", want[i], s)
		}
		if !(s.Efficiency > 0 && s.Efficiency <= 1) || i > 0 && s.Efficiency >= want[i-1].Efficiency {
			t.Errorf("%d GPUs have efficiency %v", s.GPUs, s.Efficiency)
		}
	}
	slower := f
	slower.Network = 4
	if s := simulated(t, slower, 64)[0]; !(s.Step > want[1].Step) {
		t.Errorf("a slower network: %v ms, want more than %v", s.Step, want[1].Step)
	}
	jittery := f
	jittery.Jitter = 0.2
	if s := simulated(t, jittery, 64)[0]; !(s.Waiting > want[1].Waiting) {
		t.Errorf("more jitter: %v ms of waiting, want more than %v", s.Waiting, want[1].Waiting)
	}
}

func TestImpossibleFiguresAreRefused(t *testing.T) {
	for name, change := range map[string]func(f *speed.Figures){
		"no speed":    func(f *speed.Figures) { f.TokensPerSecond = 0 },
		"NaN":         func(f *speed.Figures) { f.Link = math.NaN() },
		"no GPUs":     func(f *speed.Figures) { f.GPUs = nil },
		"many GPUs":   func(f *speed.Figures) { f.GPUs = []int{1 << 20} },
		"many steps":  func(f *speed.Figures) { f.Steps = math.MaxInt },
		"short batch": func(f *speed.Figures) { f.Tokens = 100 },
		"no model":    func(f *speed.Figures) { f.Model = "enormous" },
	} {
		f := figures()
		change(&f)
		if _, err := speed.Simulate(f); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
