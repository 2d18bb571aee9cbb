// Package backendtest holds every backend to the CPU's double precision: losses,
// gradients with dropout on, updates, outputs, and behaviour at the limits.
//
//	func TestBackend(t *testing.T) {
//		be, err := cuda.Open(0)
//		…
//		backendtest.Run(t, be, trainer.BFloat16)
//	}
//
// Shapes are what a device must support: head size 64, hidden sizes 128 and
// 192, a vocabulary that is no multiple of anything, sequences from one token
// to more than two tiles. Tests of single operations stay inside each backend.
package backendtest

import (
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/cpu"
)

// A Tolerance is how far a precision may be from double precision, as norm of
// difference over norm.
type Tolerance struct {
	Loss     float64
	Gradient float64 // worst tensor
	Median   float64 // of the tensors
	Zero     float64 // size of a gradient whose true value is zero, of that of the query bias
}

// Tolerances returns the limits of the trainer's design.
func Tolerances(p trainer.Precision) Tolerance {
	switch p {
	case trainer.Float64:
		return Tolerance{Loss: 1e-11, Gradient: 1e-6, Median: 1e-7, Zero: 1e-6}
	case trainer.Float32:
		return Tolerance{Loss: 1e-6, Gradient: 1e-4, Median: 2e-5, Zero: 1e-3}
	default:
		return Tolerance{Loss: 1e-3, Gradient: 8e-2, Median: 1e-2, Zero: 0.5}
	}
}

// A setting is one model and the lengths of its batch.
type setting struct {
	name    string
	config  trainer.Config
	heads   trainer.Heads
	lengths []int
}

func settings() []setting {
	base := trainer.Config{
		VocabSize: 1003, HiddenSize: 128, Layers: 2, AttentionHeads: 2, IntermediateSize: 192, Activation: trainer.GELUNew,
		HiddenDropout: 0.1, AttentionDropout: 0.1, MaxPositions: 80, Segments: 2, InitializerRange: 0.05, LayerNormEps: 1e-12,
	}
	wide := base
	wide.HiddenSize, wide.AttentionHeads, wide.IntermediateSize, wide.Layers, wide.Activation = 192, 3, 320, 1, trainer.GELU
	still := base
	still.HiddenDropout, still.AttentionDropout = 0, 0
	lengths := []int{1, 33, 17, 66, 2}
	return []setting{
		{"pretraining with dropout", base, trainer.PretrainHeads(), lengths},
		{"pretraining without dropout", still, trainer.PretrainHeads(), lengths},
		{"three heads, erf", wide, trainer.PretrainHeads(), lengths},
		{"classification", base, trainer.Heads{Labels: 5}, lengths},
		{"regression", base, trainer.Heads{Regression: true}, lengths},
		{"span", base, trainer.Heads{Span: true}, lengths},
	}
}

// Run runs all tests on a backend with a precision.
func Run(t *testing.T, b trainer.Backend, p trainer.Precision) {
	for _, s := range settings() {
		t.Run(s.name, func(t *testing.T) {
			t.Run("gradients", func(t *testing.T) { checkGradients(t, b, p, s) })
			t.Run("evaluation", func(t *testing.T) { checkForward(t, b, p, s) })
			t.Run("micro-batches", func(t *testing.T) { checkMicroBatches(t, b, p, s) })
		})
	}
	for _, o := range []trainer.OptimizerName{trainer.AdamW, trainer.LAMB} {
		t.Run("updates by "+string(o), func(t *testing.T) { checkUpdates(t, b, p, o) })
	}
	t.Run("tensors come back as loaded", func(t *testing.T) { checkLoad(t, b, p) })
	t.Run("limits", func(t *testing.T) { checkLimits(t, b, p) })
}

