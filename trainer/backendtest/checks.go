package backendtest

import (
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"pretext/trainer"
)

// accumulate runs forward and backward on b as the only micro-batch of a step.
func (c setting) accumulate(t *testing.T, m trainer.Model, b *trainer.Batch) {
	t.Helper()
	check(t, m.Accumulate(b, b.Counts(c.heads).Coef(), true))
}

func apply(t *testing.T, m trainer.Model, s trainer.Schedule) trainer.StepInfo {
	t.Helper()
	info, err := m.Apply(s)
	check(t, err)
	return info
}

// schedule returns a schedule whose learning rate changes with every step.
func schedule() trainer.Schedule {
	return trainer.Schedule{Kind: trainer.Linear, Peak: 1e-3, Steps: 10, Warmup: 2}
}

func (s Suite) gradients(t *testing.T, c setting) {
	got, want := s.model(t, c, trainer.AdamW), c.reference(t, trainer.AdamW)
	b := c.batch(1)
	c.accumulate(t, got, b)
	c.accumulate(t, want, b)
	compareGradients(t, tensors(t, got, trainer.Gradients), tensors(t, want, trainer.Gradients), s.Tolerance)
	still := trainer.Schedule{Kind: trainer.Constant, Steps: 1}
	g, w := apply(t, got, still), apply(t, want, still)
	s.sameSums(t, c, g.Sums, w.Sums)
}

// sameSums fails the test if losses differ by more than the tolerance, or counts
// differ.
func (s Suite) sameSums(t *testing.T, c setting, got, want trainer.Sums) {
	t.Helper()
	counts := func(x trainer.Sums) [5]float64 {
		return [5]float64{x.Tokens, x.Sequences, x.MLMWeight, x.NSPCount, x.LabelCount}
	}
	if !near(got.Loss(), want.Loss(), s.Tolerance.loss(c.heads)) || counts(got) != counts(want) {
		t.Errorf("sums %+v, want %+v", got, want)
	}
}

const allOutputs = trainer.OutputHidden | trainer.OutputPooled | trainer.OutputMLMLogits | trainer.OutputNSPLogits | trainer.OutputLogits |
	trainer.OutputSpans | trainer.OutputMLMLosses

func (s Suite) outputs(t *testing.T, c setting) {
	got, want := s.model(t, c, trainer.AdamW), c.reference(t, trainer.AdamW)
	b := c.batch(2)
	g, w := &trainer.Outputs{Want: allOutputs}, &trainer.Outputs{Want: allOutputs}
	gs, err := got.Forward(b, g)
	check(t, err)
	ws, err := want.Forward(b, w)
	check(t, err)
	s.sameSums(t, c, gs, ws)
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
		if d := distance(o.got, o.want); !(d <= s.Tolerance.Median) {
			t.Errorf("%s: apart by %.3g, allowed %.3g", o.name, d, s.Tolerance.Median)
		}
	}
	if c.heads.MLM {
		s.maskedLosses(t, b, gs, g)
		s.lossesAlone(t, got, b, g)
	}
	if again, err := got.Forward(b, nil); err != nil || !near(again.Loss(), gs.Loss(), s.Tolerance.loss(c.heads)) {
		t.Errorf("without outputs the loss is %v (%v), with them %v", again.Loss(), err, gs.Loss())
	}
}

