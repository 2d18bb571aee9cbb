package predict_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/cpu"
	"pretext/trainer/finetune"
	"pretext/trainer/finetune/predict"
	"pretext/trainer/finetune/squad"
)

// A fixture is a small model with random weights, and its predictor.
type fixture struct {
	p     *predict.Predictor
	model trainer.Model
	heads trainer.Heads
}

var words = []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "on", "a", "mat", ".", "?", "who", "##s"}

func open(h trainer.Heads, more predict.Settings) (*fixture, error) {
	v, err := tokenize.NewVocab(words)
	if err != nil {
		return nil, err
	}
	tok, err := tokenize.New(v, tokenize.DefaultOptions())
	if err != nil {
		return nil, err
	}
	c := trainer.Config{VocabSize: v.Len(), HiddenSize: 8, Layers: 1, AttentionHeads: 2, IntermediateSize: 16, Activation: trainer.GELUNew, MaxPositions: 24, Segments: 2,
		InitializerRange: 0.5, LayerNormEps: 1e-12}
	m, err := cpu.Backend{Threads: 1}.Open(c, h, trainer.Options{Tokens: 64, Sequences: 32, Masked: 64, Precision: trainer.Float32})
	if err != nil {
		return nil, err
	}
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, h, 3)); err != nil {
		return nil, err
	}
	more.Tokenizer, more.Config, more.Heads = tok, c, h
	p, err := predict.New(more)
	return &fixture{p, m, h}, err
}

func mustOpen(t testing.TB, h trainer.Heads, more predict.Settings) *fixture {
	t.Helper()
	f, err := open(h, more)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.model.Close() })
	return f
}

func (f *fixture) run(job predict.Job) (any, error) {
	_, err := finetune.Forward{Model: f.model, Heads: f.heads, Tokens: 64}.Each(context.Background(), job, job.Take)
	return job.Result(), err
}