// batch makes sequences of the given lengths with targets for every head; one
// sequence has no masked token.
func (s setting) batch(seed uint64) *trainer.Batch {
	r := rand.New(rand.NewPCG(seed, 7))
	b := &trainer.Batch{}
	for i, n := range s.lengths {
		q := trainer.Sequence{NSPLabel: int32(r.IntN(2)), Position: int64(i) + int64(seed)<<32}
		for j := range n {
			q.IDs, q.Segments = append(q.IDs, int32(r.IntN(s.config.VocabSize))), append(q.Segments, int32(2*j/n))
			if i != 1 && r.IntN(6) == 0 {
				q.MaskedPositions = append(q.MaskedPositions, int32(j))
				q.MaskedIDs, q.MaskedWeights = append(q.MaskedIDs, int32(r.IntN(s.config.VocabSize))), append(q.MaskedWeights, 1)
			}
		}
		b.Append(q)
		start := r.IntN(n)
		b.Starts, b.Ends = append(b.Starts, int32(start)), append(b.Ends, int32(start+r.IntN(n-start)))
		b.Labels, b.Scores = append(b.Labels, int32(r.IntN(5))), append(b.Scores, r.Float32())
	}
	return b
}

// open opens a model whose biases and LayerNorms are not trivial.
func (s setting) open(t *testing.T, back trainer.Backend, p trainer.Precision, o trainer.OptimizerName) trainer.Model {
	t.Helper()
	m, err := back.Open(s.config, s.heads, trainer.Options{
		Tokens: 160, Sequences: 8, Masked: 64, Precision: p, Train: true, Seed: 77, Optimizer: trainer.DefaultOptimizer(o),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	report, err := m.Load(trainer.Weights, s.weights())
	if err == nil {
		err = report.Complete()
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// weights yields values that every precision holds exactly: multiples of 2^-7
// below 1/2, and LayerNorm gains around 1.
func (s setting) weights() iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		r := rand.New(rand.NewPCG(1, 1))
		for w := range trainer.InitialWeights(s.config, s.heads, 3) {
			for i := range w.Data {
				w.Data[i] = float32(max(-20, min(20, math.Round(8*r.NormFloat64())))) / 128
				if strings.HasSuffix(w.Name, "LayerNorm.weight") {
					w.Data[i]++
				}
			}
			if !yield(w, nil) {
				return
			}
		}
	}
}

func (s setting) reference(t *testing.T, o trainer.OptimizerName) trainer.Model {
	t.Helper()
	return s.open(t, cpu.Backend{}, trainer.Float64, o)
}

func tensors(t *testing.T, m trainer.Model, k trainer.Kind) map[string][]float32 {
	t.Helper()
	all := map[string][]float32{}
	for x, err := range m.Tensors(k) {
		if err != nil {
			t.Fatal(err)
		}
		all[x.Name] = slices.Clone(x.Data)
	}
	return all
}

func norm(x []float32) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}

// distance is norm of difference over norm; NaN where either holds one.
func distance(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	d := make([]float32, len(got))
	for i := range got {
		d[i] = got[i] - want[i]
	}
	return norm(d) / norm(want)
}

func checkGradients(t *testing.T, back trainer.Backend, p trainer.Precision, s setting) {
	got, want := s.open(t, back, p, trainer.AdamW), s.reference(t, trainer.AdamW)
	b := s.batch(1)
	coef := b.Counts(s.heads).Coef()
	for _, m := range []trainer.Model{got, want} {
		if err := m.Accumulate(b, coef); err != nil {
			t.Fatal(err)
		}
	}
	compareGradients(t, tensors(t, got, trainer.Gradients), tensors(t, want, trainer.Gradients), Tolerances(p))
	loss := func(m trainer.Model) float64 {
		info, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Steps: 1}, trainer.Alone{})
		if err != nil {
			t.Fatal(err)
		}
		return info.Sums.Loss()
	}
	if g, w := loss(got), loss(want); !(math.Abs(g/w-1) <= Tolerances(p).Loss) {
		t.Errorf("loss %v, want %v", g, w)
	}
}

// compareGradients compares all tensors. Where the true gradient is zero but
// for rounding, sizes are compared with the neighbouring query bias.
func compareGradients(t *testing.T, got, want map[string][]float32, tol Tolerance) {
	t.Helper()
	var all []float64
	total := 0.0
	for _, w := range want {
		total += norm(w) * norm(w)
	}
	for name, w := range want {
		g := got[name]
		switch {
		case strings.HasSuffix(name, "key.bias"):
			query := norm(want[strings.Replace(name, "key", "query", 1)])
			if !(norm(g) <= tol.Zero*query) {
				t.Errorf("%s: size %.3g, true value 0, query bias %.3g", name, norm(g), query)
			}
			continue
		case norm(w) < 1e-6*math.Sqrt(total): // what only shifts all span logits
			if !(norm(g) <= tol.Gradient*math.Sqrt(total)) {
				t.Errorf("%s: size %.3g, true value 0", name, norm(g))
			}
			continue
		}
		d := distance(g, w)
		all = append(all, d)
		if !(d <= tol.Gradient) {
			t.Errorf("%s: apart by %.3g, allowed %.3g", name, d, tol.Gradient)
		}
	}
	slices.Sort(all)
	if m := all[len(all)/2]; !(m <= tol.Median) {
		t.Errorf("median of tensors apart by %.3g, allowed %.3g", m, tol.Median)
	}
}

