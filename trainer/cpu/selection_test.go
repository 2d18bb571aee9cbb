package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pretext/trainer"
)

func TestRowsThatNobodyReadsChangeNothing(t *testing.T) {
	c := smallConfig(trainer.GELUNew)
	for i, h := range []trainer.Heads{trainer.PretrainHeads(), {MLM: true}, {Labels: 3}} {
		c.IntermediateSize = []int{4, 1, 2}[i] * c.HiddenSize / 2
		b := ragged(rand.New(rand.NewPCG(5, 5)), c, 30, 4, 25)
		m := openRandom[float32](t, c, h, limitsOf(b, trainer.Float32), Backend{Threads: 2})
		some, err := m.Forward(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		rows := len(m.encoder.selected.Rows)
		all, err := m.Forward(b, &trainer.Outputs{Want: trainer.OutputHidden})
		if err != nil {
			t.Fatal(err)
		}
		if some != all {
			t.Errorf("%+v: sums %+v from the rows that are read, %+v from all", h, some, all)
		}
		if rows == 0 || rows >= b.Tokens() {
			t.Errorf("%+v: %d of %d rows were chosen", h, rows, b.Tokens())
		}
	}
}

func TestABatchThatNoHeadReadsHasNoGradient(t *testing.T) {
	c := smallConfig(trainer.GELUNew)
	b := ragged(rand.New(rand.NewPCG(5, 5)), c, 30, 4)
	none := sub(b, 1, 2) // the second sequence has no masked token
	m := openRandom[float32](t, c, trainer.Heads{MLM: true}, limitsOf(b, trainer.Float32), Backend{Threads: 2})
	if err := m.Accumulate(none, trainer.Coef{MLM: 1}, true); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(m.params.g, func(v float32) bool { return v != 0 }) {
		t.Error("a gradient is not zero")
	}
}

// TestAttentionOfSomeRowsIsThatOfAll compares the attention of the last layer for the rows that
// heads read with that of all rows, whose gradient is zero elsewhere: the same bits.
func TestAttentionOfSomeRowsIsThatOfAll(t *testing.T) {
	global, local := smallConfig(trainer.GELU), modernConfig()
	global.MaxPositions, local.MaxPositions = attentionRows+40, 4*bandRows
	local.Modern.Window, local.Modern.Local = 40, slices.Repeat([]bool{true}, local.Layers)
	for name, c := range map[string]trainer.Config{"global": global, "local": local} {
		t.Run(name, func(t *testing.T) {
			b := ragged(rand.New(rand.NewPCG(7, 8)), c, c.MaxPositions-7, 5, bandRows+1)
			for _, isa := range []string{"plain", ""} {
				m := openRandom[float32](t, c, trainer.Heads{MLM: true}, limitsOf(b, trainer.Float32), Backend{Threads: 2, ISA: isa})
				if err := m.Accumulate(b, trainer.Coef{MLM: 1}, true); err != nil {
					t.Fatal(err)
				}
				e, last, h := m.encoder, c.Layers-1, c.HiddenSize
				y := make([]float32, b.Tokens()*h)
				for _, r := range e.selected.Rows {
					copy(y[int(r)*h:int(r+1)*h], randomOf(rand.New(rand.NewPCG(1, uint64(r))), h))
				}
				run := func() (ctx, dqkv []float32) {
					e.attend(b, last)
					copy(e.d.z, y)
					e.attendGrad(b, last)
					for _, r := range e.selected.Rows {
						ctx = append(ctx, e.layers[last].ctx[int(r)*h:int(r+1)*h]...)
					}
					return ctx, slices.Clone(e.d.qkv[:3*b.Tokens()*h])
				}
				for i := range e.d.qkv {
					e.d.qkv[i] = 7 // of what was there before, nothing counts
				}
				e.layers[last].qkv = randomOf(rand.New(rand.NewPCG(3, 4)), len(e.layers[last].qkv))
				ctx, dqkv := run()
				e.selected.All = true
				allCtx, allDqkv := run()
				if !slices.Equal(ctx, allCtx) {
					t.Errorf("%q: the outputs differ", isa)
				}
				if !slices.Equal(dqkv, allDqkv) {
					t.Errorf("%q: the gradients differ", isa)
				}
			}
		})
	}
}

func randomOf(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func TestSpreadingRowsUndoesGatheringThem(t *testing.T) {
	x := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	s := rowset{3, []int32{1, 2, 5}}
	gather(x, s, 2)
	if got, want := x[:6], []int{3, 4, 5, 6, 11, 12}; !slices.Equal(got, want) {
		t.Errorf("gathered: got %v, want %v", got, want)
	}
	spread(x, s, 6, 2)
	if want := []int{0, 0, 3, 4, 5, 6, 0, 0, 0, 0, 11, 12}; !slices.Equal(x, want) {
		t.Errorf("spread: got %v, want %v", x, want)
	}
}

// lossOf returns the cross entropy of a row of logits, and whether the label is
// the first of the largest logits.
func lossOf(logits []float32, label int32) (loss float64, hit bool) {
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v - logits[label]))
	}
	return math.Log(sum), slices.Index(logits, slices.Max(logits)) == int(label)
}

