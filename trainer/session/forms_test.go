package session

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/internal/dev/tinydata"
	"pretext/internal/dev/torture"
	"pretext/records"
	"pretext/sharding"
	"pretext/tokenize/hf"
	"pretext/trainer"
)

// formRuns are runs on records of other forms than pairs, by name.
var formRuns = map[string]struct {
	form   records.Form
	change func(*Options)
}{
	"masked":                 {records.Masked, func(*Options) {}},
	"masked, dynamic masks":  {records.Masked, func(o *Options) { o.Masking.DynamicMasking = true }},
	"tokens":                 {records.Tokens, func(o *Options) { o.Masking.MaskedLMProb = MaskRates{{0.4, 0}, {0.15, 6}} }},
	"tokens, shorter":        {records.Tokens, func(o *Options) { o.MaxSeqLength = 9 }},
	"packed":                 {records.Packed, func(o *Options) { o.Masking.MaskedLMProb = MaskRates{{0.3, 0}, {0.15, 4}} }},
	"packed, attends across": {records.Packed, func(o *Options) { o.AttendAcross = true }},
	"pieces":                 {records.Pieces, func(o *Options) { o.Masking.MaskedLMProb = MaskRates{{0.3, 0}} }},
	"pairs without labels":   {records.Pairs, func(o *Options) { o.NoNSP = true }},
}

