package cuda

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pretext/trainer"
	"pretext/trainer/cuda/sim"
)

// offered are algorithms of which the fastest is wrong.
var offered = []sim.Algorithm{{Name: "first", Time: 9 * time.Millisecond}, {Name: "wrong", Time: time.Millisecond, Wrong: true}, {Name: "fast", Time: 2 * time.Millisecond}, {Name: "second", Time: 3 * time.Millisecond}}

// measuring returns a backend that measures every product, on a library that offers
// algorithms.
func measuring(algorithms []sim.Algorithm) *Backend {
	b := onDevice(sim.NewGPU(sim.Options{Seed: 12, Memory: 4 << 30, Algorithms: algorithms}))
	b.worth = 1
	return b
}

// chosen returns how many products of a model have each algorithm, after a step that
// compares the gradients with the CPU. The model starts from state.
func chosen(t *testing.T, b *Backend, o trainer.Options, state trainer.State) (algorithms map[string]int, after trainer.State) {
	t.Helper()
	c, h := smallConfig(64, 1, trainer.GELUNew), trainer.PretrainHeads()
	p := openPair(t, b, c, h, o)
	m := p.device.(*model)
	m.SetState(state)
	batch := ragged(rand.New(rand.NewPCG(3, 3)), c, 3, 25)
	for range 2 { // in the second, gradients are added to the first's
		got, want := p.gradients(t, batch, h)
		compareGradients(t, got, want, 1e-4)
	}
	algorithms = map[string]int{}
	for _, plan := range m.compute.plans {
		algorithms[b.device.Algorithm(plan)]++
	}
	return algorithms, m.State()
}

func TestTheFastestRightAlgorithmIsChosen(t *testing.T) {
	t.Parallel()
	only := func(t *testing.T, got map[string]int, name string) {
		t.Helper()
		if names := slices.Collect(maps.Keys(got)); !slices.Equal(names, []string{name}) || got[name] < 10 {
			t.Errorf("chose %v, want %s for all", got, name)
		}
	}
	got, state := chosen(t, measuring(offered), tinyOptions, trainer.State{})
	only(t, got, "fast")

	// A resumed run has the same, although another is faster now.
	slower := slices.Clone(offered)
	slower[3].Time = time.Microsecond
	got, _ = chosen(t, measuring(slower), tinyOptions, state)
	only(t, got, "fast")

	// What another device, driver or library took is not used.
	for _, part := range []string{"simulator, sm", "sm_89", "driver simulator", ", simulator: "} {
		other := trainer.State{Plans: map[string]string{}}
		for name, algorithm := range state.Plans {
			other.Plans[strings.Replace(name, part, part+"x", 1)] = algorithm
		}
		got, _ = chosen(t, measuring(slower), tinyOptions, other)
		only(t, got, "second")
	}

	// The library no longer knows it.
	got, _ = chosen(t, measuring(slices.Delete(slices.Clone(offered), 2, 3)), tinyOptions, state)
	only(t, got, "second")

	// Deterministic runs take the first, whatever takes how long.
	exact := tinyOptions
	exact.Deterministic = true
	got, _ = chosen(t, measuring(offered), exact, trainer.State{})
	only(t, got, "first")

	// Small products are not worth it.
	small := measuring(offered)
	small.worth = 0
	got, _ = chosen(t, small, tinyOptions, trainer.State{})
	only(t, got, "first")
}

// TestMeasuringNeedsNothingThatLasts counts what is allocated, and lets the memory run out.
func TestMeasuringNeedsNothingThatLasts(t *testing.T) {
	t.Parallel()
	c, h := smallConfig(64, 1, trainer.GELUNew), trainer.PretrainHeads()
	batch := ragged(rand.New(rand.NewPCG(3, 3)), c, 3, 25)
	size := newModel(c, h, tinyOptions, newShape(c, tinyOptions, onDevice(nil).limits)).requests().size()
	for memory, want := range map[int]string{size + 1<<20: "fast", size + 1<<10: "first"} {
		b := onDevice(sim.NewGPU(sim.Options{Seed: 12, Memory: int64(memory), Algorithms: offered}))
		b.worth = 1
		m, err := b.Open(c, h, tinyOptions)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, h, 5)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := m.Accumulate(batch, batch.Counts(h).Coef(), true); err != nil {
				t.Fatal(err)
			}
		}
		found := false
		for _, algorithm := range m.State().Plans {
			found = found || algorithm == want
		}
		if !found {
			t.Errorf("with %d bytes to spare: %v, want some %q", memory-size, m.State().Plans, want)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
