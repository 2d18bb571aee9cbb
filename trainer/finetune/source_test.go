package finetune_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pretext/trainer"
	"pretext/trainer/cpu"
	"pretext/trainer/finetune"
)

// lengths are examples of that many tokens; example i is of class i%2.
type lengths []int

func (l lengths) Len() int         { return len(l) }
func (l lengths) Tokens(i int) int { return l[i] }

func (l lengths) Append(b *trainer.Batch, i int, position int64) {
	ids := make([]int32, l[i])
	for j := range ids {
		ids[j] = int32((i + j) % 20)
	}
	b.Append(trainer.Sequence{IDs: ids, Segments: make([]int32, l[i]), NSPLabel: trainer.NoLabel, Position: position})
	b.Labels = append(b.Labels, int32(i%2))
	b.Scores = append(b.Scores, float32(i))
	b.Starts, b.Ends = append(b.Starts, 0), append(b.Ends, int32(l[i]-1))
}

// seen is a sequence as it came in a batch: which example, known by its score, at
// which position.
type seen struct {
	example  int
	position int64
}

func stepOf(t interface{ Fatal(...any) }, s *finetune.Source, position int64, n, most int) (out []seen, counts trainer.Counts) {
	share, err := s.Step(position, n)
	if err != nil {
		t.Fatal(err)
	}
	var total trainer.Counts
	for b, err := range share.Batches {
		if err != nil {
			t.Fatal(err)
		}
		if b.Tokens() > most {
			t.Fatal(fmt.Sprintf("a micro-batch of %d tokens, not %d", b.Tokens(), most))
		}
		for i := range b.Sequences() {
			out = append(out, seen{int(b.Scores[i]), b.Sequence[i]})
		}
		total = total.Add(b.Counts(trainer.Heads{Labels: 2}))
	}
	if total != share.Counts {
		t.Fatal(fmt.Sprintf("counts %+v, its batches hold %+v", share.Counts, total))
	}
	return out, total
}

// Whatever the batch and the number of ranks, and wherever a run went on: an epoch
// has every example once, and the same example at the same position.
func TestAPositionStandsForTheSameExampleInEveryRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		examples := lengths(rapid.SliceOfN(rapid.IntRange(1, 9), 1, 30).Draw(t, "lengths"))
		o := finetune.SourceOptions{Seed: rapid.Uint64().Draw(t, "seed"), MicroBatchTokens: rapid.IntRange(9, 40).Draw(t, "tokens"), Heads: trainer.Heads{Labels: 2}}
		n := int64(len(examples))
		whole, err := finetune.NewSource(examples, o)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := stepOf(t, whole, 0, 2*len(examples), o.MicroBatchTokens)
		for epoch := range 2 {
			var all []int
			for i, s := range want[epoch*len(examples) : (epoch+1)*len(examples)] {
				if s.position != int64(epoch)*n+int64(i) {
					t.Fatalf("position %d, want %d", s.position, int64(epoch)*n+int64(i))
				}
				all = append(all, s.example)
			}
			slices.Sort(all)
			for i, e := range all {
				if e != i {
					t.Fatalf("epoch %d has the examples %v", epoch, all)
				}
			}
		}
		o.Ranks = rapid.IntRange(1, 3).Draw(t, "ranks")
		batch := rapid.IntRange(1, 8).Draw(t, "batch")
		from := rapid.Int64Range(0, n).Draw(t, "from")
		var got []seen
		for rank := range o.Ranks {
			o.Rank = rank
			s, err := finetune.NewSource(examples, o)
			if err != nil {
				t.Fatal(err)
			}
			for p := from; p+int64(batch) <= 2*n; p += int64(batch) {
				part, _ := stepOf(t, s, p, batch, o.MicroBatchTokens)
				got = append(got, part...)
			}
		}
		slices.SortFunc(got, func(a, b seen) int { return int(a.position - b.position) })
		if !slices.Equal(got, want[from:from+int64(len(got))]) {
			t.Fatalf("got %v, want %v", got, want[from:])
		}
	})
}