// maskedLosses checks the loss and the predicted token of each masked token in out. They
// must match the logits in out, and the sum of the losses must match sums.
func (s Suite) maskedLosses(t *testing.T, b *trainer.Batch, sums trainer.Sums, out *trainer.Outputs) {
	t.Helper()
	if len(out.MLMLosses) != b.Masked() || len(out.MLMBest) != b.Masked() {
		t.Fatalf("%d losses and %d best tokens of %d masked ones", len(out.MLMLosses), len(out.MLMBest), b.Masked())
	}
	loss, correct := 0.0, 0.0
	vocab := len(out.MLMLogits) / b.Masked()
	for i, l := range out.MLMLosses {
		loss += float64(b.MaskedWeights[i]) * l
		if out.MLMBest[i] == b.MaskedIDs[i] {
			correct += float64(b.MaskedWeights[i])
		}
		row := out.MLMLogits[i*vocab : (i+1)*vocab]
		top := slices.Max(row)
		if best := out.MLMBest[i]; best < 0 || int(best) >= vocab || !(row[best] >= top-float32(s.Tolerance.Median)*max(1, top)) {
			t.Errorf("masked token %d: best token %d, want %d", i, best, slices.Index(row, top))
		}
		sum := 0.0
		for _, v := range row {
			sum += math.Exp(float64(v - top))
		}
		if want := math.Log(sum) + float64(top-row[b.MaskedIDs[i]]); !(math.Abs(l-want) <= 10*s.Tolerance.Loss*max(1, want)) {
			t.Errorf("masked token %d: loss %v, by its logits %v", i, l, want)
		}
	}
	if !near(loss, sums.MLMLoss, 10*s.Tolerance.Loss) || correct != sums.MLMCorrect {
		t.Errorf("losses sum to %v with %v correct, the sums are %v and %v", loss, correct, sums.MLMLoss, sums.MLMCorrect)
	}
}

// lossesAlone requests only the losses of masked tokens. It checks that they equal the
// losses in with, an earlier result with all outputs.
func (s Suite) lossesAlone(t *testing.T, m trainer.Model, b *trainer.Batch, with *trainer.Outputs) {
	t.Helper()
	alone := &trainer.Outputs{Want: trainer.OutputMLMLosses}
	if _, err := m.Forward(b, alone); err != nil {
		t.Fatal(err)
	}
	for i, l := range alone.MLMLosses {
		if !(math.Abs(l-with.MLMLosses[i]) <= 10*s.Tolerance.Loss*max(1, l)) {
			t.Errorf("masked token %d: loss %v, with all outputs %v", i, l, with.MLMLosses[i])
		}
	}
	if len(alone.MLMLosses) != b.Masked() {
		t.Errorf("%d losses of %d masked tokens", len(alone.MLMLosses), b.Masked())
	}
}

func (s Suite) microBatches(t *testing.T, c setting) {
	apart, want := s.model(t, c, trainer.AdamW), c.reference(t, trainer.AdamW)
	b := c.batch(3)
	coef := b.Counts(c.heads).Coef()
	c.accumulate(t, want, b)
	for _, cut := range [][2]int{{0, 1}, {1, 2}, {2, 5}} { // the second has no masked token
		check(t, apart.Accumulate(part(b, cut[0], cut[1]), coef, cut[1] == 5))
	}
	compareGradients(t, tensors(t, apart, trainer.Gradients), tensors(t, want, trainer.Gradients), s.Tolerance)
	s.sameSums(t, c, apply(t, apart, schedule()).Sums, apply(t, want, schedule()).Sums)
}

func (s Suite) load(t *testing.T, c setting) {
	m := s.model(t, c, trainer.AdamW)
	for _, k := range []trainer.Kind{trainer.Weights, trainer.FirstMoment, trainer.SecondMoment} {
		if _, err := m.Load(k, c.weights()); err != nil {
			t.Fatal(err)
		}
		got := tensors(t, m, k)
		for w := range c.weights() {
			if !slices.Equal(got[w.Name], w.Data) {
				t.Errorf("%v of %s: not what was loaded", k, w.Name)
			}
		}
	}
	want := trainer.State{Step: 41, LossScale: m.State().LossScale, GoodSteps: 3, Plans: map[string]string{"another device": "its choice"}}
	m.SetState(want)
	got := m.State()
	maps.DeleteFunc(got.Plans, func(name, _ string) bool { return want.Plans[name] == "" }) // the backend's own
	if !reflect.DeepEqual(got, want) {
		t.Errorf("state %+v, want %+v", got, want)
	}
	s.loadOthers(t, m)
}

