package cpu

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/internal/dev/realdata"
	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
)

// steady returns a schedule with a constant learning rate from the first step.
func steady(rate float64) trainer.Schedule {
	return trainer.Schedule{Kind: trainer.Constant, Peak: rate, Steps: 1 << 30}
}

// sub returns sequences [lo, hi) of b as a batch of their own.
func sub(b *trainer.Batch, lo, hi int) *trainer.Batch {
	part := &trainer.Batch{Labels: b.Labels[lo:hi], Scores: b.Scores[lo:hi], Starts: b.Starts[lo:hi], Ends: b.Ends[lo:hi]}
	for s := lo; s < hi; s++ {
		begin, end := b.CuSeqlens[s], b.CuSeqlens[s+1]
		q := trainer.Sequence{IDs: b.IDs[begin:end], Segments: b.Segments[begin:end], NSPLabel: b.NSPLabels[s], Position: b.Sequence[s]}
		for i, row := range b.MaskedIndex {
			if row >= begin && row < end {
				q.MaskedPositions = append(q.MaskedPositions, row-begin)
				q.MaskedIDs = append(q.MaskedIDs, b.MaskedIDs[i])
				q.MaskedWeights = append(q.MaskedWeights, b.MaskedWeights[i])
			}
		}
		part.Append(q)
	}
	return part
}

// otherOrder is how far apart another order of summation may put numbers in single
// precision, by relative. The sums have up to 301 terms (the vocabulary), which gives
// √301·2⁻²⁴ = 1e-6 for one product. About 24 products follow each other, forward and
// backward through two layers and the heads: √24·1e-6 = 5e-6. The rest is a margin of two.
const otherOrder = 1e-5

func relative[T kernel.Float](a, b []T) float64 {
	d, n := 0.0, 0.0
	for i := range a {
		x := float64(a[i]) - float64(b[i])
		d += x * x
		n += float64(b[i]) * float64(b[i])
	}
	return math.Sqrt(d / n)
}

func TestRaggedMicroBatchesGiveTheGradientOfTheJoinedBatch(t *testing.T) {
	t.Run("fp64", func(t *testing.T) { checkMicroBatches[float64](t, trainer.Float64, 1e-12) })
	t.Run("fp32", func(t *testing.T) { checkMicroBatches[float32](t, trainer.Float32, otherOrder) })
}

func checkMicroBatches[T kernel.Float](t *testing.T, p trainer.Precision, tolerance float64) {
	microBatches[T](t, p, smallConfig(trainer.GELUNew), trainer.Heads{MLM: true, NSP: true, Labels: 3}, tolerance)
	microBatches[T](t, p, modernConfig(), trainer.Heads{MLM: true}, tolerance)
}

func microBatches[T kernel.Float](t *testing.T, p trainer.Precision, c trainer.Config, h trainer.Heads, tolerance float64) {
	b := ragged(rand.New(rand.NewPCG(1, 1)), c, 9, 30, 4, 17, 2, 40) // sequence 1 has no masked token
	o := limitsOf(b, p)
	joined := openRandom[T](t, c, h, o, Backend{Threads: 1})
	apart := openRandom[T](t, c, h, o, Backend{Threads: 1})
	coef := b.Counts(h).Coef()
	if err := joined.Accumulate(b, coef, true); err != nil {
		t.Fatal(err)
	}
	for _, cut := range [][2]int{{0, 1}, {1, 2}, {2, 6}} {
		if err := apart.Accumulate(sub(b, cut[0], cut[1]), coef, cut[1] == 6); err != nil {
			t.Fatal(err)
		}
	}
	if d := relative(apart.params.g, joined.params.g); !(d <= tolerance) {
		t.Errorf("gradients apart by %.3g, allowed %.3g", d, tolerance)
	}
	if got, want := apart.update.sums.Loss(), joined.update.sums.Loss(); math.Abs(got/want-1) > tolerance {
		t.Errorf("losses: %v and %v", got, want)
	}
}

// trainSome takes steps on random batches and returns the weights and, on rank 0,
// the moments.
func trainSome[T kernel.Float](t testing.TB, p trainer.Precision, opt trainer.OptimizerName, back Backend, comm trainer.Comm, steps int) []T {
	return trainRank[T](t, p, rankSetting{opt: opt, back: back, comm: comm, steps: steps, overlap: true})
}

