package cuda

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/cpu"
)

// TestTheCPUImitatesLowerPrecisions takes two steps in bf16 and in fp8 here and on the CPU,
// which rounds at the same places: the same loss, the same number of elements too large for
// their factors, and gradients whose difference is below a tenth of what the precision itself
// does to them (mostly 1e-7 of the norm; where the order of a sum changes a rounding, some
// 1e-4). Biases of keys have no true gradient. The device pads the tokens and the rows that the
// heads read: padding has no part in factors and counts.
func TestTheCPUImitatesLowerPrecisions(t *testing.T) {
	t.Parallel()
	c, h := smallConfig(64, 2, trainer.GELUNew), trainer.Heads{MLM: true}
	// Sums in another order round to another number in bf16 if they are near the middle of two,
	// and what follows differs by up to a third of the effect of all roundings. With these weights
	// none of the first step does, so that a rounding in a wrong place shows.
	c.VocabSize = 136
	for _, p := range []trainer.Precision{trainer.BFloat16, trainer.Float8} {
		o := trainer.Options{Tokens: 96, Sequences: 4, Masked: 40, Precision: p, Train: true, Seed: 9, Optimizer: trainer.DefaultOptimizer(trainer.AdamW)}
		b := simulated(10) // no errors
		b.ways = plain
		pair := openPair(t, b, c, h, o)
		imitation, err := cpu.Backend{}.Open(c, h, o)
		if err != nil {
			t.Fatal(err)
		}
		defer imitation.Close()
		all := []trainer.Model{pair.device, imitation, pair.cpu}
		for _, m := range all {
			if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, h, 6)); err != nil {
				t.Fatal(err)
			}
		}
		for step := range 2 {
			b := ragged(rand.New(rand.NewPCG(uint64(step), 2)), c, 20, 27, 30, 9)
			want, exact := pair.gradients(t, b, h)
			if err := imitation.Accumulate(b, b.Counts(h).Coef(), true); err != nil {
				t.Fatal(err)
			}
			for name, g := range values(t, imitation, trainer.Gradients) {
				limit := apart(exact[name], want[name]) / 10
				if d := apart(g, want[name]); !(d <= limit) && !strings.HasSuffix(name, "key.bias") {
					t.Errorf("%s, step %d: gradient of %s is off by %.2g, want at most %.2g", p, step, name, d, limit)
				}
			}
			var infos []trainer.StepInfo
			for _, m := range all {
				info, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-3, Steps: 100})
				if err != nil {
					t.Fatal(err)
				}
				infos = append(infos, info)
			}
			if d := infos[1].Sums.Loss()/infos[0].Sums.Loss() - 1; !(math.Abs(d) < 1e-5) || infos[1].Saturated != infos[0].Saturated {
				t.Errorf("%s, step %d: loss %v and %v elements too large, want %v and %v", p, step, infos[1].Sums.Loss(), infos[1].Saturated, infos[0].Sums.Loss(), infos[0].Saturated)
			}
			if p == trainer.Float8 && step == 1 && infos[0].Saturated == 0 {
				t.Error("nothing was too large, and the test compares nothing")
			}
		}
	}
}
