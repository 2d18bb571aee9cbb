package speed_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pretext/internal/dev/tinydata"
	"pretext/trainer"
	"pretext/trainer/session/speed"
)

const model = `{"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
"hidden_act": "gelu_new", "max_position_embeddings": 32, "initializer_range": 0.1, "model_type": "bert"}`

func options(t *testing.T) speed.Options {
	t.Helper()
	dir, o := t.TempDir(), speed.DefaultOptions()
	o.Data, o.Model = filepath.Join(dir, "data"), filepath.Join(dir, "config.json")
	o.Rounds, o.Seconds, o.Device.Threads = 1, 0.01, 1
	if err := tinydata.Write(o.Data, tinydata.Options{Train: 64, Vocab: 40}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.Model, []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestEveryFigureIsMeasured(t *testing.T) {
	r, err := speed.Measure(t.Context(), options(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, figure := range map[string]float64{"tokens": r.Tokens, "examples": r.Sequences, "step": r.StepMillis, "tokens a step": r.StepTokens,
		"operations": r.Operations, "peak": r.Peak, "MFU": r.MFU, "reading": r.Loader} {
		if !(figure > 0) {
			t.Errorf("%s: %v", name, figure)
		}
	}
	if len(r.First) != 4 || r.First[1].Position != 32 || r.First[3].Position != 64021 || r.Threads != 1 {
		t.Errorf("got %+v", r)
	}
}

// A ModernBERT is measured on shards of pairs, whose labels it ignores, and counts fewer
// operations the narrower its window.
func TestAModernBERTIsMeasured(t *testing.T) {
	o := options(t)
	o.Model = "modern-tiny"
	if r, err := speed.Measure(t.Context(), o); err != nil || !(r.Tokens > 0) {
		t.Errorf("got %+v, %v", r, err)
	}
	c, err := trainer.Preset("modern-tiny", 40)
	if err != nil {
		t.Fatal(err)
	}
	b := &trainer.Batch{}
	b.Append(trainer.Sequence{IDs: make([]int32, 5), Segments: make([]int32, 5)})
	count := func(window int, local bool) float64 {
		c.Modern.Window, c.Modern.Local = window, []bool{local, local}
		return speed.Operations(c, b) - 3*2*5*(8*128*128+6*128*192)
	}
	for _, tc := range []struct {
		window int
		local  bool
		pairs  float64
	}{{2, false, 25}, {0, true, 5}, {2, true, 13}, {4, true, 19}, {8, true, 25}, {64, true, 25}} {
		if got, want := count(tc.window, tc.local), 3*2*4*128*tc.pairs; got != want {
			t.Errorf("%+v: %v operations in attention, want %v", tc, got, want)
		}
	}
}

func TestWrongOptionsAreErrorsOfUsage(t *testing.T) {
	for name, change := range map[string]func(*speed.Options){
		"no rounds":                   func(o *speed.Options) { o.Rounds = 0 },
		"no time":                     func(o *speed.Options) { o.Seconds = 0 },
		"sequence too short":          func(o *speed.Options) { o.Data, o.Length = "", 4 },
		"sequence too long for model": func(o *speed.Options) { o.Data, o.Length, o.VocabSize = "", 64, 40 },
		"no model":                    func(o *speed.Options) { o.Model = "huge" },
	} {
		o := options(t)
		change(&o)
		var usage interface{ Usage() bool }
		if _, err := speed.Measure(t.Context(), o); !errors.As(err, &usage) {
			t.Errorf("%s: got %v, want an error of usage", name, err)
		}
	}
}