func TestTheLossIsThatOfTheLogits(t *testing.T) {
	c := smallConfig(trainer.GELUNew)
	c.VocabSize = 2*mlmRows + 50 // in three parts
	b := ragged(rand.New(rand.NewPCG(8, 5)), c, 40, 9, 35)
	for _, isa := range []string{"plain", ""} {
		m := openRandom[float32](t, c, trainer.Heads{MLM: true}, limitsOf(b, trainer.Float32), Backend{Threads: 2, ISA: isa})
		out := &trainer.Outputs{Want: trainer.OutputMLMLogits | trainer.OutputMLMLosses}
		if _, err := m.Forward(b, out); err != nil {
			t.Fatal(err)
		}
		top := func(i int) int32 {
			row := out.MLMLogits[i*c.VocabSize : (i+1)*c.VocabSize]
			return int32(slices.Index(row, slices.Max(row)))
		}
		b.MaskedIDs[1], b.MaskedIDs[2] = top(1), top(2)
		sums, err := m.Forward(b, out)
		if err != nil {
			t.Fatal(err)
		}
		loss, correct := 0.0, 0.0
		for i, label := range b.MaskedIDs {
			l, hit := lossOf(out.MLMLogits[i*c.VocabSize:(i+1)*c.VocabSize], label)
			loss += l
			if hit {
				correct++
			}
			if math.Abs(out.MLMLosses[i]-l) > 1e-5 || out.MLMBest[i] != top(i) {
				t.Errorf("set %q, token %d: loss %v and best token %d, want %v and %d", isa, i, out.MLMLosses[i], out.MLMBest[i], l, top(i))
			}
		}
		if math.Abs(sums.MLMLoss/loss-1) > 1e-6 || sums.MLMCorrect != correct || correct < 2 {
			t.Errorf("set %q: loss %v and %v right, want %v and %v", isa, sums.MLMLoss, sums.MLMCorrect, loss, correct)
		}
	}
}

func TestTheFirstOfEqualLogitsIsThePrediction(t *testing.T) {
	c := smallConfig(trainer.GELUNew)
	c.VocabSize = 2*mlmRows + 50
	for label, want := range map[int32]float64{0: 1, 1: 0, mlmRows: 0, 2*mlmRows + 49: 0} {
		b := &trainer.Batch{}
		b.Append(trainer.Sequence{IDs: []int32{1, 2}, Segments: []int32{0, 0}, MaskedPositions: []int32{1}, MaskedIDs: []int32{label}, MaskedWeights: []float32{1}})
		m, err := Backend{}.Open(c, trainer.Heads{MLM: true}, limitsOf(b, trainer.Float32)) // no weights: every logit is zero
		if err != nil {
			t.Fatal(err)
		}
		out := &trainer.Outputs{Want: trainer.OutputMLMLosses}
		sums, err := m.Forward(b, out)
		if err != nil {
			t.Fatal(err)
		}
		if sums.MLMCorrect != want || out.MLMBest[0] != 0 || math.Abs(sums.MLMLoss-math.Log(float64(c.VocabSize))) > 1e-5 {
			t.Errorf("label %d: %v right, loss %v", label, sums.MLMCorrect, sums.MLMLoss)
		}
	}
}
