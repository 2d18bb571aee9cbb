package cuda

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/cuda/sim"
	"pretext/trainer/internal/ranktest"
)

// eightOptions are those of a small model in fp8.
var eightOptions = trainer.Options{Tokens: 96, Sequences: 4, Masked: 30, Precision: trainer.Float8, Train: true, Seed: 9, Optimizer: trainer.DefaultOptimizer(trainer.AdamW)}

// openEight opens a model in fp8 with its first weights.
func openEight(t *testing.T, c trainer.Config, o trainer.Options, seed uint64) *model {
	t.Helper()
	m, err := simulated(seed).Open(c, trainer.PretrainHeads(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, trainer.PretrainHeads(), 5)); err != nil {
		t.Fatal(err)
	}
	return m.(*model)
}

// step takes a step of a batch for each seed and returns what Apply does.
func (m *model) step(t *testing.T, seeds ...uint64) trainer.StepInfo {
	t.Helper()
	for i, seed := range seeds {
		b := ragged(rand.New(rand.NewPCG(seed, 1)), m.c, 5, 31, 2)
		if err := m.Accumulate(b, trainer.Coef{MLM: 0.1, NSP: 0.2}, i == len(seeds)-1); err != nil {
			t.Fatal(err)
		}
	}
	info, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-3, Steps: 100})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// TestEightBitsResumeExactly saves the state after a step and continues with a second model:
// weights have the same bits, and without the history they have others.
func TestEightBitsResumeExactly(t *testing.T) {
	t.Parallel()
	c, o := smallConfig(64, 1, trainer.GELUNew), eightOptions
	o.Deterministic = true
	first := openEight(t, c, o, 1)
	first.step(t, 1)
	first.step(t, 2, 3)
	state := first.State()
	if n := len(state.Amax["bert.encoder.layer.0.output gradient"]); len(state.Amax) != 8 || n != 2 {
		t.Fatalf("%d tensors with %d steps: %v", len(state.Amax), n, state.Amax)
	}
	second, other := openEight(t, c, o, 1), openEight(t, c, o, 1)
	for _, m := range []*model{second, other} {
		for _, k := range []trainer.Kind{trainer.Weights, trainer.FirstMoment, trainer.SecondMoment} {
			if _, err := m.Load(k, first.Tensors(k)); err != nil {
				t.Fatal(err)
			}
		}
	}
	second.SetState(state)
	state.Amax = nil
	other.SetState(state)
	for _, m := range []*model{first, second, other} {
		m.step(t, 4)
	}
	want := values(t, first, trainer.Weights)
	for name, w := range values(t, second, trainer.Weights) {
		if d := apart(w, want[name]); d != 0 {
			t.Errorf("%s is off by %.2g after a resume", name, d)
		}
	}
	same := true
	for name, w := range values(t, other, trainer.Weights) {
		same = same && apart(w, want[name]) == 0
	}
	if same {
		t.Error("the history has no effect")
	}
}

// TestSizesOfEightBitsAreThoseOfTheLastSteps holds the recurrence: the factor of a step comes
// from the largest size in the last 16, and a gradient that is too large is counted.
func TestSizesOfEightBitsAreThoseOfTheLastSteps(t *testing.T) {
	t.Parallel()
	m := openEight(t, smallConfig(64, 1, trainer.GELUNew), eightOptions, 2)
	e := m.compute.eight
	sizes := map[string][]float32{}
	for i, name := range e.names {
		for k := range 18 { // the oldest two do not count
			sizes[name] = append(sizes[name], float32(100-k)*float32(i+1))
		}
	}
	m.SetState(trainer.State{Amax: sizes})
	if info := m.step(t, 1); info.Saturated != 0 {
		t.Errorf("%v elements were too large for factors of much larger ones", info.Saturated)
	}
	got, from := m.State().Amax, m.staging.appendFloat32(nil, e.from, e.tensors())
	for i, name := range e.names {
		h := got[name]
		if len(h) != amaxHistory || h[0] != 97*float32(i+1) || h[14] != 83*float32(i+1) || !(h[15] > 0 && h[15] < 30) {
			t.Errorf("%s: %v", name, h)
		}
		if from[i] != h[0] {
			t.Errorf("%s: the next factor is that of %v, want %v", name, from[i], h[0])
		}
	}
	for name, h := range sizes {
		for k := range h {
			sizes[name][k] = 1e-12
		}
	}
	m.SetState(trainer.State{Amax: sizes})
	if info := m.step(t, 1); !(info.Saturated > 1000) {
		t.Errorf("%v elements were too large, and all are", info.Saturated)
	}
}

