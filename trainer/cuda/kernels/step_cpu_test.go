package kernels_test

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/cpu"
	"pretext/trainer/cuda/kernels"
)

// stepCase is a model and how near to the CPU it must be computed.
type stepCase struct {
	name             string
	typ              kernels.Type
	flash            bool
	activation       trainer.Activation
	hidden, layers   int
	loss, worst, mid float64 // allowed errors: of the loss, of the worst gradient, of the median gradient
	key              float64 // largest gradient of a key's bias, which would be 0 without rounding
}

// TestAWholeStepIsThatOfTheCPU holds kernels together: losses and all gradients of
// a step of BERT with dropout on ragged sequences are those of trainer/cpu in
// double precision, and the same bits in every order of blocks and warps. A plain go
// test computes it in bfloat16 alone, with a small vocabulary.
func TestAWholeStepIsThatOfTheCPU(t *testing.T) {
	for _, c := range []stepCase{
		{"tanh", kernels.F32, false, trainer.GELUNew, 128, 2, 1e-6, 1e-5, 2e-6, 1e-8},
		{"erf", kernels.F32, false, trainer.GELU, 192, 1, 1e-6, 1e-5, 2e-6, 1e-8},
		{"bf16", kernels.BF16, true, trainer.GELUNew, 128, 2, 1e-3, 8e-2, 1e-2, 1e-3},
		{"fp16", kernels.F16, true, trainer.GELU, 192, 1, 2e-4, 1e-2, 2.5e-3, 1e-4},
	} {
		if c.typ != kernels.BF16 && !all() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t)
		})
	}
}

func (c stepCase) check(t *testing.T) {
	config := trainer.Config{
		VocabSize: 1003, HiddenSize: c.hidden, Layers: c.layers, AttentionHeads: c.hidden / headSize, IntermediateSize: 2 * c.hidden, Activation: c.activation,
		HiddenDropout: 0.1, AttentionDropout: 0.2, MaxPositions: 80, Segments: 2, InitializerRange: 0.02, LayerNormEps: 1e-12,
	}
	if !all() {
		config.VocabSize = 203
	}
	heads := trainer.PretrainHeads()
	r := rand.New(rand.NewPCG(5, 6))
	batch := &trainer.Batch{}
	for i, n := range []int{1, 33, 17, 66} {
		q := trainer.Sequence{NSPLabel: []int32{1, 0, trainer.NoLabel, 1}[i], Position: int64(i) + 1<<32}
		for j := range n {
			q.IDs, q.Segments = append(q.IDs, r.Int32N(int32(config.VocabSize))), append(q.Segments, int32(2*j/n))
			if i != 1 && r.IntN(6) == 0 {
				q.MaskedPositions, q.MaskedIDs, q.MaskedWeights = append(q.MaskedPositions, int32(j)), append(q.MaskedIDs, r.Int32N(int32(config.VocabSize))), append(q.MaskedWeights, 1)
			}
		}
		batch.Append(q)
	}
	values := map[string][]float64{}
	for _, spec := range trainer.Tensors(config, heads) {
		v := make([]float64, spec.Size())
		for i := range v {
			v[i] = float64(float32(0.05 * r.NormFloat64()))
			if strings.HasSuffix(spec.Name, "LayerNorm.weight") {
				v[i]++
			}
		}
		values[spec.Name] = v
	}
	model, err := cpu.Backend{}.Open(config, heads, trainer.Options{Tokens: 200, Sequences: 8, Masked: 80, Precision: trainer.Float64, Train: true, Seed: stepSeed, Optimizer: trainer.DefaultOptimizer(trainer.AdamW)})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	if _, err := model.Load(trainer.Weights, tensorsOf(config, heads, values)); err != nil {
		t.Fatal(err)
	}
	coef := batch.Counts(heads).Coef()
	if err := model.Accumulate(batch, coef, true); err != nil {
		t.Fatal(err)
	}
	want := map[string][]float64{}
	for tensor, err := range model.Tensors(trainer.Gradients) {
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range tensor.Data {
			want[tensor.Name] = append(want[tensor.Name], float64(v))
		}
	}
	info, err := model.Apply(trainer.Schedule{Kind: trainer.Constant, Steps: 10})
	if err != nil {
		t.Fatal(err)
	}

	var before *step
	for seed := range uint64(2) {
		s := &step{fixture: newFixture(c.typ, seed), c: config, b: batch, weights: map[string]uint64{}, grads: map[string]uint64{}, flash: c.flash, scale: 1, sizes: map[string]int{}}
		if c.typ == kernels.F16 {
			s.scale = 1024
		}
		err := s.fixture.run(func(f *fixture) { c.compare(t, s, values, coef, info.Sums, want) })
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for name, at := range s.grads {
			if n := s.sizes[name]; before != nil && !slices.Equal(s.readFloats(at, n), before.readFloats(before.grads[name], n)) {
				t.Errorf("%s: other bits in another order", name)
			}
		}
		before = s
	}
}