func checkForward(t *testing.T, back trainer.Backend, p trainer.Precision, s setting) {
	got, want := s.open(t, back, p, trainer.AdamW), s.reference(t, trainer.AdamW)
	b := s.batch(2)
	asked := trainer.OutputHidden | trainer.OutputPooled | trainer.OutputMLMLogits | trainer.OutputNSPLogits | trainer.OutputLogits | trainer.OutputSpans
	g, w := &trainer.Outputs{Want: asked}, &trainer.Outputs{Want: asked}
	gs, err := got.Forward(b, g)
	if err != nil {
		t.Fatal(err)
	}
	ws, err := want.Forward(b, w)
	if err != nil {
		t.Fatal(err)
	}
	tol := Tolerances(p)
	if !(math.Abs(gs.Loss()/ws.Loss()-1) <= tol.Loss) || gs.Tokens != ws.Tokens || gs.MLMWeight != ws.MLMWeight || gs.NSPCount != ws.NSPCount || gs.LabelCount != ws.LabelCount {
		t.Errorf("sums %+v, want %+v", gs, ws)
	}
	for _, o := range []struct {
		name      string
		got, want []float32
	}{
		{"hidden", g.Hidden, w.Hidden}, {"pooled", g.Pooled, w.Pooled}, {"masked-LM logits", g.MLMLogits, w.MLMLogits},
		{"next-sentence logits", g.NSPLogits, w.NSPLogits}, {"logits", g.Logits, w.Logits}, {"spans", g.Spans, w.Spans},
	} {
		if len(o.want) == 0 && len(o.got) == 0 {
			continue
		}
		if d := distance(o.got, o.want); !(d <= tol.Median) {
			t.Errorf("%s: apart by %.3g, allowed %.3g", o.name, d, tol.Median)
		}
	}
}

// part returns sequences [lo, hi) of b.
func part(b *trainer.Batch, lo, hi int) *trainer.Batch {
	p := &trainer.Batch{Labels: b.Labels[lo:hi], Scores: b.Scores[lo:hi], Starts: b.Starts[lo:hi], Ends: b.Ends[lo:hi]}
	for s := lo; s < hi; s++ {
		first, end := b.CuSeqlens[s], b.CuSeqlens[s+1]
		q := trainer.Sequence{IDs: b.IDs[first:end], Segments: b.Segments[first:end], NSPLabel: b.NSPLabels[s], Position: b.Sequence[s]}
		for i, row := range b.MaskedIndex {
			if row >= first && row < end {
				q.MaskedPositions = append(q.MaskedPositions, row-first)
				q.MaskedIDs, q.MaskedWeights = append(q.MaskedIDs, b.MaskedIDs[i]), append(q.MaskedWeights, b.MaskedWeights[i])
			}
		}
		p.Append(q)
	}
	return p
}

func checkMicroBatches(t *testing.T, back trainer.Backend, p trainer.Precision, s setting) {
	joined, apart := s.open(t, back, p, trainer.AdamW), s.open(t, back, p, trainer.AdamW)
	b := s.batch(3)
	coef := b.Counts(s.heads).Coef()
	if err := joined.Accumulate(b, coef); err != nil {
		t.Fatal(err)
	}
	for _, cut := range [][2]int{{0, 1}, {1, 2}, {2, 5}} {
		if err := apart.Accumulate(part(b, cut[0], cut[1]), coef); err != nil {
			t.Fatal(err)
		}
	}
	compareGradients(t, tensors(t, apart, trainer.Gradients), tensors(t, joined, trainer.Gradients), Tolerances(p))
}