// A rankSetting is what the runs of trainRank differ in.
type rankSetting struct {
	opt     trainer.OptimizerName
	modern  bool // ModernBERT
	back    Backend
	comm    trainer.Comm
	steps   int
	shard   bool // divide the optimizer's state over the ranks
	tcp     bool // ranks are connected over TCP
	overlap bool // mark the last micro-batch, so that its backward pass overlaps with the reduction
}

// trainRank is trainSome for a rank. Each step has three micro-batches of ragged
// sequences, so that of four ranks one has none.
func trainRank[T kernel.Float](t testing.TB, p trainer.Precision, q rankSetting) []T {
	comm := q.comm
	c := smallConfig(trainer.GELUNew)
	if q.modern {
		c = modernConfig()
	}
	c.HiddenSize, c.IntermediateSize, c.VocabSize = 48, 80, 301
	r := rand.New(rand.NewPCG(4, 2))
	var batches []*trainer.Batch
	for range q.steps {
		batches = append(batches, ragged(r, c, 39, 20, 40, 3, 17, 28))
	}
	o := limitsOf(batches[0], p)
	o.Masked += 10
	o.Optimizer, o.Comm, o.ShardOptimizer = trainer.DefaultOptimizer(q.opt), comm, q.shard
	m := openRandom[T](t, c, c.PretrainHeads(), o, q.back)
	for _, b := range batches {
		coef := b.Counts(m.h).Coef()
		for j := range 3 {
			if j%comm.Size() != comm.Rank() {
				continue
			}
			if err := m.Accumulate(sub(b, 2*j, 2*j+2), coef, q.overlap && j+comm.Size() >= 3); err != nil {
				t.Error(err)
			}
		}
		if _, err := m.Apply(steady(1e-3)); err != nil {
			t.Error(err)
		}
	}
	s, err := m.Snapshot()
	if err != nil {
		t.Error(err)
	}
	defer s.Close()
	if q.shard && comm.Rank() > 0 {
		return slices.Clone(m.params.w)
	}
	v := s.(*snapshot[T]).values
	return slices.Concat(v[0], v[1], v[2])
}

func TestWeightsAreTheSameBitsForAnyNumberOfThreads(t *testing.T) {
	for _, s := range []rankSetting{{opt: trainer.AdamW}, {opt: trainer.LAMB}, {opt: trainer.StableAdamW, modern: true}} {
		s.back, s.comm, s.steps, s.overlap = Backend{Threads: 1}, trainer.Alone{}, 3, true
		want := trainRank[float32](t, trainer.Float32, s)
		for _, threads := range []int{2, 3, 7} {
			s.back.Threads = threads
			if got := trainRank[float32](t, trainer.Float32, s); !slices.Equal(got, want) {
				t.Errorf("%s: %d threads give other weights than one", s.opt, threads)
			}
		}
	}
}

func TestInstructionSetsAgree(t *testing.T) {
	realdata.Vectors(t, "AVX2")
	realdata.Vectors(t, "AVX-512 BW")
	want := trainSome[float32](t, trainer.Float32, trainer.AdamW, Backend{Threads: 1, ISA: "plain"}, trainer.Alone{}, 3)
	for _, isa := range []string{"avx2", "avx512", "neon"} {
		if _, err := kernel.For[float32](kernel.ISA(isa)); err != nil {
			continue
		}
		got := trainSome[float32](t, trainer.Float32, trainer.AdamW, Backend{Threads: 1, ISA: isa}, trainer.Alone{}, 3)
		if d := relative(got, want); !(d <= otherOrder) {
			t.Errorf("%s and plain are apart by %.3g", isa, d)
		}
	}
}

