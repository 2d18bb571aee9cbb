package trainer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/trainer"
	"pretext/trainer/cpu"
	"pretext/trainer/internal/ranktest"
)

func loopConfig() trainer.Config {
	return trainer.Config{
		VocabSize: 23, HiddenSize: 8, Layers: 1, AttentionHeads: 2, IntermediateSize: 12, Activation: trainer.GELUNew,
		HiddenDropout: 0.1, AttentionDropout: 0.1, MaxPositions: 20, Segments: 2, InitializerRange: 0.1, LayerNormEps: 1e-12,
	}
}

// memory is a Source of sequences in memory.
type memory struct {
	sequences []trainer.Sequence
	tokens    int   // of a micro-batch
	fail      int64 // position at which reading fails
	lie       bool  // about the counts
	comm      trainer.Comm
}

func newMemory(n, tokens int) *memory {
	r := rand.New(rand.NewPCG(1, 2))
	m := &memory{tokens: tokens, fail: -1, comm: trainer.Alone{}}
	for range n {
		s := trainer.Sequence{NSPLabel: int32(r.IntN(2))}
		for range 2 + r.IntN(18) {
			s.IDs, s.Segments = append(s.IDs, int32(r.IntN(23))), append(s.Segments, 0)
		}
		for range 1 + len(s.IDs)/7 {
			s.MaskedPositions = append(s.MaskedPositions, int32(r.IntN(len(s.IDs))))
			s.MaskedIDs, s.MaskedWeights = append(s.MaskedIDs, int32(r.IntN(23))), append(s.MaskedWeights, 1)
		}
		m.sequences = append(m.sequences, s)
	}
	return m
}

var errDisk = errors.New("disk on fire")

func (m *memory) Step(position int64, n int) (trainer.Share, error) {
	if m.fail >= position && m.fail < position+int64(n) {
		return trainer.Share{}, errDisk
	}
	var lengths []int32
	for i := range n {
		lengths = append(lengths, int32(len(m.at(position+int64(i)).IDs)))
	}
	bounds, err := trainer.Cut(lengths, m.tokens, 1)
	var counts trainer.Counts
	if err != nil {
		return trainer.Share{}, err
	}
	mine := trainer.Deal(lengths, bounds, m.comm.Size())[m.comm.Rank()]
	for _, j := range mine {
		for i := bounds[j]; i < bounds[j+1]; i++ {
			counts = counts.Add(trainer.Counts{MaskedWeight: float64(len(m.at(position + int64(i)).MaskedIDs)), NSP: 1})
		}
	}
	if m.lie {
		counts.NSP++
	}
	return trainer.Share{Counts: counts, MicroBatches: len(mine), Batches: m.batches(position, bounds, mine)}, nil
}

// at returns the sequence at a position.
func (m *memory) at(position int64) trainer.Sequence {
	_, index := trainer.Epoch(position, int64(len(m.sequences)))
	s := m.sequences[index]
	s.Position = position
	return s
}