// loadOthers checks that Load reports tensor names that do not match, and that it
// returns an error for a tensor with a wrong shape.
func (s Suite) loadOthers(t *testing.T, m trainer.Model) {
	one := func(x trainer.Tensor) func(func(trainer.Tensor, error) bool) {
		return func(yield func(trainer.Tensor, error) bool) { yield(x, nil) }
	}
	report, err := m.Load(trainer.Weights, one(trainer.Tensor{Name: "stranger", Shape: []int{1}, Data: []float32{1}}))
	if err != nil || !slices.Equal(report.Unexpected, []string{"stranger"}) || len(report.Missing) < 10 {
		t.Errorf("a tensor of another model: %d missing, unexpected %q, %v", len(report.Missing), report.Unexpected, err)
	}
	for x := range m.Tensors(trainer.Weights) {
		if _, err := m.Load(trainer.Weights, one(trainer.Tensor{Name: x.Name, Shape: []int{1}, Data: []float32{1}})); err == nil {
			t.Errorf("%s of one element was loaded", x.Name)
		}
		break
	}
}

func (s Suite) limits(t *testing.T, c setting) {
	m := s.model(t, c, trainer.AdamW)
	bad := map[string]*trainer.Batch{"empty": {}, "token": c.batch(1), "too many sequences": c.batch(1), "too many tokens": c.batch(1)}
	bad["token"].IDs[5] = int32(c.config.VocabSize)
	bad["too many sequences"].Append(trainer.Sequence{IDs: []int32{1}, Segments: []int32{0}})
	long := bad["too many tokens"]
	long.Append(trainer.Sequence{IDs: make([]int32, 40), Segments: make([]int32, 40)})
	for name, b := range bad {
		if _, err := m.Forward(b, nil); err == nil {
			t.Errorf("%s: Forward took it", name)
		}
		if err := m.Accumulate(b, trainer.Coef{}, true); err == nil {
			t.Errorf("%s: Accumulate took it", name)
		}
	}
	check(t, m.Close())
	if _, err := m.Forward(c.batch(1), nil); err == nil {
		t.Error("a closed model computed")
	}
	if _, err := m.Snapshot(); err == nil {
		t.Error("a closed model was copied")
	}
	if _, err := s.Backend.Open(trainer.Config{}, c.heads, trainer.Options{}); err == nil || errors.Is(err, trainer.ErrUnavailable) {
		t.Errorf("a model without a shape: %v", err)
	}
	n, err := s.Backend.AutoTokens(c.config, c.heads, c.options(s.Precision, trainer.AdamW))
	if err != nil || n < 1 || n > trainer.MaxBatchTokens {
		t.Errorf("auto tokens: %d, %v", n, err)
	}
}

func (s Suite) withoutTraining(t *testing.T, c setting) {
	o := c.options(s.Precision, trainer.AdamW)
	o.Train = false
	lean, full := c.open(t, s.Backend, o), s.model(t, c, trainer.AdamW)
	b := c.batch(4)
	got, err := lean.Forward(b, nil)
	check(t, err)
	want, err := full.Forward(b, nil)
	check(t, err)
	s.sameSums(t, c, got, want)
	if err := lean.Accumulate(b, trainer.Coef{}, true); err == nil {
		t.Error("Accumulate works without training")
	}
	if _, err := lean.Apply(schedule()); err == nil {
		t.Error("Apply works without training")
	}
	snapshot, err := lean.Snapshot()
	check(t, err)
	defer snapshot.Close()
	if d := different(tensors(t, snapshot, trainer.Weights), tensors(t, full, trainer.Weights)); len(d) > 0 {
		t.Errorf("a snapshot without training: other %q", d)
	}
	for _, err := range snapshot.Tensors(trainer.FirstMoment) {
		if err == nil {
			t.Error("a snapshot without training has moments")
		}
		break
	}
}