func TestMoreMaskedTokensThanAChunkOfLogits(t *testing.T) {
	c, h := smallConfig(trainer.GELUNew), trainer.PretrainHeads()
	r := rand.New(rand.NewPCG(6, 1))
	b := &trainer.Batch{}
	for i := range 3 {
		b.Append(randomSequence(r, c, 30, mlmColumns/2+10, int64(i)))
		b.Labels, b.Scores, b.Starts, b.Ends = append(b.Labels, 0), append(b.Scores, 0), append(b.Starts, 0), append(b.Ends, 0)
	}
	joined := openRandom[float64](t, c, h, limitsOf(b, trainer.Float64), Backend{Threads: 1})
	apart := openRandom[float64](t, c, h, limitsOf(b, trainer.Float64), Backend{Threads: 1})
	coef := b.Counts(h).Coef()
	if err := joined.Accumulate(b, coef, true); err != nil {
		t.Fatal(err)
	}
	for s := range 3 {
		if err := apart.Accumulate(sub(b, s, s+1), coef, s+1 == b.Sequences()); err != nil {
			t.Fatal(err)
		}
	}
	if d := relative(joined.params.g, apart.params.g); !(d <= 1e-12) {
		t.Errorf("gradients apart by %.3g", d)
	}
	out := &trainer.Outputs{Want: trainer.OutputMLMLogits}
	withLogits, err := joined.Forward(b, out)
	if err != nil {
		t.Fatal(err)
	}
	without, err := joined.Forward(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if withLogits != without || len(out.MLMLogits) != b.Masked()*c.VocabSize {
		t.Errorf("asking for logits changes the sums, or gives %d of them", len(out.MLMLogits))
	}
}

func TestATinyModelLearnsAsRecorded(t *testing.T) {
	// Ten losses of the plain set in double precision: a change of any rule shows here.
	want := []float64{
		4.865328383, 3.677478411, 3.17616695, 2.377278209, 1.889072482,
		1.387874032, 1.375191776, 0.869199319, 0.762238522, 0.551340836,
	}
	c := smallConfig(trainer.GELUNew)
	b := ragged(rand.New(rand.NewPCG(11, 12)), c, 30, 20, 25)
	o := limitsOf(b, trainer.Float64)
	m, err := Backend{Threads: 1}.Open(c, trainer.PretrainHeads(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, trainer.PretrainHeads(), 5)); err != nil {
		t.Fatal(err)
	}
	var got []float64
	for range 10 {
		if err := m.Accumulate(b, b.Counts(trainer.PretrainHeads()).Coef(), true); err != nil {
			t.Fatal(err)
		}
		info, err := m.Apply(steady(0.01))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, math.Round(info.Sums.Loss()*1e9)/1e9)
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Error(diff)
	}
}