func (m *memory) batches(position int64, bounds, mine []int) iter.Seq2[*trainer.Batch, error] {
	return func(yield func(*trainer.Batch, error) bool) {
		b := &trainer.Batch{}
		for _, j := range mine {
			b.Reset()
			for i := bounds[j]; i < bounds[j+1]; i++ {
				b.Append(m.at(position + int64(i)))
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

func newLoop(t *testing.T, src trainer.Source) trainer.Loop {
	t.Helper()
	var comm trainer.Comm
	if m, ok := src.(*memory); ok {
		comm = m.comm
	}
	m, err := cpu.Backend{Threads: 1}.Open(loopConfig(), trainer.PretrainHeads(), trainer.Options{
		Tokens: 500, Sequences: 100, Masked: 200, Precision: trainer.Float64, Train: true, Seed: 5, Optimizer: trainer.DefaultOptimizer(trainer.AdamW), Comm: comm,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(loopConfig(), trainer.PretrainHeads(), 1)); err != nil {
		t.Fatal(err)
	}
	return trainer.Loop{
		Model: m, Heads: trainer.PretrainHeads(), Source: src, Comm: comm, Batch: 6,
		Schedule: trainer.Schedule{Kind: trainer.Linear, Peak: 0.02, Steps: 12, Warmup: 2},
	}
}

func weights(t *testing.T, m trainer.Model) map[string][]float32 {
	t.Helper()
	all := map[string][]float32{}
	for w, err := range m.Tensors(trainer.Weights) {
		if err != nil {
			t.Fatal(err)
		}
		all[w.Name] = append([]float32{}, w.Data...)
	}
	return all
}

// shelf is a Saver that keeps weights, moments and counters in memory.
type shelf struct {
	saved []trainer.Progress
	kept  map[trainer.Kind][]trainer.Tensor
	state trainer.State
}

func (s *shelf) Save(p trainer.Progress, m trainer.Snapshot) error {
	s.saved = append(s.saved, p)
	s.kept, s.state = map[trainer.Kind][]trainer.Tensor{}, m.State()
	for _, k := range []trainer.Kind{trainer.Weights, trainer.FirstMoment, trainer.SecondMoment} {
		for x, err := range m.Tensors(k) {
			if err != nil {
				return err
			}
			x.Data = append([]float32{}, x.Data...)
			s.kept[k] = append(s.kept[k], x)
		}
	}
	return nil
}

func (s *shelf) restore(t *testing.T, m trainer.Model) {
	t.Helper()
	for k, tensors := range s.kept {
		_, err := m.Load(k, func(yield func(trainer.Tensor, error) bool) {
			for _, x := range tensors {
				if !yield(x, nil) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	m.SetState(s.state)
}

func TestTrainTakesItsStepsAndSaves(t *testing.T) {
	l, s := newLoop(t, newMemory(10, 50)), &shelf{}
	l.Saver, l.SaveEvery = s, 5
	var losses []float64
	l.Observe = func(r trainer.Report) error {
		losses = append(losses, r.Info.Sums.Loss())
		if r.Info.Rate != l.Schedule.Rate(r.Progress.Step-1) {
			t.Errorf("step %d: rate %v", r.Progress.Step, r.Info.Rate)
		}
		return nil
	}
	end, err := trainer.Train(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if want := (trainer.Progress{Step: 12, Position: 72}); end != want {
		t.Errorf("ended at %+v, want %+v", end, want)
	}
	if diff := cmp.Diff([]trainer.Progress{{Step: 5, Position: 30}, {Step: 10, Position: 60}, {Step: 12, Position: 72}}, s.saved); diff != "" {
		t.Error(diff)
	}
	if len(losses) != 12 || losses[11] > losses[0]-0.1 {
		t.Errorf("losses %v", losses)
	}
}

// A step has one checkpoint, whatever asks for it: the interval, the end of the
// run, a signal or a resume at that step.
// told notes when a batch is announced and when a step ends.
type told struct {
	trainer.Model
	notes []string
}

func (m *told) Prepare(b *trainer.Batch) {
	note := "forget"
	if b != nil {
		note = fmt.Sprintf("prepare %d", b.Sequence[0])
	}
	m.notes = append(m.notes, note)
	m.Model.Prepare(b)
}

func (m *told) Apply(s trainer.Schedule) (trainer.StepInfo, error) {
	m.notes = append(m.notes, "apply")
	return m.Model.Apply(s)
}

// The first batch of a step is announced before the step before ends, and none after the last
// step. An error of a step that is read early is that of the step: those before it are
// complete. A step that was read and does not begin is forgotten.
func TestTheNextBatchIsAnnouncedBeforeAStepEnds(t *testing.T) {
	for name, c := range map[string]struct {
		fail int64
		stop int64
		want string
	}{
		"to the end": {-1, -1, "prepare 6, apply, observe, prepare 12, apply, observe, apply, observe"},
		"an error":   {13, -1, "prepare 6, apply, observe, apply, observe, forget"},
		"stopped":    {-1, 1, "prepare 6, apply, observe, forget"},
	} {
		source := newMemory(40, 500)
		source.fail = c.fail
		l := newLoop(t, source)
		m := &told{Model: l.Model}
		l.Model, l.Schedule.Steps = m, 3
		ctx, cancel := context.WithCancel(context.Background())
		l.Observe = func(r trainer.Report) error {
			m.notes = append(m.notes, "observe")
			if r.Progress.Step == c.stop {
				cancel()
			}
			return nil
		}
		at, err := trainer.Train(ctx, l)
		cancel()
		if got := strings.Join(m.notes, ", "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if (err != nil) != (name != "to the end") || c.fail >= 0 && (!errors.Is(err, errDisk) || at.Step != 2 || !strings.Contains(err.Error(), "step 2")) {
			t.Errorf("%s: step %d, %v", name, at.Step, err)
		}
	}
}

func TestNoStepIsSavedTwice(t *testing.T) {
	at := func(steps ...int64) (all []trainer.Progress) {
		for _, step := range steps {
			all = append(all, trainer.Progress{Step: step, Position: 6 * step})
		}
		return all
	}
	for name, c := range map[string]struct {
		start, stop int64 // stop: a signal during this step
		want        []trainer.Progress
	}{
		"interval and end":       {want: at(4, 8, 12)},
		"interval and signal":    {stop: 8, want: at(4, 8)},
		"resumed at an interval": {start: 4, want: at(8, 12)},
		"resumed at the end":     {start: 12},
	} {
		t.Run(name, func(t *testing.T) {
			l, s := newLoop(t, newMemory(10, 50)), &shelf{}
			l.Saver, l.SaveEvery, l.Start = s, 4, trainer.Progress{Step: c.start, Position: 6 * c.start}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			l.Observe = func(r trainer.Report) error {
				if r.Progress.Step == c.stop {
					cancel()
				}
				return nil
			}
			if _, err := trainer.Train(ctx, l); err != nil && c.stop == 0 {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, s.saved); diff != "" {
				t.Errorf("checkpoints (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMicroBatchSizeChangesNothingButRounding(t *testing.T) {
	want := map[string][]float32{}
	for _, tokens := range []int{20, 33, 500} {
		l := newLoop(t, newMemory(10, tokens))
		if _, err := trainer.Train(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		got := weights(t, l.Model)
		if len(want) == 0 {
			want = got
		}
		near := cmp.Comparer(func(a, b float32) bool { return max(a-b, b-a) <= 1e-6 })
		if diff := cmp.Diff(want, got, near); diff != "" {
			t.Errorf("%d tokens: %s", tokens, diff)
		}
	}
}

func TestAStoppedRunGoesOnAsIfItHadNot(t *testing.T) {
	whole := newLoop(t, newMemory(10, 50))
	whole.SaveEvery, whole.Saver = 1, &shelf{} // in double precision a checkpoint rounds to single: do so in both
	whole.Observe = func(trainer.Report) error { return nil }
	ctx, cancel := context.WithCancel(t.Context())
	stopped, s := newLoop(t, newMemory(10, 50)), &shelf{}
	stopped.Saver = s
	stopped.Observe = func(r trainer.Report) error {
		if r.Progress.Step == 7 {
			cancel()
		}
		return nil
	}
	at, err := trainer.Train(ctx, stopped)
	if !errors.Is(err, context.Canceled) || at.Step != 7 || len(s.saved) != 1 {
		t.Fatalf("stopped at %+v, saved %v, error %v", at, s.saved, err)
	}
	resumed := newLoop(t, newMemory(10, 50))
	s.restore(t, resumed.Model)
	resumed.Start = at
	if _, err := trainer.Train(t.Context(), resumed); err != nil {
		t.Fatal(err)
	}
	if _, err := trainer.Train(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	near := cmp.Comparer(func(a, b float32) bool { return max(a-b, b-a) <= 1e-6 })
	if diff := cmp.Diff(weights(t, whole.Model), weights(t, resumed.Model), near); diff != "" {
		t.Error(diff)
	}
}

func TestRanksTrainAsOne(t *testing.T) {
	alone := newLoop(t, newMemory(10, 25))
	if _, err := trainer.Train(t.Context(), alone); err != nil {
		t.Fatal(err)
	}
	want := weights(t, alone.Model)
	for _, ranks := range []int{2, 5} { // five ranks are more than there are micro-batches
		got := make([]map[string][]float32, ranks)
		ranktest.Run(ranks, func(comm trainer.Comm) {
			src := newMemory(10, 25)
			src.comm = comm
			l := newLoop(t, src)
			if _, err := trainer.Train(t.Context(), l); err != nil {
				t.Error(err)
			}
			got[comm.Rank()] = weights(t, l.Model)
		})
		near := cmp.Comparer(func(a, b float32) bool { return max(a-b, b-a) <= 1e-6 })
		for r := range ranks {
			if diff := cmp.Diff(want, got[r], near); diff != "" {
				t.Errorf("rank %d of %d: %s", r, ranks, diff)
			}
		}
	}
}

func TestAllRanksStopAfterTheSameStepWhenOneIsTold(t *testing.T) {
	const ranks = 3
	var at [ranks]trainer.Progress
	var errs [ranks]error
	ranktest.Run(ranks, func(comm trainer.Comm) {
		src := newMemory(10, 25)
		src.comm = comm
		l := newLoop(t, src)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if comm.Rank() == 1 {
			l.Observe = func(r trainer.Report) error {
				if r.Progress.Step == 4 {
					cancel()
				}
				return nil
			}
		}
		at[comm.Rank()], errs[comm.Rank()] = trainer.Train(ctx, l)
	})
	for r := range ranks {
		if at[r].Step != 4 || !errors.Is(errs[r], context.Canceled) {
			t.Errorf("rank %d: stopped at %+v, error %v", r, at[r], errs[r])
		}
	}
}

func TestEvaluationOfRanksIsThatOfOne(t *testing.T) {
	sums := func(comm trainer.Comm) trainer.Sums {
		src := newMemory(10, 25)
		src.comm = comm
		share, err := src.Step(0, 10)
		if err != nil {
			t.Error(err)
		}
		nsp := func(*trainer.Batch, int) bool { return false }
		s, err := trainer.Evaluate(newLoop(t, src).Model, share.Batches, comm, trainer.Whole, nsp)
		if err != nil || len(s) != 2 {
			t.Fatal(s, err)
		}
		if s[0].MLMWeight == 0 || s[1].MLMWeight != 0 || s[1].NSPCount != s[0].NSPCount {
			t.Errorf("got %+v of the whole batches, %+v without masked tokens", s[0], s[1])
		}
		return s[0]
	}
	want := sums(trainer.Alone{})
	if want.Sequences != 10 || want.Loss() < 1 {
		t.Errorf("got %+v", want)
	}
	ranktest.Run(3, func(comm trainer.Comm) {
		got := sums(comm)
		if d := got.Loss() - want.Loss(); d > 1e-12 || d < -1e-12 || got.Tokens != want.Tokens {
			t.Errorf("rank %d: got %+v, want %+v", comm.Rank(), got, want)
		}
	})
}

// The sums of a view are those of a batch that has only its masked tokens.
func TestAViewHasTheSumsOfABatchWithItsMaskedTokensAlone(t *testing.T) {
	src := newMemory(10, 60)
	m := newLoop(t, src).Model
	share, err := src.Step(0, 10)
	if err != nil {
		t.Fatal(err)
	}
	even := func(b *trainer.Batch, i int) bool { return b.MaskedIDs[i]%2 == 0 }
	var want [2]trainer.Sums
	for b := range share.Batches {
		part := *b
		part.MaskedIndex, part.MaskedIDs, part.MaskedWeights = nil, nil, nil
		for i := range b.MaskedIDs {
			if even(b, i) {
				part.MaskedIndex, part.MaskedIDs = append(part.MaskedIndex, b.MaskedIndex[i]), append(part.MaskedIDs, b.MaskedIDs[i])
				part.MaskedWeights = append(part.MaskedWeights, b.MaskedWeights[i])
			}
		}
		for i, x := range []*trainer.Batch{b, &part} {
			s, err := m.Forward(x, nil)
			if err != nil {
				t.Fatal(err)
			}
			want[i] = want[i].Add(s)
		}
	}
	counted := &counting{Model: m}
	got, err := trainer.Evaluate(counted, share.Batches, trainer.Alone{}, trainer.Whole, even)
	if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if counted.forwards != share.MicroBatches || want[1].MLMWeight == 0 || want[1].MLMWeight == want[0].MLMWeight {
		t.Errorf("%d batches computed %d times; masked weights %v", share.MicroBatches, counted.forwards, want)
	}
}

// counting counts the calls of Forward.
type counting struct {
	trainer.Model
	forwards int
}

func (c *counting) Forward(b *trainer.Batch, out *trainer.Outputs) (trainer.Sums, error) {
	c.forwards++
	return c.Model.Forward(b, out)
}
