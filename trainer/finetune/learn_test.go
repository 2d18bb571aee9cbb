package finetune_test

import (
	"bytes"
	"context"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/tokenize"
	"pretext/tokenize/vocab"
	"pretext/trainer"
	"pretext/trainer/cpu"
	"pretext/trainer/finetune"
	"pretext/trainer/finetune/glue"
	"pretext/trainer/finetune/squad"
)

// vocabularyOf trains a small vocabulary on texts: with a large one its embedding
// would be nearly all the work of a small model.
func vocabularyOf(t *testing.T, texts []string) *tokenize.Encoder {
	t.Helper()
	o := vocab.DefaultOptions()
	o.VocabSize, o.MinFrequency = 1000, 1
	counts, err := vocab.NewCounts(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		counts.Add(text)
	}
	var words bytes.Buffer
	if _, err := counts.WriteTo(&words); err != nil {
		t.Fatal(err)
	}
	tokens, err := vocab.Trainer{Options: o}.Vocabulary(context.Background(), vocab.Merge(&words))
	if err != nil {
		t.Fatal(err)
	}
	v, err := tokenize.NewVocab(tokens)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenize.New(v, tokenize.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return tok.NewEncoder()
}

// batchTokens is what the models below compute at a time.
const batchTokens = 1024

// openNew opens a model of two layers with initial weights.
func openNew(t *testing.T, enc *tokenize.Encoder, h trainer.Heads, positions int, dropout float64) trainer.Model {
	t.Helper()
	c := trainer.Config{VocabSize: enc.Vocab().Len(), HiddenSize: 64, Layers: 2, AttentionHeads: 2, IntermediateSize: 128, Activation: trainer.GELUNew,
		MaxPositions: positions, Segments: 2, InitializerRange: 0.02, LayerNormEps: 1e-12, HiddenDropout: dropout, AttentionDropout: dropout}
	m, err := cpu.Backend{}.Open(c, h, trainer.Options{Tokens: batchTokens, Sequences: batchTokens / 2, Precision: trainer.Float32, Train: true, Seed: 1,
		Optimizer: trainer.DefaultOptimizer(trainer.AdamW)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, h, 1)); err != nil {
		t.Fatal(err)
	}
	return m
}

func train(t *testing.T, m trainer.Model, h trainer.Heads, ex finetune.Examples, r finetune.Recipe) {
	t.Helper()
	source, err := finetune.NewSource(ex, finetune.SourceOptions{Seed: 1, MicroBatchTokens: batchTokens, Heads: h})
	if err != nil {
		t.Fatal(err)
	}
	loop := trainer.Loop{Model: m, Heads: h, Source: source, Schedule: r.Schedule(ex.Len()), Batch: r.Batch}
	if _, err := trainer.Train(context.Background(), loop); err != nil {
		t.Fatal(err)
	}
}

// A hundred rows of MRPC are learned by heart; the same rows with an untrained
// model show that this is not what the metric says of any model.
func TestAHundredRowsOfMRPCAreMemorised(t *testing.T) {
	task, err := glue.ByName("mrpc")
	if err != nil {
		t.Fatal(err)
	}
	_, rows, err := task.Read("dev.tsv", realdata.Read(t, "glue/MRPC/dev.tsv"), glue.Dev)
	if err != nil {
		t.Fatal(err)
	}
	rows = rows[:100]
	var texts []string
	for _, r := range rows {
		texts = append(texts, r.A, r.B)
	}
	enc := vocabularyOf(t, texts)
	examples, err := glue.NewExamples(task, rows, enc, 128)
	if err != nil {
		t.Fatal(err)
	}
	m := openNew(t, enc, task.Heads(), 128, 0)
	accuracy := func() float64 {
		sums, err := finetune.Forward{Model: m, Heads: task.Heads(), Tokens: batchTokens}.Each(context.Background(), examples, func(int, []float32) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return sums.LabelCorrect / sums.LabelCount
	}
	before := accuracy()
	train(t, m, task.Heads(), examples, finetune.Recipe{Rate: 1e-3, Batch: 20, Epochs: 20, Warmup: 0.1})
	after := accuracy()
	t.Logf("accuracy %.2f before, %.2f after", before, after)
	if after != 1 || before > 0.8 {
		t.Errorf("accuracy %.2f before and %.2f after, want below 0.8 and 1", before, after)
	}
}

// learnedF1 is the margin by which a model must be better, in percent, on the
// questions it learned, than the same with an untrained head.
const learnedF1 = 30

func TestASubsetOfSQuADIsLearned(t *testing.T) {
	d, err := squad.Read("squad", realdata.Read(t, "squad/squad-v1.1-dev-part.json"))
	if err != nil {
		t.Fatal(err)
	}
	d.Questions = d.Questions[:60]
	var texts []string
	for _, q := range d.Questions {
		texts = append(texts, q.Text, d.Paragraphs[q.Paragraph].Context)
	}
	enc := vocabularyOf(t, texts)
	o := squad.Options{MaxSeqLength: 160, DocStride: 64, MaxQueryLength: 32}
	h := trainer.Heads{Span: true}
	m := openNew(t, enc, h, o.MaxSeqLength, 0.1)
	f1 := func() float64 {
		features, err := squad.NewFeatures(d, enc, o, squad.Predict)
		if err != nil {
			t.Fatal(err)
		}
		p, err := squad.NewPredictor(features, squad.DefaultPredictOptions())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (finetune.Forward{Model: m, Heads: h, Tokens: batchTokens}).Each(context.Background(), features, p.Take); err != nil {
			t.Fatal(err)
		}
		answers := map[string]string{}
		for _, x := range p.Predictions() {
			answers[d.Questions[x.Question].ID] = x.Text
		}
		return squad.Evaluate(d, answers, nil).F1
	}
	before := f1()
	features, err := squad.NewFeatures(d, enc, o, squad.Train)
	if err != nil {
		t.Fatal(err)
	}
	train(t, m, h, features, finetune.Recipe{Rate: 2e-3, Batch: 16, Epochs: 20, Warmup: 0.1})
	after := f1()
	t.Logf("F1 %.1f before, %.1f after, %d windows", before, after, features.Len())
	if after < before+learnedF1 {
		t.Errorf("F1 %.1f before and %.1f after, want %d more", before, after, learnedF1)
	}
}
