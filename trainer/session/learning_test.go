package session

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/internal/dev/tinydata"
	"pretext/trainer"
	"pretext/trainer/comm"
	"pretext/trainer/cpu"
)

// Each control removes something that is necessary to learn from context. A
// model trained with it must learn nothing from context.
var controls = map[string]func(b *trainer.Batch, training bool){
	"labels shifted": func(b *trainer.Batch, training bool) { shiftLabels(b, training, 1) },
	// Every token attends to [CLS] alone, which says nothing.
	"attention zeroed": func(b *trainer.Batch, _ bool) {
		b.VisibleKeys = b.VisibleKeys[:0]
		for range b.Sequences() {
			b.VisibleKeys = append(b.VisibleKeys, 1)
		}
	},
	// Each sequence has its own permutation, which is always the same.
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

// A spoilt model receives modified batches.
type spoilt struct {
	trainer.Model
	change func(b *trainer.Batch, training bool)
}

// changed returns a modified copy of a batch; b stays as it is.
func (s spoilt) changed(b *trainer.Batch, training bool) *trainer.Batch {
	c := *b
	c.Positions, c.VisibleKeys, c.MaskedIDs = slices.Clone(b.Positions), slices.Clone(b.VisibleKeys), slices.Clone(b.MaskedIDs)
	s.change(&c, training)
	return &c
}

func (s spoilt) Accumulate(b *trainer.Batch, coef trainer.Coef, last bool) error {
	return s.Model.Accumulate(s.changed(b, true), coef, last)
}

func (s spoilt) Forward(b *trainer.Batch, out *trainer.Outputs) (trainer.Sums, error) {
	return s.Model.Forward(s.changed(b, false), out)
}

// trainSpoilt trains a model whose batches are changed, unless change is nil.
func trainSpoilt(o Options, change func(b *trainer.Batch, training bool)) (*Result, error) {
	device, err := o.Device.Open()
	if err != nil {
		return nil, err
	}
	if change != nil {
		device.backend = spoiling{device.backend, change}
	}
	return (&run{o: o, device: device, group: comm.Alone()}).train(context.Background())
}

// A spoiling backend opens spoilt models.
type spoiling struct {
	trainer.Backend
	change func(b *trainer.Batch, training bool)
}

func (s spoiling) Open(c trainer.Config, h trainer.Heads, o trainer.Options) (trainer.Model, error) {
	m, err := s.Backend.Open(c, h, o)
	return spoilt{m, s.change}, err
}

// In the language of package tinydata neighbours have the same label, so labels
// come from farther, and the order of tokens says nothing, so that the third
// control is none.
func TestWithoutLabelsOrAttentionNothingIsLearned(t *testing.T) {
	for name, spoil := range map[string]func(*trainer.Batch, bool){
		"labels shifted":   func(b *trainer.Batch, training bool) { shiftLabels(b, training, 11) },
		"attention zeroed": controls["attention zeroed"],
	} {
		end, err := trainSpoilt(learningOptions(t), spoil)
		if err != nil {
			t.Fatal(err)
		}
		if e := end.Eval; e.Mask.MLM() < e.UnigramLoss-0.1 {
			t.Errorf("%s: held-out loss on [MASK] is %.3f, below the unigram baseline, %.3f", name, e.Mask.MLM(), e.UnigramLoss)
		}
	}
}

// learningOptions are those of a small run that learns.
func learningOptions(t *testing.T) Options {
	t.Helper()
	o := testOptions(t)
	if err := tinydata.Write(o.Data, tinydata.Options{Train: 2000, Eval: 256, Vocab: testVocab}); err != nil {
		t.Fatal(err)
	}
	const model = `{"vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64,
"hidden_act": "gelu_new", "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0, "max_position_embeddings": 32, "initializer_range": 0.1}`
	if err := os.WriteFile(o.Model, []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	o.NumTrainSteps, o.TrainBatchSize, o.SaveCheckpointsSteps, o.MicroBatchTokens, o.NumWarmupSteps, o.LearningRate = 200, 32, 0, 1024, 20, 1e-2
	return o
}

// TestLearningOnRealShards is the experiment of docs/learning.md, hours of it:
// PRETEXT_LEARNING names the folder of its shards and config.json, where the runs
// are kept too, so that a test that was stopped resumes.
func TestLearningOnRealShards(t *testing.T) {
	dir := realdata.Variable(t, "PRETEXT_LEARNING", "hours, see docs/learning.md")
	o := DefaultOptions()
	o.Data, o.Model = filepath.Join(dir, "data"), filepath.Join(dir, "config.json")
	o.TrainBatchSize, o.LearningRate, o.NumTrainSteps, o.NumWarmupSteps, o.SaveCheckpointsSteps, o.EvalExamples = 64, 1e-3, 6000, 200, 250, 4096
	all := map[string]func(b *trainer.Batch, training bool){"whole": nil}
	for name, spoil := range controls {
		all[name] = spoil
	}
	for name, spoil := range all {
		t.Run(name, func(t *testing.T) {
			o := o
			o.Out, o.Log = filepath.Join(dir, name), os.Stderr
			end, err := trainSpoilt(o, spoil)
			if err != nil {
				t.Fatal(err)
			}
			e := end.Eval
			accuracy := Fraction(e.Mask.MLMCorrect, e.Mask.MLMWeight)
			t.Logf("%s", e)
			if learned := e.Mask.MLM() <= e.UnigramLoss-0.5 && accuracy >= 2*e.UnigramAccuracy; learned != (spoil == nil) {
				t.Errorf("learned: %v: loss on [MASK] %.3f with a baseline of %.3f, accuracy %.3f of %.3f", learned, e.Mask.MLM(), e.UnigramLoss, accuracy, e.UnigramAccuracy)
			}
		})
	}
}

// TestLearningOfRecipes is the experiment of docs/recipes.md, an hour of it: in
// the folder that PRETEXT_LEARNING names, models are trained on the shards
// google and mlm, and all are evaluated on the eval split of mlm. mlm must reach
// the last loss of google on [MASK] with fewer tokens.
func TestLearningOfRecipes(t *testing.T) {
	dir := realdata.Variable(t, "PRETEXT_LEARNING", "an hour, see docs/recipes.md")
	o := DefaultOptions()
	o.EvalData, o.Model, o.Log = filepath.Join(dir, "mlm"), filepath.Join(dir, "config.json"), os.Stderr
	o.TrainBatchSize, o.LearningRate, o.NumTrainSteps, o.NumWarmupSteps, o.SaveCheckpointsSteps, o.EvalExamples, o.Keep = 64, 1e-3, 3000, 200, 250, 4096, 1
	curve := func(recipe string, seed uint64) [][2]float64 {
		o := o
		o.Data, o.Out, o.Seed = filepath.Join(dir, recipe), filepath.Join(dir, fmt.Sprintf("run-%s-%d", recipe, seed)), seed
		mustTrain(t, o)
		var points [][2]float64 // tokens seen, loss on [MASK]
		tokens := 0.0
		for _, line := range steady(t, o.Out) {
			if n, ok := line["tokens"].(float64); ok {
				tokens += n
			}
			if loss, ok := line["eval_mask_loss"].(float64); ok {
				points = append(points, [2]float64{tokens, loss})
			}
		}
		t.Logf("%s, seed %d: tokens and loss on [MASK]: %.3f", recipe, seed, points)
		return points
	}
	for _, seed := range []uint64{1, 2} {
		google, mlm := curve("google", seed), curve("mlm", seed)
		goal := google[len(google)-1]
		reached := slices.IndexFunc(mlm, func(p [2]float64) bool { return p[1] <= goal[1] })
		if reached < 0 || mlm[reached][0] >= goal[0] {
			t.Errorf("seed %d: google reaches %.3f after %.0f tokens, mlm: %v", seed, goal[1], goal[0], mlm)
		}
	}
}

// TestLearningOfArchitectures is the comparison of docs/learning.md, hours of it: BERT and
// a ModernBERT of fewer parameters learn from the same examples in the same order, masked
// LM alone. In the folder that PRETEXT_LEARNING names are the shards, data; the runs are
// kept there, so a test that was stopped resumes. ModernBERT must be 0.3 nats below the
// unigram baseline after at most two thirds of BERT's steps and at step 3,000 at most 0.02
// above BERT's loss. Without labels, attention or positions it must learn nothing.
func TestLearningOfArchitectures(t *testing.T) {
	dir := realdata.Variable(t, "PRETEXT_LEARNING", "hours, see docs/learning.md")
	const modern = `{"model_type": "modernbert", "vocab_size": 800, "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 336,
"max_position_embeddings": 512, "initializer_range": 0.05, "pad_token_id": 0, `
	models := map[string]string{
		"bert": `{"vocab_size": 800, "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512,
"max_position_embeddings": 512, "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0, "initializer_range": 0.05}`,
		"modern": modern + `"local_attention": 16, "layer_types": ["full_attention", "sliding_attention"]}`,
		"itself": modern + `"local_attention": 0, "layer_types": ["sliding_attention", "sliding_attention"]}`, // tokens attend to themselves only
		"global": modern + `"layer_types": ["full_attention", "full_attention"]}`,                             // a window shows what is near
	}
	for _, run := range []struct {
		name, model string
		seed        uint64
		change      func(b *trainer.Batch, training bool)
	}{
		{"modern-1", "modern", 1, nil}, {"bert-1", "bert", 1, nil}, {"modern-2", "modern", 2, nil}, {"bert-2", "bert", 2, nil},
		{"labels shifted", "modern", 1, controls["labels shifted"]}, {"attention zeroed", "itself", 1, nil}, {"positions permuted", "global", 1, controls["positions permuted"]},
	} {
		o := DefaultOptions()
		o.Data, o.Out, o.Model, o.Log, o.NoNSP, o.Seed = filepath.Join(dir, "data"), filepath.Join(dir, run.name), filepath.Join(dir, run.model+".json"), os.Stderr, true, run.seed
		o.Schedule, o.TrainBatchSize, o.LearningRate, o.NumTrainSteps, o.NumWarmupSteps, o.SaveCheckpointsSteps = string(trainer.Constant), 64, 1e-3, 3000, 200, 125
		o.AdamBeta2, o.BiasCorrection, o.Keep, o.Brief = 0.98, new(true), 1, true
		if err := os.WriteFile(o.Model, []byte(models[run.model]), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := trainSpoilt(o, run.change); err != nil {
			t.Fatal(err)
		}
	}
	for _, seed := range []string{"1", "2"} {
		bert, modern := learned(t, filepath.Join(dir, "bert-"+seed)), learned(t, filepath.Join(dir, "modern-"+seed))
		t.Logf("seed %s: 0.3 nats below the baseline after %v steps, BERT %v; at the end %.3f, BERT %.3f", seed, modern.steps, bert.steps, modern.loss, bert.loss)
		if !(modern.steps <= bert.steps*2/3) || !(modern.loss <= bert.loss+0.02) {
			t.Errorf("seed %s: ModernBERT learned no sooner than BERT", seed)
		}
	}
	for _, control := range []string{"labels shifted", "attention zeroed", "positions permuted"} {
		l := learned(t, filepath.Join(dir, control))
		t.Logf("%s: %.3f, baseline %.3f", control, l.loss, l.baseline)
		if l.loss < l.baseline-0.5 {
			t.Errorf("%s: ModernBERT learned all the same", control)
		}
	}
}

// TestLearningInEightBits is the comparison of docs/learning.md, which takes half an hour. A
// small BERT learns masked LM in fp8 and in bf16, from the same weights and examples, with the
// roundings of a GPU ([cpu.Backend]): once from random weights, once from weights that fp32 has
// trained. The shards are the folder data in the folder that PRETEXT_LEARNING names. The runs are
// kept there, so that a test that was stopped resumes them.
//
// Over the last 200 of 2,000 steps the mean loss in fp8 must be at most 0.5 % above that in bf16,
// and from trained weights within 0.5 %. From random weights it may be lower: the first steps,
// on a plateau, differ between two precisions.
func TestLearningInEightBits(t *testing.T) {
	dir := realdata.Variable(t, "PRETEXT_LEARNING", "half an hour, see docs/learning.md")
	learn := func(name, from string, p trainer.Precision, seed uint64) float64 {
		o := DefaultOptions()
		o.Data, o.Out, o.Model, o.NoNSP, o.Seed = filepath.Join(dir, "data"), filepath.Join(dir, fmt.Sprintf("%s%s-%d", name, p, seed)), filepath.Join(dir, "eight.json"), true, seed
		o.TrainBatchSize, o.LearningRate, o.NumTrainSteps, o.NumWarmupSteps, o.SaveCheckpointsSteps = 64, 2e-3, 2000, 200, 500
		o.AdamBeta2, o.BiasCorrection, o.Keep, o.Brief, o.Log, o.EvalExamples = 0.98, new(true), 1, true, os.Stderr, 2048
		if err := os.WriteFile(o.Model, []byte(learningBERT), 0o600); err != nil {
			t.Fatal(err)
		}
		if from != "" {
			o.Model, o.Init, o.Seed = "", from, seed+100
		}
		end := trainOn(t, o, lowered(p), 0)
		loss := lastLoss(t, o.Out, 200)
		t.Logf("%s%s, seed %d: training %.4f, held out %.4f", name, p, seed, loss, end.Eval.All.MLM())
		return loss
	}
	for _, seed := range []uint64{1, 2} {
		learn("", "", trainer.Float32, seed)
		start := filepath.Join(dir, fmt.Sprintf("fp32-%d", seed), "step-00002000")
		scratch := learn("", "", trainer.Float8, seed) / learn("", "", trainer.BFloat16, seed)
		on := learn("on-", start, trainer.Float8, seed) / learn("on-", start, trainer.BFloat16, seed)
		learn("on-", start, trainer.Float32, seed)
		if !(scratch <= 1.005) || !(math.Abs(on-1) <= 0.005) {
			t.Errorf("seed %d: the loss in fp8 is %.4f of that in bf16, and %.4f from trained weights", seed, scratch, on)
		}
	}
}

// learningBERT is the BERT of TestLearningInEightBits.
const learningBERT = `{"vocab_size": 200, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 1, "intermediate_size": 256,
"max_position_embeddings": 64, "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0, "initializer_range": 0.05}`

// lowered opens the CPU with the roundings of a precision.
func lowered(p trainer.Precision) *Opened {
	return &Opened{Kind: deviceCPU, Precision: p, backend: cpu.Backend{}, close: func() error { return nil }}
}

// lastLoss returns the mean loss of the last n steps of a run.
func lastLoss(t *testing.T, out string, n int) float64 {
	t.Helper()
	var losses []float64
	for _, line := range steady(t, out) {
		if loss, ok := line["mlm_loss"].(float64); ok && line["grad_norm"] != nil {
			losses = append(losses, loss)
		}
	}
	if len(losses) < n {
		t.Fatalf("%d steps with a loss, want %d", len(losses), n)
	}
	sum := 0.0
	for _, l := range losses[len(losses)-n:] {
		sum += l
	}
	return sum / float64(n)
}

// learning is what a run has learned, by its evaluations.
type learning struct {
	steps          float64 // at which the loss on [MASK] was 0.3 below the baseline; +Inf: never
	loss, baseline float64 // at the end
}

func learned(t *testing.T, out string) learning {
	t.Helper()
	l := learning{steps: math.Inf(1)}
	for _, line := range steady(t, out) {
		if loss, ok := line["eval_mask_loss"].(float64); ok {
			l.loss, l.baseline = loss, line["eval_unigram_loss"].(float64)
			if loss <= l.baseline-0.3 {
				l.steps = min(l.steps, line["step"].(float64))
			}
		}
	}
	return l
}