func mustRun(t *testing.T, f *fixture, job predict.Job, err error) any {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	result, err := f.run(job)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestEveryMaskGetsTheMostProbableTokens(t *testing.T) {
	f := mustOpen(t, trainer.Heads{MLM: true}, predict.Settings{})
	job, err := f.p.FillMask("The [MASK] sat on[MASK].", len(words))
	got := mustRun(t, f, job, err).(predict.FilledMask)
	if len(got.Masks) != 2 || got.Masks[0].Position != 2 || got.Masks[1].Position != 5 {
		t.Fatalf("masks %+v", got.Masks)
	}
	ids := []int32{2, 5, 4, 7, 8, 4, 11, 3} // [CLS] the [MASK] sat on [MASK] . [SEP]
	var b trainer.Batch
	b.Append(trainer.Sequence{IDs: ids, Segments: make([]int32, 8), MaskedPositions: []int32{2, 5}, MaskedIDs: []int32{0, 0}, MaskedWeights: []float32{1, 1}, NSPLabel: trainer.NoLabel})
	out := trainer.Outputs{Want: trainer.OutputMLMLogits}
	if _, err := f.model.Forward(&b, &out); err != nil {
		t.Fatal(err)
	}
	for m, mask := range got.Masks {
		logits := out.MLMLogits[m*len(words) : (m+1)*len(words)]
		sum, total := 0.0, 0.0
		for _, v := range logits {
			sum += math.Exp(float64(v))
		}
		for i, x := range mask.Predictions {
			if want := math.Exp(float64(logits[x.ID])) / sum; math.Abs(x.Probability-want) > 1e-9 || x.Token != words[x.ID] {
				t.Errorf("mask %d: got %+v, want probability %v", m, x, want)
			}
			if i > 0 && x.Probability > mask.Predictions[i-1].Probability {
				t.Errorf("mask %d: not in order: %+v", m, mask.Predictions)
			}
			total += x.Probability
		}
		if len(mask.Predictions) != len(words) || math.Abs(total-1) > 1e-9 {
			t.Errorf("mask %d: %d tokens of probability %v", m, len(mask.Predictions), total)
		}
	}
	all := got.Masks[0].Predictions
	job, err = f.p.FillMask("The [MASK] sat on[MASK].", 3)
	few := mustRun(t, f, job, err).(predict.FilledMask)
	if diff := gocmp.Diff(all[:3], few.Masks[0].Predictions); diff != "" {
		t.Errorf("three of them (-want +got):\n%s", diff)
	}
}

func TestAClassificationNamesItsClasses(t *testing.T) {
	f := mustOpen(t, trainer.Heads{Labels: 3}, predict.Settings{Labels: []string{"yes", "no"}})
	job, err := f.p.Classify("the cat", "a mat", true)
	got := mustRun(t, f, job, err).(predict.Classification)
	names, total := map[string]bool{}, 0.0
	for i, c := range got.Classes {
		names[c.Label], total = true, total+c.Probability
		if i > 0 && c.Probability > got.Classes[i-1].Probability {
			t.Errorf("not in order: %+v", got.Classes)
		}
	}
	if !names["yes"] || !names["no"] || !names["LABEL_2"] || math.Abs(total-1) > 1e-9 || got.Score != nil {
		t.Errorf("got %+v", got)
	}
	job, err = f.p.Classify("the cat", "", false)
	if alone := mustRun(t, f, job, err).(predict.Classification); gocmp.Equal(alone, got) {
		t.Error("a text alone is classified as a pair")
	}
	r := mustOpen(t, trainer.Heads{Regression: true}, predict.Settings{})
	job, err = r.p.Classify("the cat", "", false)
	if got := mustRun(t, r, job, err).(predict.Classification); got.Score == nil || got.Classes != nil {
		t.Errorf("got %+v, want a score", got)
	}
}

func TestOfEquallyProbableTokensThatWithTheLowerIdComesFirst(t *testing.T) {
	f := mustOpen(t, trainer.Heads{MLM: true}, predict.Settings{})
	job, err := f.p.FillMask("[MASK]", 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Take(0, []float32{0, 1, 2, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2}); err != nil {
		t.Fatal(err)
	}
	var got []int32
	for _, x := range job.Result().(predict.FilledMask).Masks[0].Predictions {
		got = append(got, x.ID)
	}
	if want := []int32{2, 4, 14}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A context of several windows is answered as by package squad, whether the best
// of all is taken or "no answer", which need not be the first.
func TestAnAnswerIsThatOfPackageSquad(t *testing.T) {
	for _, threshold := range []float64{-1000, 1000} {
		answerOf(t, threshold)
	}
}

func answerOf(t *testing.T, threshold float64) {
	options := squad.DefaultPredictOptions()
	options.NullThreshold = threshold
	settings := predict.Settings{MaxSeqLength: 14, DocStride: 3, MaxQueryLength: 4, Negatives: true, Answers: options}
	f := mustOpen(t, trainer.Heads{Span: true}, settings)
	const question, text = "Who sat?", "The cät sat on a mat. A cat's mat. The mat sat on the cat. The cat."
	job, err := f.p.Answer(question, text, options.NBestSize)
	if err != nil {
		t.Fatal(err)
	}
	if job.Len() < 3 {
		t.Fatalf("%d windows", job.Len())
	}
	got := mustRun(t, f, job, err).(predict.Answer)
	v, err := tokenize.NewVocab(words)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenize.New(v, tokenize.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	d := &squad.Dataset{Paragraphs: []squad.Paragraph{{Context: text}}, Questions: []squad.Question{{Text: question}}}
	features, err := squad.NewFeatures(d, tok.NewEncoder(), squad.Options{MaxSeqLength: 14, DocStride: 3, MaxQueryLength: 4, Negatives: true}, squad.Predict)
	if err != nil {
		t.Fatal(err)
	}
	p, err := squad.NewPredictor(features, options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (finetune.Forward{Model: f.model, Heads: f.heads, Tokens: 64}).Each(context.Background(), features, p.Take); err != nil {
		t.Fatal(err)
	}
	x := p.Predictions()[0]
	if (got.Answer == "") != (threshold < 0) {
		t.Errorf("threshold %v: got %+v", threshold, got)
	}
	if got.Answer != x.Text || got.NullOdds == nil || *got.NullOdds != x.NullOdds || len(got.NBest) != len(x.NBest) {
		t.Fatalf("got %+v, want %+v", got, x)
	}
	found := false
	for i, c := range got.NBest {
		if part := string([]rune(text)[c.Start:c.End]); part != c.Answer {
			t.Errorf("%+v stands at %q", c, part)
		}
		found = found || c.Answer == got.Answer
		if c.Answer != x.NBest[i].Text || c.Probability != x.NBest[i].Probability {
			t.Errorf("candidate %d: got %+v, want %+v", i, c, x.NBest[i])
		}
		if c.Answer == got.Answer && (c.Probability != got.Probability || c.Start != got.Start || c.End != got.End) {
			t.Errorf("probability %v, want %v", got.Probability, c.Probability)
		}
	}
	if !found {
		t.Errorf("%q is not among %+v", got.Answer, got.NBest)
	}
}

// Where the best places all lie outside of the context there is no answer; the
// reference then says "empty".
func TestNoPlaceIsNoAnswer(t *testing.T) {
	options := squad.DefaultPredictOptions()
	options.NBestSize = 1
	f := mustOpen(t, trainer.Heads{Span: true}, predict.Settings{Answers: options})
	job, err := f.p.Answer("who?", "a cat", 1)
	if err != nil {
		t.Fatal(err)
	}
	logits := make([]float32, 2*job.Tokens(0))
	logits[0], logits[1] = 9, 9
	if err := job.Take(0, logits); err != nil {
		t.Fatal(err)
	}
	if got := job.Result().(predict.Answer); got.Answer != "" || got.Start != 0 || got.End != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestARequestThatCannotBeComputedSaysWhy(t *testing.T) {
	fill := mustOpen(t, trainer.Heads{MLM: true}, predict.Settings{})
	answer := mustOpen(t, trainer.Heads{Span: true}, predict.Settings{MaxSeqLength: 12, MaxSequences: 3})
	classify := mustOpen(t, trainer.Heads{Labels: 2}, predict.Settings{})
	for _, c := range []struct {
		f       *fixture
		in      string
		want    string
		tooLong bool
	}{
		{fill, `{"text": "the cat"}`, "the text holds no [MASK]", false},
		{fill, `{"text": "[MASK]", "top_k": 0}`, "top_k 0: must be from 1 to 15", false},
		{fill, `{"text": "[MASK]", "top_k": 16}`, "top_k 16", false},
		{fill, `{"text": "[MASK] ` + strings.Repeat("cat ", 22) + `"}`, "the text has 25 tokens with [CLS] and [SEP]: the model takes 24", true},
		{fill, `{"text": "` + strings.Repeat("[MASK]", 65) + `"}`, "65 [MASK]: at most 64", true},
		{fill, `{"text": "[MASK]", "question": "a"}`, "has the fields text and top_k", false},
		{fill, `{}`, "has the fields text and top_k", false},
		{fill, `{"text": 1}`, "not as described: ", false},
		{fill, `{"texts": "a"}`, `not as described: unknown field "texts"`, false},
		{fill, `{"text": "a"} {}`, "more than one value", false},
		{fill, `[`, "not as described", false},
		{fill, "{\"text\": \"\xff\"}", "not UTF-8", false},
		{answer, `{"question": "who?", "context": " "}`, "the context is empty", false},
		{answer, `{"question": "who?", "context": "` + strings.Repeat("cat ", 40) + `"}`, "windows: at most 3 are computed", true},
		{answer, `{"question": "who?", "context": "a", "n_best": -1}`, "n_best -1", false},
		{answer, `{"question": "who?"}`, "has the fields question, context and n_best", false},
		{classify, `{"pair": "a"}`, "has the fields text and pair", false},
	} {
		r, err := predict.ParseRequest([]byte(c.in))
		if err == nil {
			_, err = c.f.p.Job(r, predict.Defaults{TopK: 5})
		}
		var input *predict.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) || input.TooLong != c.tooLong {
			t.Errorf("%.60s: got %v, want %s", c.in, err, c.want)
		}
	}
	if _, err := fill.p.Classify("a", "", false); err == nil || !strings.Contains(err.Error(), "the model is for fill-mask, not for classify") {
		t.Errorf("got %v", err)
	}
	if _, err := open(trainer.Heads{NSP: true}, predict.Settings{}); err == nil || !strings.Contains(err.Error(), "no head that predicts") {
		t.Errorf("a model without a head: got %v", err)
	}
	if _, err := open(trainer.Heads{MLM: true}, predict.Settings{MaxSeqLength: 25}); err == nil {
		t.Error("more tokens than positions were let pass")
	}
}

func FuzzARequestGivesAResultOrAnInputError(f *testing.F) {
	f.Add([]byte(`{"text": "the [MASK]", "top_k": 2}`), uint8(0))
	f.Add([]byte(`{"text": "a", "pair": "b"}`), uint8(1))
	f.Add([]byte(`{"id": [1], "question": "who?", "context": "a cat", "n_best": 2}`), uint8(2))
	var all []*fixture
	for _, h := range []trainer.Heads{{MLM: true}, {Labels: 2}, {Span: true}} {
		all = append(all, mustOpen(f, h, predict.Settings{}))
	}
	f.Fuzz(func(t *testing.T, body []byte, which uint8) {
		x := all[int(which)%len(all)]
		r, err := predict.ParseRequest(body)
		var job predict.Job
		if err == nil {
			job, err = x.p.Job(r, predict.Defaults{TopK: 3})
		}
		if err != nil {
			if input := (*predict.InputError)(nil); !errors.As(err, &input) {
				t.Fatal(err)
			}
			return
		}
		result, err := x.run(job)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(result); err != nil {
			t.Fatal(err)
		}
	})
}

// What damaged weights compute is an error, not an answer.
func TestNumbersThatAreNoneAreAnError(t *testing.T) {
	nan := float32(math.NaN())
	for h, make := range map[trainer.Heads]func(p *predict.Predictor) (predict.Job, error){
		{MLM: true}:  func(p *predict.Predictor) (predict.Job, error) { return p.FillMask("[MASK]", 2) },
		{Labels: 2}:  func(p *predict.Predictor) (predict.Job, error) { return p.Classify("a", "", false) },
		{Span: true}: func(p *predict.Predictor) (predict.Job, error) { return p.Answer("a", "the", 0) },
	} {
		f := mustOpen(t, h, predict.Settings{})
		job, err := make(f.p)
		if err != nil {
			t.Fatal(err)
		}
		if err := job.Take(0, []float32{nan, 0, 1, 2, 3, 4, 5, 6, 7, 8, nan, 1, 2, 3, 4}); err == nil || !strings.Contains(err.Error(), "NaN") {
			t.Errorf("%+v: got %v", h, err)
		}
	}
}

func Example() {
	f, err := open(trainer.Heads{MLM: true}, predict.Settings{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.model.Close()
	job, err := f.p.FillMask("The cat sat on the [MASK].", 1)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := (finetune.Forward{Model: f.model, Heads: f.heads, Tokens: 64}).Each(context.Background(), job, job.Take); err != nil {
		log.Fatal(err)
	}
	masks := job.Result().(predict.FilledMask).Masks
	fmt.Println(len(masks), "mask at token", masks[0].Position, "with", len(masks[0].Predictions), "prediction")
	// Output: 1 mask at token 6 with 1 prediction
}