func checkUpdates(t *testing.T, back trainer.Backend, p trainer.Precision, o trainer.OptimizerName) {
	s := settings()[0]
	got, want := s.open(t, back, p, o), s.reference(t, o)
	start := tensors(t, want, trainer.Weights)
	schedule := trainer.Schedule{Kind: trainer.Linear, Peak: 1e-3, Steps: 10, Warmup: 2}
	for step := range uint64(3) {
		b := s.batch(10 + step)
		var infos [2]trainer.StepInfo
		for i, m := range []trainer.Model{got, want} {
			if err := m.Accumulate(b, b.Counts(s.heads).Coef()); err != nil {
				t.Fatal(err)
			}
			info, err := m.Apply(schedule, trainer.Alone{})
			if err != nil {
				t.Fatal(err)
			}
			infos[i] = info
		}
		tol := Tolerances(p)
		if g, w := infos[0], infos[1]; g.Rate != w.Rate || g.Skipped || !(math.Abs(g.GradNorm/w.GradNorm-1) <= 10*tol.Loss) || !(math.Abs(g.Sums.Loss()/w.Sums.Loss()-1) <= tol.Loss) {
			t.Errorf("step %d: %+v, want %+v", step, g, w)
		}
	}
	compareMovement(t, tensors(t, got, trainer.Weights), tensors(t, want, trainer.Weights), start, p)
	if got.State().Step != 3 {
		t.Errorf("state %+v after 3 steps", got.State())
	}
}

// compareMovement compares weights by the way they went. Where gradients are
// noise (key biases) a rule that divides by their size makes anything of them.
func compareMovement(t *testing.T, got, want, start map[string][]float32, p trainer.Precision) {
	t.Helper()
	limit := map[trainer.Precision]float64{trainer.Float64: 1e-4, trainer.Float32: 5e-3}[p] // float32 storage is 1e-4 of so short a way
	if limit == 0 {
		limit = 0.5
	}
	for name, w := range want {
		if strings.HasSuffix(name, "key.bias") {
			continue
		}
		way := func(x []float32) []float32 {
			d := make([]float32, len(x))
			for i := range x {
				d[i] = x[i] - start[name][i]
			}
			return d
		}
		if d := distance(way(got[name]), way(w)); !(d <= limit) {
			t.Errorf("%s: moved apart by %.3g of the way, allowed %.3g", name, d, limit)
		}
	}
}

func checkLoad(t *testing.T, back trainer.Backend, p trainer.Precision) {
	s := settings()[0]
	m := s.open(t, back, p, trainer.AdamW)
	for _, k := range []trainer.Kind{trainer.Weights, trainer.FirstMoment, trainer.SecondMoment} {
		if _, err := m.Load(k, s.weights()); err != nil {
			t.Fatal(err)
		}
		got := tensors(t, m, k)
		for w := range s.weights() {
			if !slices.Equal(got[w.Name], w.Data) {
				t.Errorf("%v of %s: not what was loaded", k, w.Name)
			}
		}
	}
	want := trainer.State{Step: 41, LossScale: m.State().LossScale, GoodSteps: 3}
	m.SetState(want)
	if got := m.State(); got != want {
		t.Errorf("state %+v, want %+v", got, want)
	}
}

func checkLimits(t *testing.T, back trainer.Backend, p trainer.Precision) {
	s := settings()[0]
	m := s.open(t, back, p, trainer.AdamW)
	bad := map[string]*trainer.Batch{"empty": {}, "token": s.batch(1), "too many sequences": s.batch(1)}
	bad["token"].IDs[5] = int32(s.config.VocabSize)
	for range 10 {
		bad["too many sequences"].Append(trainer.Sequence{IDs: []int32{1}, Segments: []int32{0}})
	}
	for name, b := range bad {
		if _, err := m.Forward(b, nil); err == nil {
			t.Errorf("%s: Forward took it", name)
		}
		if err := m.Accumulate(b, trainer.Coef{}); err == nil {
			t.Errorf("%s: Accumulate took it", name)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Forward(s.batch(1), nil); err == nil {
		t.Error("a closed model computed")
	}
	if _, err := back.Open(trainer.Config{}, s.heads, trainer.Options{}); err == nil || errors.Is(err, trainer.ErrUnavailable) {
		t.Errorf("a model without a shape: %v", err)
	}
}
