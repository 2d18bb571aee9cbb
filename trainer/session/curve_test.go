package session

import (
	"math"
	"path/filepath"
	"testing"

	"pretext/internal/dev/torture"
	"pretext/trainer"
)

// Training in 16 bits on a simulated GPU learns as training in single precision:
// the masked LM loss differs by less than another seed changes it. A plain run
// takes 3 steps, in which it may differ by the rounding of logits alone: by 2^-8 of
// itself in bf16, by 2^-11 in fp16. A long one (PRETEXT_TORTURE) takes 300.
func TestCurvesOf16BitsAreThoseOfFloat32(t *testing.T) {
	t.Parallel()
	o := gpuOptions(t)
	o.NumTrainSteps = int64(torture.Times(t, "PRETEXT_CURVE_STEPS", 3, 300))
	o.LearningRate, o.NumWarmupSteps, o.SaveCheckpointsSteps = 2e-3, max(1, o.NumTrainSteps/10), 0
	at := func(name string, seed uint64) Options {
		c := o
		c.Out, c.Seed = filepath.Join(fastDir(t), name), seed
		return c
	}
	losses := map[string][]float64{}
	for _, p := range []trainer.Precision{trainer.Float32, trainer.BFloat16, trainer.Float16} {
		c := at(string(p), 1)
		trainOn(t, c, simulated(t, p, 1), 0)
		losses[string(p)] = mlmLosses(t, c.Out)
	}
	want := losses["fp32"]
	noise := 0.0
	for seed := uint64(2); seed <= 4; seed++ {
		c := at("cpu", seed)
		mustTrain(t, c)
		noise += meanDifference(mlmLosses(t, c.Out), want) / 3
	}
	tail := max(1, len(want)/6)
	t.Logf("fp32: masked LM loss %.4f at first, %.4f in the last %d steps; another seed differs by %.4f a step", want[0], average(want[len(want)-tail:]), tail, noise)
	for p, rounding := range map[string]float64{"bf16": 0x1p-8, "fp16": 0x1p-11} {
		got, most := losses[p], noise
		if o.NumTrainSteps <= 3 {
			most = min(noise, rounding*want[0])
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %d steps, want %d", p, len(got), len(want))
		}
		d := meanDifference(got, want)
		t.Logf("%s: %.4f in the last %d steps; differs from fp32 by %.4f a step", p, average(got[len(got)-tail:]), tail, d)
		if !(d < most) {
			t.Errorf("%s differs from fp32 by %g a step on average, want less than %g; another seed by %g", p, d, most, noise)
		}
	}
	if o.NumTrainSteps >= 300 && !(average(want[len(want)-tail:]) < 0.7*want[0]) {
		t.Errorf("the loss fell from %g to %g only: the curves show nothing", want[0], average(want[len(want)-tail:]))
	}
}

// mlmLosses returns the masked LM loss of every training step in the metrics of
// a run.
func mlmLosses(t *testing.T, out string) (losses []float64) {
	t.Helper()
	for _, line := range steady(t, out) {
		if v, ok := line["mlm_loss"].(float64); ok {
			losses = append(losses, v)
		}
	}
	if len(losses) == 0 {
		t.Fatalf("%s: no mlm_loss in the metrics", out)
	}
	return losses
}

// meanDifference returns the mean of |a[i] - b[i]|.
func meanDifference(a, b []float64) float64 {
	sum := 0.0
	for i := range min(len(a), len(b)) {
		sum += math.Abs(a[i] - b[i])
	}
	return sum / float64(min(len(a), len(b)))
}

func average(a []float64) float64 {
	sum := 0.0
	for _, v := range a {
		sum += v
	}
	return sum / float64(len(a))
}