func TestEpochsAndSeedsHaveOrdersOfTheirOwn(t *testing.T) {
	examples := make(lengths, 50)
	for i := range examples {
		examples[i] = 1
	}
	orders := map[string]string{}
	for _, seed := range []uint64{1, 2} {
		s, err := finetune.NewSource(examples, finetune.SourceOptions{Seed: seed, MicroBatchTokens: 9, Heads: trainer.Heads{Labels: 2}})
		if err != nil {
			t.Fatal(err)
		}
		for epoch := range int64(2) {
			step, _ := stepOf(t, s, epoch*50, 50, 9)
			order := ""
			for _, x := range step {
				order += fmt.Sprint(x.example, " ")
			}
			name := fmt.Sprintf("seed %d, epoch %d", seed, epoch)
			if other, twice := orders[order]; twice {
				t.Errorf("%s has the order of %s", name, other)
			}
			orders[order] = name
		}
	}
}

func TestWhatIsNoRunIsRefused(t *testing.T) {
	if _, err := finetune.NewSource(lengths{}, finetune.SourceOptions{MicroBatchTokens: 9}); err == nil {
		t.Error("no examples were let pass")
	}
	if _, err := finetune.NewSource(lengths{1}, finetune.SourceOptions{Rank: 2, Ranks: 2}); err == nil {
		t.Error("rank 2 of 2 was let pass")
	}
	s, err := finetune.NewSource(lengths{1, 20}, finetune.SourceOptions{MicroBatchTokens: 9})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Step(0, 2); err == nil {
		t.Error("an example longer than a micro-batch was let pass")
	}
	if _, err := s.Step(-1, 2); err == nil {
		t.Error("a negative position was let pass")
	}
}

// int(examples / batch * epochs) and int(steps * proportion), as in the reference:
// the training sets of SQuAD 1.1, SQuAD 2.0 and MRPC.
func TestStepsAreThoseOfTheReference(t *testing.T) {
	r := finetune.Recipe{Rate: 5e-5, Batch: 32, Epochs: 3, Warmup: 0.1}
	for examples, want := range map[int][2]int64{87599: {8212, 821}, 130319: {12217, 1221}, 3668: {343, 34}, 31: {2, 0}} {
		s := r.Schedule(examples)
		if s.Steps != want[0] || s.Warmup != float64(want[1]) || s.Kind != trainer.Linear || s.Peak != 5e-5 {
			t.Errorf("%d examples: got %+v, want %v", examples, s, want)
		}
	}
	if err := (finetune.Recipe{Rate: -1, Batch: 0, Epochs: -1, Warmup: 2}).Validate(); err == nil || len(err.(interface{ Unwrap() []error }).Unwrap()) != 4 {
		t.Errorf("got %v, want four problems", err)
	}
}

// openSmall opens a small model with random weights.
func openSmall(t testing.TB, h trainer.Heads, tokens int, train bool) trainer.Model {
	t.Helper()
	c := trainer.Config{VocabSize: 20, HiddenSize: 8, Layers: 1, AttentionHeads: 2, IntermediateSize: 16, Activation: trainer.GELUNew, MaxPositions: 16, Segments: 2,
		InitializerRange: 0.5, LayerNormEps: 1e-12}
	m, err := cpu.Backend{Threads: 1}.Open(c, h, trainer.Options{Tokens: tokens, Sequences: tokens, Masked: tokens, Precision: trainer.Float32, Train: train, Optimizer: trainer.DefaultOptimizer(trainer.AdamW)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, h, 3)); err != nil {
		t.Fatal(err)
	}
	return m
}

// Every head hands out for each example what it gives computed alone.
func TestEachGivesEveryExampleItsOwnOutput(t *testing.T) {
	examples := lengths{3, 9, 1, 1, 16, 2, 5, 7}
	for _, h := range []trainer.Heads{{Labels: 2}, {Regression: true}, {Span: true}} {
		m := openSmall(t, h, 20, false)
		next := 0
		_, err := finetune.Forward{Model: m, Heads: h, Tokens: 20}.Each(context.Background(), examples, func(i int, values []float32) error {
			if i != next {
				t.Fatalf("%+v: example %d came, not %d", h, i, next)
			}
			next++
			var b trainer.Batch
			examples.Append(&b, i, 0)
			out := trainer.Outputs{Want: finetune.Wanted(h)}
			if _, err := m.Forward(&b, &out); err != nil {
				t.Fatal(err)
			}
			want := append(out.Logits, out.Spans...)
			if len(values) != len(want) {
				t.Fatalf("%+v, example %d: %d values, want %d", h, i, len(values), len(want))
			}
			for j, v := range values {
				if d := v - want[j]; d > 1e-5 || d < -1e-5 {
					t.Errorf("%+v, example %d: got %v, want %v", h, i, values, want)
				}
			}
			return nil
		})
		if err != nil || next != len(examples) {
			t.Errorf("%+v: %d examples, %v", h, next, err)
		}
	}
}

