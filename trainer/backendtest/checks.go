package backendtest

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pretext/trainer"
)

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

// distance returns the norm of the difference divided by the norm of want; NaN
// if either contains NaN.
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
		if err := m.Accumulate(b, coef, true); err != nil {
			t.Fatal(err)
		}
	}
	compareGradients(t, tensors(t, got, trainer.Gradients), tensors(t, want, trainer.Gradients), Tolerances(p))
	loss := func(m trainer.Model) float64 {
		info, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Steps: 1})
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
	if err := joined.Accumulate(b, coef, true); err != nil {
		t.Fatal(err)
	}
	for _, cut := range [][2]int{{0, 1}, {1, 2}, {2, 5}} {
		if err := apart.Accumulate(part(b, cut[0], cut[1]), coef, cut[1] == 5); err != nil {
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
			if err := m.Accumulate(b, b.Counts(s.heads).Coef(), true); err != nil {
				t.Fatal(err)
			}
			info, err := m.Apply(schedule)
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

// compareMovement compares the changes of weights. It ignores tensors whose
// gradients are only rounding noise (key biases), because an optimizer that
// divides by their size amplifies the noise.
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
	want := trainer.State{Step: 41, LossScale: m.State().LossScale, GoodSteps: 3, Plans: map[string]string{"another device": "its choice"}}
	m.SetState(want)
	got := m.State()
	for name := range got.Plans {
		if want.Plans[name] == "" { // the backend's own
			delete(got.Plans, name)
		}
	}
	if !reflect.DeepEqual(got, want) {
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
		if err := m.Accumulate(b, trainer.Coef{}, true); err == nil {
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
