package cuda

import (
	"math/rand/v2"
	"testing"

	"pretext/trainer"
	"pretext/trainer/cuda/sim"
)

// TestAWrongWorkspaceIsFound trains a batch with a workspace that is null, or half as large as
// products are planned with: a GPU would overwrite the buffer behind it.
func TestAWrongWorkspaceIsFound(t *testing.T) {
	t.Parallel()
	c, h := smallConfig(128, 1, trainer.GELUNew), trainer.PretrainHeads()
	for _, w := range []struct {
		name  string
		apart bool // every buffer is an allocation of its own
		edit  func(p *products)
		want  sim.Kind
	}{
		{"null", true, func(p *products) { p.workspace = 0 }, sim.BadMatmul},
		{"half", true, func(p *products) { p.bytes *= 2 }, sim.OutOfBounds},
		{"half, in one allocation", false, func(p *products) { p.bytes *= 2 }, sim.Unwritten},
	} {
		b := simulated(1)
		b.apart = w.apart
		m, err := b.Open(c, h, tinyOptions)
		if err != nil {
			t.Fatal(err)
		}
		w.edit(&m.(*model).compute.products)
		if _, err = m.Load(trainer.Weights, trainer.InitialWeights(c, h, 5)); err == nil {
			err = m.Accumulate(ragged(rand.New(rand.NewPCG(1, 3)), c, 3, 25), trainer.Coef{MLM: 0.1, NSP: 0.1}, true)
		}
		if err == nil {
			_, err = m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-3, Steps: 10})
		}
		if !sim.IsFault(err, w.want) {
			t.Errorf("%s: got %v, want %q", w.name, err, w.want)
		}
		_ = m.Close() // the device has failed
	}
}
