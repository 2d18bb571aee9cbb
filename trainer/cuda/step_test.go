package cuda

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pretext/internal/dev/torture"
	"pretext/trainer"
	"pretext/trainer/cpu"
)

// smallConfig is a model of the shapes that need most care: a vocabulary that is
// no multiple of anything, ragged sequences, dropout.
func smallConfig(hidden, layers int, a trainer.Activation) trainer.Config {
	return trainer.Config{
		VocabSize: share(131, 1003), HiddenSize: hidden, Layers: layers, AttentionHeads: hidden / headSize, IntermediateSize: hidden + 64, Activation: a,
		HiddenDropout: 0.1, AttentionDropout: 0.2, MaxPositions: 200, Segments: 2, InitializerRange: 0.02, LayerNormEps: 1e-12,
	}
}

// share returns the first of two sizes in a plain go test, and the second in a full one.
func share[T any](small, full T) T {
	if torture.Full() {
		return full
	}
	return small
}

// ragged makes a batch of sequences with the given lengths. The first has no
// masked token, and one no label.
func ragged(r *rand.Rand, c trainer.Config, lengths ...int) *trainer.Batch {
	b := &trainer.Batch{}
	for i, n := range lengths {
		q := trainer.Sequence{NSPLabel: int32(i%3) - 1, Position: r.Int64N(1 << 40)}
		for j := range n {
			q.IDs, q.Segments = append(q.IDs, r.Int32N(int32(c.VocabSize))), append(q.Segments, int32(2*j/n))
			if i > 0 && r.IntN(6) == 0 {
				q.MaskedPositions, q.MaskedIDs = append(q.MaskedPositions, int32(j)), append(q.MaskedIDs, r.Int32N(int32(c.VocabSize)))
				q.MaskedWeights = append(q.MaskedWeights, 1)
			}
		}
		b.Append(q)
	}
	return b
}

// A pair is a model on the device and the same on the CPU in double precision.
type pair struct{ device, cpu trainer.Model }

func (p pair) each(f func(m trainer.Model)) { f(p.device); f(p.cpu) }

// openPair opens a model twice with the same weights.
func openPair(t *testing.T, b *Backend, c trainer.Config, h trainer.Heads, o trainer.Options) pair {
	t.Helper()
	open := func(b trainer.Backend, p trainer.Precision) trainer.Model {
		o.Precision = p
		m, err := b.Open(c, h, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
		return m
	}
	p := pair{open(b, o.Precision), open(cpu.Backend{}, trainer.Float64)}
	p.each(func(m trainer.Model) {
		if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, h, 5)); err != nil {
			t.Fatal(err)
		}
	})
	return p
}

// values returns all tensors of a kind.
func values(t *testing.T, m interface{ Tensors(trainer.Kind) seq }, k trainer.Kind) map[string][]float64 {
	t.Helper()
	all := map[string][]float64{}
	for x, err := range m.Tensors(k) {
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range x.Data {
			all[x.Name] = append(all[x.Name], float64(v))
		}
	}
	return all
}

// apart returns the relative error of got: |got - want| / |want|, with Euclidean norms.
func apart(got, want []float64) float64 {
	d, n := 0.0, 0.0
	for i := range want {
		d += (got[i] - want[i]) * (got[i] - want[i])
		n += want[i] * want[i]
	}
	if d == 0 {
		return 0
	}
	return math.Sqrt(d / n)
}