// masked are examples whose first and last tokens are masked.
type masked struct{ lengths }

func (m masked) Append(b *trainer.Batch, i int, position int64) {
	n := int32(m.Tokens(i))
	from := int32(b.Tokens())
	m.lengths.Append(b, i, position)
	for _, at := range []int32{0, n - 1} {
		b.MaskedIndex, b.MaskedIDs, b.MaskedWeights = append(b.MaskedIndex, from+at), append(b.MaskedIDs, 1), append(b.MaskedWeights, 1)
	}
}

func TestEachGivesEveryExampleTheLogitsOfItsMasks(t *testing.T) {
	h := trainer.Heads{MLM: true}
	m := openSmall(t, h, 20, false)
	examples := masked{lengths{3, 2, 9, 1, 16, 4}}
	_, err := finetune.Forward{Model: m, Heads: h, Tokens: 20}.Each(context.Background(), examples, func(i int, values []float32) error {
		var b trainer.Batch
		examples.Append(&b, i, 0)
		out := trainer.Outputs{Want: trainer.OutputMLMLogits}
		if _, err := m.Forward(&b, &out); err != nil {
			t.Fatal(err)
		}
		if len(values) != 2*20 || len(out.MLMLogits) != 2*20 {
			t.Fatalf("example %d: %d logits, alone %d", i, len(values), len(out.MLMLogits))
		}
		for j, v := range values {
			if d := v - out.MLMLogits[j]; d > 1e-5 || d < -1e-5 {
				t.Fatalf("example %d: got %v, alone %v", i, values, out.MLMLogits)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestEachEndsWithItsContextAndWithTheFirstError(t *testing.T) {
	h := trainer.Heads{Labels: 2}
	m := openSmall(t, h, 20, false)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (finetune.Forward{Model: m, Heads: h, Tokens: 20}).Each(ctx, lengths{3}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	enough := errors.New("enough")
	calls := 0
	_, err := finetune.Forward{Model: m, Heads: h, Tokens: 20}.Each(context.Background(), lengths{3, 3, 3}, func(int, []float32) error { calls++; return enough })
	if err != enough || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

// A run over four examples of two classes.
func Example() {
	examples, heads := lengths{3, 4, 5, 6}, trainer.Heads{Labels: 2}
	config := trainer.Config{VocabSize: 20, HiddenSize: 8, Layers: 1, AttentionHeads: 2, IntermediateSize: 16, Activation: trainer.GELUNew,
		MaxPositions: 16, Segments: 2, InitializerRange: 0.1, LayerNormEps: 1e-12}
	model, err := cpu.Backend{}.Open(config, heads, trainer.Options{Tokens: 32, Sequences: 8, Precision: trainer.Float32, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW)})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	if _, err := model.Load(trainer.Weights, trainer.InitialWeights(config, heads, 1)); err != nil {
		log.Fatal(err)
	}
	recipe := finetune.Recipe{Rate: 1e-2, Batch: 4, Epochs: 20, Warmup: 0.1}
	source, err := finetune.NewSource(examples, finetune.SourceOptions{Seed: 1, MicroBatchTokens: 32, Heads: heads})
	if err != nil {
		log.Fatal(err)
	}
	progress, err := trainer.Train(context.Background(), trainer.Loop{Model: model, Heads: heads, Source: source,
		Schedule: recipe.Schedule(examples.Len()), Batch: recipe.Batch})
	if err != nil {
		log.Fatal(err)
	}
	sums, err := finetune.Forward{Model: model, Heads: heads, Tokens: 32}.Each(context.Background(), examples, func(int, []float32) error { return nil })
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d steps, %.0f of %.0f right\n", progress.Step, sums.LabelCorrect, sums.LabelCount)
	// Output: 20 steps, 4 of 4 right
}
