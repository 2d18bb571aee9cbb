package cuda

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/cuda/sim"
)

// trafficOf returns the bytes that kernels and products read and write in a training step of
// one batch, by their names.
func trafficOf(t *testing.T, c trainer.Config, batch *trainer.Batch, ways string) map[string]uint64 {
	t.Helper()
	gpu := sim.NewGPU(sim.Options{Seed: 1, Memory: 4 << 30})
	b := onDevice(gpu)
	b.ways = ways
	o := trainer.Options{Tokens: batch.Tokens(), Sequences: batch.Sequences(), Masked: 200, Precision: trainer.BFloat16, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW)}
	h := trainer.PretrainHeads()
	m, err := b.Open(c, h, o)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, h, 5)); err != nil {
		t.Fatal(err)
	}
	before := gpu.Counts()
	if err := m.Accumulate(batch, batch.Counts(h).Coef(), true); err != nil {
		t.Fatal(err)
	}
	if err := gpu.Sync(); err != nil {
		t.Fatal(err)
	}
	moved := map[string]uint64{}
	for name, c := range gpu.Counts() {
		moved[name] = c.Read + c.Written - before[name].Read - before[name].Written
	}
	return moved
}

// TestPassesOfALayer counts how often the kernels between the products of a layer, forward
// and backward, read or write as many bytes as a hidden state has. The last layer, which is
// computed for some rows only, is in both models that are compared.
func TestPassesOfALayer(t *testing.T) {
	t.Parallel()
	c := smallConfig(64, 2, trainer.GELUNew)
	c.IntermediateSize = 4 * c.HiddenSize
	batch := ragged(rand.New(rand.NewPCG(1, 3)), c, 200, 130, 182)
	hidden := float64(batch.Tokens() * c.HiddenSize * 2)
	for _, way := range []struct {
		ways string
		most float64 // passes of kernels outside of products and attention
	}{{fused, 22}, {plain, 50}}[:share(1, 2)] {
		c.Layers = 2
		two := trafficOf(t, c, batch, way.ways)
		c.Layers = 3
		three := trafficOf(t, c, batch, way.ways)
		total := 0.0
		for _, name := range slices.Sorted(maps.Keys(three)) {
			passes := float64(three[name]-two[name]) / hidden
			if passes == 0 {
				continue
			}
			t.Logf("%s: %-20s %5.2f passes", way.ways, name, passes)
			if name != "matmul" && name != "workspace" && !strings.HasPrefix(name, "copy") && name != "flash_forward" && name != "flash_backward" {
				total += passes
			}
		}
		t.Logf("%s: %.2f passes of a layer between its products", way.ways, total)
		if total > way.most {
			t.Errorf("%s: %.2f passes of a layer between its products, want at most %g", way.ways, total, way.most)
		}
	}
}