// TestStepsAreThoseOfTheCPU trains for a few steps of three micro-batches in the fp32
// build: losses, gradients and the way that the weights go are those of double
// precision.
func TestStepsAreThoseOfTheCPU(t *testing.T) {
	for _, c := range []struct {
		name      string
		config    trainer.Config
		optimizer trainer.OptimizerName
		apart     bool // buffers are allocations of their own
	}{
		{"tanh, AdamW", smallConfig(128, 2, trainer.GELUNew), trainer.AdamW, true},
		{"erf, LAMB", smallConfig(192, 1, trainer.GELU), trainer.LAMB, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := trainer.PretrainHeads()
			o := trainer.Options{Tokens: 70, Sequences: 4, Masked: 20, Precision: trainer.Float32, Train: true, Seed: 9, Optimizer: trainer.DefaultOptimizer(c.optimizer)}
			back := simulated(4)
			back.apart = c.apart
			p := openPair(t, back, c.config, h, o)
			start := values(t, p.cpu, trainer.Weights)
			r := rand.New(rand.NewPCG(1, 2))
			for step := range share(2, 5) {
				batches := []*trainer.Batch{ragged(r, c.config, 5, 31, 2), ragged(r, c.config, 66), ragged(r, c.config, 1, 17, 9)}
				checkStep(t, p, batches, step)
			}
			checkMovement(t, p, start, 1e-4)
		})
	}
}

// checkStep computes a step on both models and compares.
func checkStep(t *testing.T, p pair, batches []*trainer.Batch, step int) {
	t.Helper()
	var counts trainer.Counts
	for _, b := range batches {
		counts = counts.Add(b.Counts(trainer.PretrainHeads()))
	}
	var infos []trainer.StepInfo
	var gradients []map[string][]float64
	p.each(func(m trainer.Model) {
		for i, b := range batches {
			if err := m.Accumulate(b, counts.Coef(), i == len(batches)-1); err != nil {
				t.Fatal(err)
			}
		}
		gradients = append(gradients, values(t, m, trainer.Gradients))
		info, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-2, Steps: 10})
		if err != nil {
			t.Fatal(err)
		}
		infos = append(infos, info)
	})
	loss := 1e-6
	if step > 0 {
		loss = 1e-5 // the weights have moved apart
	}
	if got, want := infos[0], infos[1]; !(math.Abs(got.Sums.Loss()/want.Sums.Loss()-1) <= loss) || got.Sums.MLMWeight != want.Sums.MLMWeight || got.Sums.NSPCount != want.Sums.NSPCount {
		t.Errorf("step %d: %+v, want %+v", step, got, want)
	}
	limit := 1e-4
	if step > 0 {
		limit = 3e-4 // the weights have moved apart
	}
	compareGradients(t, gradients[0], gradients[1], limit)
}

// compareGradients compares all tensors except those whose true gradient is 0. It
// returns the median of the relative errors.
func compareGradients(t *testing.T, got, want map[string][]float64, limit float64) float64 {
	t.Helper()
	var all []float64
	for name, w := range want {
		if strings.HasSuffix(name, "key.bias") {
			continue
		}
		d := apart(got[name], w)
		all = append(all, d)
		if !(d <= limit) {
			t.Errorf("gradient of %s is off by %.2g, allowed %.2g", name, d, limit)
		}
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// gradients computes a batch on both models and returns their gradients.
func (p pair) gradients(t *testing.T, b *trainer.Batch, h trainer.Heads) (onDevice, onCPU map[string][]float64) {
	t.Helper()
	var both []map[string][]float64
	p.each(func(m trainer.Model) {
		if err := m.Accumulate(b, b.Counts(h).Coef(), true); err != nil {
			t.Fatal(err)
		}
		both = append(both, values(t, m, trainer.Gradients))
	})
	return both[0], both[1]
}

// checkMovement compares the changes of the weights since the start on both models.
func checkMovement(t *testing.T, p pair, start map[string][]float64, limit float64) {
	t.Helper()
	got, want := values(t, p.device, trainer.Weights), values(t, p.cpu, trainer.Weights)
	worst := 0.0
	for name, w := range want {
		if strings.HasSuffix(name, "key.bias") { // its true gradient is 0
			continue
		}
		g := got[name]
		for i, s := range start[name] {
			g[i], w[i] = g[i]-s, w[i]-s
		}
		d := apart(g, w)
		worst = max(worst, d)
		if !(d <= limit) {
			t.Errorf("%s moved apart by %.2g of its way, allowed %.2g", name, d, limit)
		}
	}
	t.Logf("worst movement: %.1e", worst)
}
