package command

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pretext/cmd/train-bert/internal/tinydata"
	"pretext/internal/realdata"
	"pretext/trainer"
)

// Each control takes away something that learning from context needs, and must
// not learn from it.
var controls = map[string]func(b *trainer.Batch, training bool){
	"labels shifted": func(b *trainer.Batch, training bool) { shiftLabels(b, training, 1) },
	// Every token attends to [CLS] alone, which says nothing.
	"attention zeroed": func(b *trainer.Batch, _ bool) {
		b.VisibleKeys = b.VisibleKeys[:0]
		for range b.Sequences() {
			b.VisibleKeys = append(b.VisibleKeys, 1)
		}
	},
	// Of each sequence in its own way, always the same.
	"positions permuted": func(b *trainer.Batch, _ bool) {
		for s, p := range b.Sequence {
			rng := rand.New(rand.NewPCG(uint64(p), 1))
			of := b.Positions[b.CuSeqlens[s]:b.CuSeqlens[s+1]]
			rng.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		}
	},
}

// shiftLabels gives each prediction the label of the one n before it.
func shiftLabels(b *trainer.Batch, training bool, n int) {
	if ids := b.MaskedIDs; training && len(ids) > 0 {
		n %= len(ids)
		copy(ids, append(slices.Clone(ids[len(ids)-n:]), ids[:len(ids)-n]...))
	}
}

// In the language of package tinydata neighbours have the same label, so labels
// come from farther, and the order of tokens says nothing, so that the third
// control is none.
func TestWithoutLabelsOrAttentionNothingIsLearned(t *testing.T) {
	for name, spoil := range map[string]func(*trainer.Batch, bool){
		"labels shifted":   func(b *trainer.Batch, training bool) { shiftLabels(b, training, 11) },
		"attention zeroed": controls["attention zeroed"],
	} {
		o := learningOptions(t)
		o.spoil = spoil
		if e := mustTrain(t, o).eval; e.mask.MLM() < e.unigram-0.1 {
			t.Errorf("%s: held-out loss on [MASK] is %.3f, below the unigram baseline, %.3f", name, e.mask.MLM(), e.unigram)
		}
	}
}

// learningOptions are those of a small run that learns.
func learningOptions(t *testing.T) trainOptions {
	t.Helper()
	o := testOptions(t)
	if err := tinydata.Write(o.data, tinydata.Options{Train: 2000, Eval: 256, Vocab: testVocab}); err != nil {
		t.Fatal(err)
	}
	const model = `{"vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64,
"hidden_act": "gelu_new", "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0, "max_position_embeddings": 32, "initializer_range": 0.1}`
	if err := os.WriteFile(o.model, []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	o.steps, o.batch, o.saveEvery, o.tokens, o.warmup, o.rate = 200, 32, 0, 1024, 20, 1e-2
	return o
}

// TestLearningOnRealShards is the experiment of docs/learning.md, hours of it:
// PRETEXT_LEARNING names the folder of its shards and config.json, where the runs
// are kept too, so that a test that was stopped goes on.
func TestLearningOnRealShards(t *testing.T) {
	dir := realdata.Variable(t, "PRETEXT_LEARNING", "hours, see docs/learning.md")
	o := defaultOptions()
	o.data, o.model = filepath.Join(dir, "data"), filepath.Join(dir, "config.json")
	o.batch, o.rate, o.steps, o.warmup, o.saveEvery, o.evalExamples = 64, 1e-3, 6000, 200, 250, 4096
	all := map[string]func(b *trainer.Batch, training bool){"whole": nil}
	for name, spoil := range controls {
		all[name] = spoil
	}
	for name, spoil := range all {
		t.Run(name, func(t *testing.T) {
			o := o
			o.out, o.spoil = filepath.Join(dir, name), spoil
			end, err := train(context.Background(), o, os.Stderr)
			if err != nil {
				t.Fatal(err)
			}
			e := end.eval
			accuracy := share(e.mask.MLMCorrect, e.mask.MLMWeight)
			t.Logf("%s", e)
			if learned := e.mask.MLM() <= e.unigram-0.5 && accuracy >= 2*e.frequent; learned != (spoil == nil) {
				t.Errorf("learned: %v: loss on [MASK] %.3f with a baseline of %.3f, accuracy %.3f of %.3f", learned, e.mask.MLM(), e.unigram, accuracy, e.frequent)
			}
		})
	}
}