func TestEightBitsAreRefused(t *testing.T) {
	c := smallConfig(64, 1, trainer.GELUNew)
	old := New(sim.NewGPU(sim.Options{Capability: 80}))
	_, err := old.Open(c, trainer.PretrainHeads(), eightOptions)
	if want := `open cuda model: precision "fp8": simulator has compute capability 8.0, and 8-bit products need 8.9: use "bf16"`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	c.IntermediateSize += 8
	_, err = simulated(1).Open(c, trainer.PretrainHeads(), eightOptions)
	if err == nil || !strings.HasSuffix(err.Error(), "intermediate_size 136: must be a multiple of 16") {
		t.Errorf("got %v", err)
	}
}

// TestEightBitsAreNearSixteen compares gradients with those of double precision, and the
// loss of evaluation.
func TestEightBitsAreNearSixteen(t *testing.T) {
	t.Parallel()
	c, h := smallConfig(64, 2, trainer.GELUNew), trainer.PretrainHeads()
	o := eightOptions
	p := openPair(t, simulated(3), c, h, o)
	b := ragged(rand.New(rand.NewPCG(3, 1)), c, 5, 31, 2, 40)
	got, want := p.gradients(t, b, h)
	median := compareGradients(t, got, want, 0.3)
	t.Logf("median %.3g", median)
	if !(median > 5e-3 && median < 0.1) {
		t.Errorf("gradients are off by %.2g: 8 bits, and no more", median)
	}
	var losses []float64
	p.each(func(m trainer.Model) {
		sums, err := m.Forward(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		losses = append(losses, sums.Loss())
	})
	if !(math.Abs(losses[0]/losses[1]-1) < 5e-3) {
		t.Errorf("loss %v, want %v", losses[0], losses[1])
	}
}

// TestRanksShareTheSizesOfEightBits trains on one rank and on two: both ranks have the
// history of the one, to the bit, after the first step.
func TestRanksShareTheSizesOfEightBits(t *testing.T) {
	t.Parallel()
	c, h := smallConfig(64, 1, trainer.GELUNew), trainer.PretrainHeads()
	run := func(ranks int) []trainer.State {
		states := make([]trainer.State, ranks)
		ranktest.Run(ranks, func(comm trainer.Comm) {
			o := eightOptions
			o.Comm, o.Deterministic = comm, true
			b := simulated(uint64(1 + 10*comm.Rank()))
			b.Transport = TransportHost
			m, err := b.Open(c, h, o)
			if err != nil {
				t.Error(err)
				return
			}
			defer m.Close()
			_, err = m.Load(trainer.Weights, trainer.InitialWeights(c, h, 5))
			for i := comm.Rank(); i < 3 && err == nil; i += ranks {
				err = m.Accumulate(ragged(rand.New(rand.NewPCG(uint64(i), 1)), c, 5, 31, 2+i), trainer.Coef{MLM: 0.1, NSP: 0.2}, i+ranks >= 3)
			}
			if err == nil {
				_, err = m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-3, Steps: 100})
			}
			if err != nil {
				t.Error(err)
			}
			states[comm.Rank()] = m.State()
		})
		return states
	}
	want := run(1)[0].Amax
	if len(want) == 0 {
		t.Fatal("no history")
	}
	for rank, s := range run(2) {
		if !reflect.DeepEqual(s.Amax, want) {
			t.Errorf("rank %d of two has %v, want %v", rank, s.Amax, want)
		}
	}
}