func TestEvaluationDropsNothingAndLeavesGradients(t *testing.T) {
	c := smallConfig(trainer.GELU)
	b := ragged(rand.New(rand.NewPCG(2, 3)), c, 12, 20)
	m := openRandom[float64](t, c, trainer.PretrainHeads(), limitsOf(b, trainer.Float64), Backend{Threads: 1})
	train := m.o.Seed
	first, err := m.Forward(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.o.Seed = train + 1
	second, err := m.Forward(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("evaluation depends on the dropout seed: %+v and %+v", first, second)
	}
	for _, g := range m.params.g {
		if g != 0 {
			t.Fatal("evaluation left gradients")
		}
	}
	if err := m.Accumulate(b, b.Counts(m.h).Coef(), true); err != nil {
		t.Fatal(err)
	}
	if math.Abs(m.update.sums.Loss()-first.Loss()) < 1e-3 {
		t.Error("training does not drop anything")
	}
}

func TestEvaluationNeedsNoTrainingMemoryAndGivesTheSame(t *testing.T) {
	c := smallConfig(trainer.GELU)
	c.Layers = 5
	b := ragged(rand.New(rand.NewPCG(2, 3)), c, 12, 20)
	o := limitsOf(b, trainer.Float32)
	full := openRandom[float32](t, c, trainer.PretrainHeads(), o, Backend{})
	o.Train = false
	lean := openRandom[float32](t, c, trainer.PretrainHeads(), o, Backend{})
	want, err := full.Forward(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := lean.Forward(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := lean.Accumulate(b, trainer.Coef{}, true); err == nil {
		t.Error("a model opened without training accumulated gradients")
	}
	if _, err := lean.Apply(steady(1)); err == nil {
		t.Error("a model opened without training was updated")
	}
}

func TestAStepWithoutFiniteGradientsChangesNothing(t *testing.T) {
	c := smallConfig(trainer.GELU)
	b := ragged(rand.New(rand.NewPCG(2, 3)), c, 12, 20)
	m := openRandom[float32](t, c, trainer.PretrainHeads(), limitsOf(b, trainer.Float32), Backend{})
	if err := m.Accumulate(b, trainer.Coef{MLM: math.Inf(1)}, true); err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(m.params.w)
	info, err := m.Apply(steady(1))
	if err != nil || !info.Skipped {
		t.Fatalf("got %+v, %v, want a skipped step", info, err)
	}
	if !slices.Equal(before, m.params.w) || m.update.state.Step != 0 || slices.ContainsFunc(m.params.g, func(g float32) bool { return g != 0 }) {
		t.Error("the skipped step left traces")
	}
}

func TestStateSurvivesSavingAndLoading(t *testing.T) {
	c, h := smallConfig(trainer.GELU), trainer.PretrainHeads()
	b := ragged(rand.New(rand.NewPCG(2, 3)), c, 12, 20)
	step := func(m *model[float32]) {
		if err := m.Accumulate(b, b.Counts(h).Coef(), true); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Apply(trainer.Schedule{Kind: trainer.Linear, Peak: 0.1, Steps: 4}); err != nil {
			t.Fatal(err)
		}
	}
	o := limitsOf(b, trainer.Float32)
	o.Optimizer = trainer.DefaultOptimizer(trainer.LAMB)
	a, resumed := openRandom[float32](t, c, h, o, Backend{}), openRandom[float32](t, c, h, o, Backend{})
	step(a)
	for _, k := range []trainer.Kind{trainer.Weights, trainer.FirstMoment, trainer.SecondMoment} {
		report, err := resumed.Load(k, a.Tensors(k))
		if err != nil {
			t.Fatal(err)
		}
		if err := report.Complete(); err != nil {
			t.Fatal(err)
		}
	}
	resumed.SetState(a.State())
	step(a)
	step(resumed)
	if !slices.Equal(a.params.w, resumed.params.w) {
		t.Error("the resumed model took another step")
	}
}

func TestLoadReportsWhatDoesNotFit(t *testing.T) {
	c := smallConfig(trainer.GELU)
	o := trainer.Options{Tokens: 1, Sequences: 1, Precision: trainer.Float32}
	m := openRandom[float32](t, c, trainer.Heads{Labels: 3}, o, Backend{})
	report, err := m.Load(trainer.Weights, trainer.InitialWeights(c, trainer.Heads{Span: true}, 1))
	if err != nil {
		t.Fatal(err)
	}
	want := trainer.LoadReport{
		Missing:    []string{"bert.pooler.dense.weight", "bert.pooler.dense.bias", "classifier.weight", "classifier.bias"},
		Unexpected: []string{"qa_outputs.weight", "qa_outputs.bias"},
	}
	if diff := cmp.Diff(want, report); diff != "" || report.Complete() == nil {
		t.Error(diff)
	}
	c.VocabSize++
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, trainer.Heads{Labels: 3}, 1)); err == nil {
		t.Error("a tensor of another shape was loaded")
	}
	if _, err := m.Load(trainer.FirstMoment, trainer.InitialWeights(c, trainer.Heads{Labels: 3}, 1)); err == nil {
		t.Error("moments were loaded into a model that keeps none")
	}
}

func TestAClosedModelRefusesEverything(t *testing.T) {
	c := smallConfig(trainer.GELU)
	b := ragged(rand.New(rand.NewPCG(2, 3)), c, 12)
	m := openRandom[float32](t, c, trainer.PretrainHeads(), limitsOf(b, trainer.Float32), Backend{})
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Forward(b, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Forward: got %v", err)
	}
	if err := m.Accumulate(b, trainer.Coef{}, true); !errors.Is(err, ErrClosed) {
		t.Errorf("Accumulate: got %v", err)
	}
	if _, err := m.Apply(steady(1)); err == nil {
		t.Error("Apply: no error")
	}
	for _, err := range m.Tensors(trainer.Weights) {
		if err == nil {
			t.Error("Tensors: no error")
		}
	}
}

func TestOpenRefusesWhatItCannotCompute(t *testing.T) {
	good := limitsOf(ragged(rand.New(rand.NewPCG(2, 3)), smallConfig(trainer.GELU), 12), trainer.Float32)
	for name, change := range map[string]func(*trainer.Config, *trainer.Options, *Backend){
		"precision":       func(_ *trainer.Config, o *trainer.Options, _ *Backend) { o.Precision = trainer.BFloat16 },
		"config":          func(c *trainer.Config, _ *trainer.Options, _ *Backend) { c.AttentionHeads = 5 },
		"limits":          func(_ *trainer.Config, o *trainer.Options, _ *Backend) { o.Tokens = 0 },
		"optimizer":       func(_ *trainer.Config, o *trainer.Options, _ *Backend) { o.Optimizer.Name = "sgd" },
		"instruction set": func(_ *trainer.Config, _ *trainer.Options, b *Backend) { b.ISA = "mmx" },
	} {
		c, o, b := smallConfig(trainer.GELU), good, Backend{}
		change(&c, &o, &b)
		_, err := b.Open(c, trainer.PretrainHeads(), o)
		if err == nil {
			t.Errorf("%s: opened", name)
		}
		if errors.Is(err, trainer.ErrUnavailable) != (name == "instruction set") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoBatchLeadsOutsideMemory draws batches with small errors: the model must
// reject them or stay within its memory.
func TestNoBatchLeadsOutsideMemory(t *testing.T) {
	c := smallConfig(trainer.GELU)
	h := trainer.Heads{MLM: true, NSP: true, Labels: 3, Span: true}
	good := ragged(rand.New(rand.NewPCG(2, 3)), c, 12, 4, 20)
	o := limitsOf(good, trainer.Float32)
	m := openRandom[float32](t, c, h, o, Backend{Threads: 1})
	rapid.Check(t, func(t *rapid.T) {
		b := sub(good, 0, good.Sequences())
		b.Labels, b.Starts, b.Ends = slices.Clone(b.Labels), slices.Clone(b.Starts), slices.Clone(b.Ends)
		b.VisibleKeys = []int32{12, 4, 20}
		fields := []*[]int32{
			&b.CuSeqlens, &b.IDs, &b.Segments, &b.Positions, &b.MaskedIndex, &b.MaskedIDs, &b.NSPLabels, &b.Labels, &b.Starts, &b.Ends, &b.VisibleKeys,
		}
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			f := rapid.SampledFrom(fields).Draw(t, "field")
			if len(*f) == 0 || rapid.IntRange(0, 9).Draw(t, "cut") == 0 {
				*f = (*f)[:max(0, len(*f)-1)]
				continue
			}
			i := rapid.IntRange(0, len(*f)-1).Draw(t, "index")
			(*f)[i] = rapid.SampledFrom([]int32{-2, -1, 0, 1, 3, 11, 12, 36, 37, 40, math.MaxInt32, math.MinInt32}).Draw(t, "value")
		}
		_, forward := m.Forward(b, nil)
		accumulate := m.Accumulate(b, trainer.Coef{MLM: 1, NSP: 1, Label: 1}, true)
		if (forward == nil) != (accumulate == nil) || (forward == nil) != (b.Validate(c, h) == nil) {
			t.Fatalf("forward %v, accumulate %v, validate %v", forward, accumulate, b.Validate(c, h))
		}
	})
}

func ExampleBackend() {
	c, err := trainer.Preset("tiny", 1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	b := &trainer.Batch{}
	b.Append(trainer.Sequence{
		IDs: []int32{2, 7, 4, 9, 3}, Segments: []int32{0, 0, 0, 0, 0},
		MaskedPositions: []int32{2}, MaskedIDs: []int32{8}, MaskedWeights: []float32{1},
	})
	heads := trainer.PretrainHeads()
	model, err := Backend{}.Open(c, heads, trainer.Options{
		Tokens: 16, Sequences: 2, Masked: 4, Precision: trainer.Float32, Train: true,
		Optimizer: trainer.DefaultOptimizer(trainer.AdamW),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer model.Close()
	if _, err := model.Load(trainer.Weights, trainer.InitialWeights(c, heads, 1)); err != nil {
		fmt.Println(err)
		return
	}
	for step := range 3 {
		if err := model.Accumulate(b, b.Counts(heads).Coef(), true); err != nil {
			fmt.Println(err)
			return
		}
		info, err := model.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-3, Steps: 3})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("step %d: loss %.1f\n", step, info.Sums.Loss())
	}
	// Output:
	// step 0: loss 7.8
	// step 1: loss 5.5
	// step 2: loss 4.7
}