// formed makes the data of a run of the form.
func formed(t *testing.T, o Options, form records.Form) Options {
	t.Helper()
	o.Data = filepath.Join(fastDir(t), "data")
	if err := tinydata.Write(o.Data, tinydata.Options{Train: 64, Eval: 16, Vocab: testVocab, Form: form}); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestARunOnEveryFormStoppedAtAnyStepEndsAsOneThatWasNot(t *testing.T) {
	for name, run := range formRuns {
		t.Run(name, func(t *testing.T) {
			o := formed(t, testOptions(t), run.form)
			config := strings.Replace(testModel, "{", `{"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, `, 1)
			if err := os.WriteFile(o.Model, []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			run.change(&o)
			stopInPlaces(t, o)
		})
	}
}

func TestRanksTrainTheModelOfOneProcessOnEveryForm(t *testing.T) {
	for name, run := range formRuns {
		o := formed(t, rankOptions(t, trainer.AdamW), run.form)
		run.change(&o)
		trainInFloat64(t, 1, o, unchanged)
		counts := []int{2}
		if torture.Full() {
			counts = []int{2, 3}
		}
		for _, n := range counts {
			several := o
			several.Out = filepath.Join(fastDir(t), "out")
			trainInFloat64(t, n, several, unchanged)
			sameRun(t, fmt.Sprintf("%s, %d ranks", name, n), rankSteps, several, o)
		}
	}
}

// Records without labels give a model without a next-sentence head, and so does
// NoNSP; checkpoint, export and import have it as transformers' BertForMaskedLM.
func TestHeadsFollowTheData(t *testing.T) {
	for name, run := range formRuns {
		t.Run(name, func(t *testing.T) {
			o := formed(t, testOptions(t), run.form)
			run.change(&o)
			o.NumTrainSteps, o.SaveCheckpointsSteps, o.NumWarmupSteps = 2, 0, 0
			var log bytes.Buffer
			o.Log = &log
			end, err := Train(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			exported, imported := filepath.Join(fastDir(t), "exported"), filepath.Join(fastDir(t), "imported")
			if err := Export(o.Out, exported, io.Discard); err != nil {
				t.Fatal(err)
			}
			if _, err := Import(exported, "", imported, io.Discard); err != nil {
				t.Fatal(err)
			}
			for _, dir := range []string{end.Model, exported, imported} {
				f := files(t, dir)
				if !strings.Contains(f["config.json"], `"BertForMaskedLM"`) || strings.Contains(f["model.safetensors"], "seq_relationship") || strings.Contains(f["model.safetensors"], "pooler") {
					t.Errorf("%s: not a masked language model alone: %s", dir, f["config.json"])
				}
			}
			if strings.Contains(log.String(), "nsp") || strings.Contains(end.Eval.String(), "nsp") {
				t.Errorf("the log tells a next-sentence loss:\n%s", &log)
			}
			for _, line := range steady(t, o.Out) {
				for _, key := range []string{"nsp_loss", "eval_nsp_loss"} {
					if v, ok := line[key]; ok && v != nil {
						t.Errorf("%s is %v, want null", key, v)
					}
				}
			}
			c, err := ReadCurve(filepath.Join(o.Out, MetricsFile))
			if err != nil || c.coin || c.floor == 0 {
				t.Errorf("the curve's baseline has a coin: %+v, %v", c, err)
			}
			o.Init, o.Model, o.Out = exported, "", filepath.Join(fastDir(t), "more")
			mustTrain(t, o)
		})
	}
}

// Masks that are drawn here are those that prepare-data would draw, unless options say
// otherwise: records without masks have no options for them.
func TestMasksAreThoseOfTheRecordsOrTheDefaults(t *testing.T) {
	for form, dynamic := range map[records.Form]bool{records.Tokens: false, records.Packed: false, records.Pieces: false, records.Masked: true} {
		o := formed(t, testOptions(t), form)
		data, err := OpenCorpus(t.Context(), o.Data, sharding.Train, "")
		if err != nil {
			t.Fatal(err)
		}
		want := sharding.DefaultExamplesOptions().MaskedLMProb
		if form.Masks() {
			want = data.shards.Made().MaskedLMProb
		}
		m, err := (&MaskOptions{DynamicMasking: dynamic}).masking(1, data, 8)
		if err != nil || m.Prob != want || want <= 0 {
			t.Errorf("%v: got %+v, %v, want probability %v", form, m, err, want)
		}
	}
	ours := formed(t, testOptions(t), records.Pairs).Data
	foreign, err := OpenCorpus(t.Context(), foreignEval(t, ours), sharding.Eval, filepath.Join(ours, "vocab.txt"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := (&MaskOptions{DynamicMasking: true}).masking(1, foreign, 8)
	if want := sharding.DefaultExamplesOptions().MaskedLMProb; err != nil || m.Prob != want {
		t.Errorf("third-party records: got %+v, %v, want probability %v", m, err, want)
	}
}

// A phase may drop the head of the phase before it, or add it.
func TestAPhaseDropsOrAddsTheNextSentenceHead(t *testing.T) {
	for _, first := range []bool{false, true} {
		o := testOptions(t)
		o.NoNSP, o.NumTrainSteps, o.SaveCheckpointsSteps, o.NumWarmupSteps = first, 2, 0, 0
		mustTrain(t, o)
		o.Init, o.Model, o.Out, o.NoNSP = o.Out, "", filepath.Join(fastDir(t), "two"), !first
		end := mustTrain(t, o)
		if has := strings.Contains(files(t, end.Model)["model.safetensors"], "cls.seq_relationship.weight"); has != first {
			t.Errorf("the second phase has the head: %v, want %v", has, first)
		}
	}
}

func TestWhatDoesNotSuitTheFormIsAUsageError(t *testing.T) {
	yes, half := true, 0.5
	for _, c := range []struct {
		form   records.Form
		change func(*Options)
		want   string
	}{
		{records.Pairs, func(o *Options) { o.Masking.MaskedLMProb = MaskRates{{0.3, 0}} }, "has masks: --masked-lm-prob"},
		{records.Masked, func(o *Options) { o.Masking.MaskTokenProb = &half }, "apply only with --dynamic-masking"},
		{records.Masked, func(o *Options) { o.AttendAcross = true }, "--attend-across applies only to packed rows"},
		{records.Packed, func(o *Options) { o.MaxSeqLength = 9 }, "--max-seq-length applies only to records of documents"},
		{records.Tokens, func(o *Options) { o.MaxSeqLength = 33 }, "--max-seq-length 33: the model has 32 positions"},
		{records.Tokens, func(o *Options) { o.MaxSeqLength = 2 }, "--max-seq-length 2: must be at least 3"},
		{records.Packed, func(o *Options) {
			o.Model = filepath.Join(o.Out, "..", "short.json")
			short := strings.Replace(testModel, `"max_position_embeddings": 32`, `"max_position_embeddings": 16`, 1)
			if err := os.WriteFile(o.Model, []byte(short), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "give a model with more max_position_embeddings"},
		{records.Packed, func(o *Options) {
			info := map[string]int{"vocab_size": testVocab, "pad": 0, "unk": -1, "cls": 2, "sep": 3, "mask": -1}
			withTokenizer(t, o.Data, info)
		}, "its tokenizer has no mask token"},
		{records.Tokens, func(o *Options) {
			info := map[string]int{"vocab_size": testVocab, "pad": 0, "unk": -1, "cls": -1, "sep": 3, "mask": 4}
			withTokenizer(t, o.Data, info)
		}, "its tokenizer has no tokens for [CLS] and [SEP]"},
		{records.Tokens, func(o *Options) {
			info := map[string]int{"vocab_size": testVocab, "pad": 0, "unk": -1, "cls": 2, "sep": 3, "mask": 4}
			withTokenizer(t, o.Data, info)
			o.Masking.DoWholeWordMask = &yes
		}, "does not say where words begin: give --do-whole-word-mask=false"},
	} {
		o := formed(t, testOptions(t), c.form)
		c.change(&o)
		if _, err := Train(context.Background(), o); !isUsage(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a usage error: %s", c.form, err, c.want)
		}
	}
}

// The options of a form are part of a run.
func TestARunWithOtherFormOptionsIsNotResumed(t *testing.T) {
	half := 0.5
	for name, c := range map[string]struct {
		form   records.Form
		change func(*Options)
		want   string
	}{
		"heads":   {records.Pairs, func(o *Options) { o.NoNSP = true }, "heads: the checkpoint has masked LM and next sentence, this run masked LM"},
		"length":  {records.Tokens, func(o *Options) { o.MaxSeqLength = 20 }, `max_seq_length: the checkpoint has "32", this run "20"`},
		"rates":   {records.Tokens, func(o *Options) { o.Masking.MaskedLMProb = MaskRates{{0.3, 0}, {0.2, 9}} }, `masked_lm_prob: the checkpoint has "0.15", this run "0.3@0,0.2@9"`},
		"across":  {records.Packed, func(o *Options) { o.AttendAcross = true }, `attend_across: the checkpoint has "", this run "true"`},
		"replace": {records.Packed, func(o *Options) { o.Masking.MaskTokenProb = &half }, `mask_token_prob: the checkpoint has "", this run "0.5"`},
	} {
		o := formed(t, testOptions(t), c.form)
		o.NumTrainSteps, o.SaveCheckpointsSteps = 2, 0
		mustTrain(t, o)
		c.change(&o)
		if _, err := Train(context.Background(), o); !isUsage(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a usage error: %s", name, err, c.want)
		}
	}
}

func TestMaskRatesAreParsed(t *testing.T) {
	for _, s := range []string{"", "0.15", "0.3@0,0.15@50000"} {
		if got, err := ParseMaskRates(s); err != nil || got.String() != s {
			t.Errorf("%q: got %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"x", "0", "1", "NaN", "0.3@5", "0.3,0.15", "0.3@0,0.15@0", "0.3@0,0.15@-1", "0.3@0,0.15@x", "0.3@0,", "@0"} {
		if got, err := ParseMaskRates(s); err == nil {
			t.Errorf("%q: got %v, want an error", s, got)
		}
	}
}

func FuzzParseMaskRates(f *testing.F) {
	f.Add("0.3@0,0.15@50000")
	f.Fuzz(func(t *testing.T, s string) {
		rates, err := ParseMaskRates(s)
		if err != nil {
			return
		}
		if again, err := ParseMaskRates(rates.String()); err != nil || again.String() != rates.String() {
			t.Errorf("%q: %v, then %v, %v", s, rates, again, err)
		}
	})
}

// Words of a tokenizer.json, from its tokens alone.
func TestWordsOfATokenizerFile(t *testing.T) {
	for _, c := range []struct{ file, model, words string }{
		{`{"model": {"vocab": {"ĠHe": 0, "llo": 1, ",": 2, "Ġw": 3, "orld": 4, "12": 5, "Ċ": 6, "é": 7, "'": 8, "s": 9}}}`, "byte-level-bpe", "ĠHe+llo|,|Ġw+orld|12|Ċ|é|'|s"},
		{`{"model": {"vocab": [["▁He", -1], ["llo", -2], [",", -3], ["▁w", -1.5], ["orld", -3]]}}`, "unigram", "▁He+llo+,|▁w+orld"},
		{`{"model": {"vocab": {"he": 0, "##llo": 1, ",": 2}}}`, "wordpiece", "he+##llo|,"},
	} {
		none := hf.Specials{Pad: -1, Unk: -1, CLS: -1, SEP: -1, Mask: -1}
		v := &fileVocab{TokenizerInfo: &sharding.TokenizerInfo{Model: c.model, Specials: none}}
		if _, err := v.names([]byte(c.file)); err != nil {
			t.Fatal(err)
		}
		continues, text := v.continues(), v.tokens[0]
		for id := int32(1); int(id) < len(v.tokens); id++ {
			separator := "|"
			if continues(id-1, id) {
				separator = "+"
			}
			text += separator + v.tokens[id]
		}
		if text != c.words {
			t.Errorf("%s: got %s, want %s", c.model, text, c.words)
		}
	}
}
