package session

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/records"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

// testModern is a ModernBERT model with dropout everywhere, whose window bites.
const testModern = `{"model_type": "modernbert", "vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
"max_position_embeddings": 32, "initializer_range": 0.1, "local_attention": 6, "global_attn_every_n_layers": 2, "pad_token_id": 0,
"embedding_dropout": 0.1, "attention_dropout": 0.1, "mlp_dropout": 0.1}`

// modernOptions are those of a run of ModernBERT's recipe on packed rows.
func modernOptions(t *testing.T) Options {
	t.Helper()
	o := formed(t, testOptions(t), records.Packed)
	if err := os.WriteFile(o.Model, []byte(testModern), 0o600); err != nil {
		t.Fatal(err)
	}
	rule := trainer.DefaultOptimizer(trainer.StableAdamW)
	o.Optimizer, o.WeightDecay, o.AdamBeta1, o.AdamBeta2, o.AdamEpsilon, o.MaxGradNorm = rule.Name, rule.WeightDecay, rule.Beta1, rule.Beta2, rule.Epsilon, rule.ClipNorm
	o.Schedule, o.DecaySteps, o.Masking.MaskedLMProb = string(trainer.Trapezoid), 5, MaskRates{{0.3, 0}}
	return o
}

func TestARunOfModernBERTStoppedAtAnyStepEndsAsOneThatWasNot(t *testing.T) {
	stopInPlaces(t, modernOptions(t))
}

func TestRanksTrainTheModernBERTOfOneProcess(t *testing.T) {
	alone := modernOptions(t)
	alone.NumTrainSteps, alone.TrainBatchSize, alone.SaveCheckpointsSteps = rankSteps, 7, rankSteps*2/3
	trainInFloat64(t, 1, alone, unchanged)
	for _, ranks := range []int{2, 4} {
		several := alone
		several.Zero1, several.Out = ranks == 2, filepath.Join(fastDir(t), "out")
		trainInFloat64(t, ranks, several, unchanged)
		sameRun(t, "ModernBERT", rankSteps, several, alone)
	}
}

// The schedule of each phase starts at 0; the bias correction counts the updates of all.
func TestPhasesCarryTheUpdatesOfTheirMoments(t *testing.T) {
	o := modernOptions(t)
	var want int64
	for range 3 {
		end := mustTrain(t, o)
		c, err := checkpoint.Open(end.Model)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.State.Model; got.Carried != want || got.Step != o.NumTrainSteps {
			t.Errorf("phase %d: %+v, want %d carried updates", c.State.Phase, got, want)
		}
		want += o.NumTrainSteps
		o.Init, o.Model, o.Out, o.NumTrainSteps, o.NumWarmupSteps, o.DecaySteps = o.Out, "", filepath.Join(fastDir(t), "out"), 3, 0, 2
	}
}

// A checkpoint records the optimizer and the schedule under its one name.
func TestACheckpointRecordsTheRecipeOfModernBERT(t *testing.T) {
	o := modernOptions(t)
	o.NumTrainSteps, o.DecaySteps = 4, 2
	var state struct {
		Optimizer trainer.Optimizer
		Schedule  trainer.Schedule
	}
	if err := json.Unmarshal([]byte(files(t, mustTrain(t, o).Model)["trainer.json"]), &state); err != nil {
		t.Fatal(err)
	}
	if want := trainer.DefaultOptimizer(trainer.StableAdamW); state.Optimizer != want {
		t.Errorf("got %+v, want %+v", state.Optimizer, want)
	}
	if want := (trainer.Schedule{Kind: trainer.WSD, Peak: o.LearningRate, Steps: 4, Warmup: 2, Decay: 2, Shape: "1-sqrt"}); state.Schedule != want {
		t.Errorf("got %+v, want %+v", state.Schedule, want)
	}
}

// A model of another window is another model, also to a resumed run and to --init.
func TestAModernBERTOfAnotherWindowIsNotResumed(t *testing.T) {
	o := modernOptions(t)
	o.NumTrainSteps, o.DecaySteps = 2, 0
	mustTrain(t, o)
	if err := os.WriteFile(o.Model, []byte(strings.Replace(testModern, `"local_attention": 6`, `"local_attention": 8`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Train(context.Background(), o); err == nil || !strings.Contains(err.Error(), "local_attention 6 there, 8 here") {
		t.Errorf("got %v", err)
	}
	o.Init, o.Out = o.Out, filepath.Join(fastDir(t), "out")
	if _, err := Train(context.Background(), o); err == nil || !strings.Contains(err.Error(), "local_attention 6 there, 8 here") {
		t.Errorf("--init: got %v", err)
	}
}

// ModernBERT has no next-sentence head, whatever the records have, and --dropout is that of
// all its places.
func TestModernBERTOnPairsTrainsMaskedLMAlone(t *testing.T) {
	o := testOptions(t)
	if err := os.WriteFile(o.Model, []byte(testModern), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	o.NumTrainSteps, o.Dropout, o.Log = 2, new(0.3), &log
	c, err := checkpoint.Open(mustTrain(t, o).Model)
	if err != nil {
		t.Fatal(err)
	}
	if want := (trainer.Heads{MLM: true}); c.State.Heads != want {
		t.Errorf("heads: got %v, want %v", c.State.Heads, want)
	}
	if m := c.Config; m.HiddenDropout != 0.3 || m.AttentionDropout != 0.3 || m.Modern.OutputDropout != 0.3 || m.Modern.FeedForwardDropout != 0.3 {
		t.Errorf("dropout: got %+v, %+v", m, m.Modern)
	}
	if strings.Contains(log.String(), "nsp") {
		t.Errorf("the log speaks of next sentences:\n%s", &log)
	}
}