func tensorsOf(c trainer.Config, h trainer.Heads, values map[string][]float64) iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		for _, spec := range trainer.Tensors(c, h) {
			data := make([]float32, spec.Size())
			for i, v := range values[spec.Name] {
				data[i] = float32(v)
			}
			if !yield(trainer.Tensor{Name: spec.Name, Shape: spec.Shape, Data: data}, nil) {
				return
			}
		}
	}
}

// compare runs a step on the device and compares.
func (c stepCase) compare(t *testing.T, s *step, values map[string][]float64, coef trainer.Coef, sums trainer.Sums, want map[string][]float64) {
	b := s.b
	s.stream = s.device.NewStream()
	s.tensors(values)
	cu, position := numbers(s.fixture, "cu", b.CuSeqlens), numbers(s.fixture, "position", b.Sequence)
	sequence := []int32{}
	for i := range b.Sequences() {
		for range b.CuSeqlens[i+1] - b.CuSeqlens[i] {
			sequence = append(sequence, int32(i))
		}
	}
	s.rows = kernels.Rows{Sequence: numbers(s.fixture, "sequence", sequence), Cu: cu, Position: position, N: int32(b.Tokens())}
	s.batch = kernels.Batch{Cu: cu, Position: position, Tokens: int32(b.Tokens()), Heads: int32(s.c.AttentionHeads)}
	s.part = s.outputFloats("part", 3*max(3*s.c.HiddenSize, s.c.IntermediateSize, s.vocabulary()))
	mlm, nsp := s.run(coef)
	got := trainer.Sums{MLMLoss: mlm[0], MLMWeight: mlm[1], NSPLoss: nsp[0], NSPCount: nsp[1]}
	if got.MLMWeight != sums.MLMWeight || got.NSPCount != sums.NSPCount || math.Abs(got.Loss()/sums.Loss()-1) > c.loss {
		s.must(fmt.Errorf("sums %+v, want %+v", got, sums))
	}
	var errs []float64
	for _, spec := range trainer.Tensors(s.c, trainer.PretrainHeads()) {
		g, w := s.gradient(spec), want[spec.Name]
		if strings.HasSuffix(spec.Name, "key.bias") { // the true gradient is 0
			if size := max(slices.Max(g), -slices.Min(g)); size > c.key {
				s.must(fmt.Errorf("%s is up to %g", spec.Name, size))
			}
			continue
		}
		d := distance(g, w)
		errs = append(errs, d)
		if !(d <= c.worst) {
			s.must(fmt.Errorf("gradient of %s is off by %.2g, allowed %.2g", spec.Name, d, c.worst))
		}
	}
	slices.Sort(errs)
	t.Logf("loss off by %.1e; gradients: median %.1e, worst %.1e", got.Loss()/sums.Loss()-1, errs[len(errs)/2], errs[len(errs)-1])
	if errs[len(errs)/2] > c.mid {
		s.must(fmt.Errorf("the median gradient is off by %.2g, allowed %.2g", errs[len(errs)/2], c.mid))
	}
}

func distance(a, b []float64) float64 {
	d, n := 0.0, 0.0
	for i := range b {
		d += (a[i] - b[i]) * (a[i] - b[i])
		n += b[i] * b[i]
	}
	return math.Sqrt(d / n)
}
