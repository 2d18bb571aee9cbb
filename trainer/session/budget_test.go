package session

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pretext/records"
	"pretext/trainer"
)

// budgetOptions are those of a run of at most sixty steps, of which the clock
// gives the rates.
func budgetOptions(t *testing.T) Options {
	t.Helper()
	o := formed(t, testOptions(t), records.Packed)
	o.Schedule, o.Budget, o.NumWarmupSteps, o.NumTrainSteps, o.SaveCheckpointsSteps = string(trainer.Budget), 20*time.Second, -1, 60, 20
	none := 0.0
	o.Dropout = &none
	return o
}

// A run with a budget that was stopped and resumed is repeated exactly, on one
// rank or two, by its own record of rates.
func TestABudgetIsRepeatedExactlyByItsRecord(t *testing.T) {
	o := budgetOptions(t)
	stopAt(t, o, 7)
	stopAt(t, o, 33)
	want := mustTrain(t, o)
	if want.Steps != 60 || want.Eval == nil {
		t.Fatalf("ended as %+v", want)
	}
	if c := files(t, want.Model)["config.json"]; !strings.Contains(c, `"hidden_dropout_prob": 0,`) {
		t.Errorf("--dropout 0 is not in the model: %s", c)
	}
	record := filepath.Join(o.Out, MetricsFile)
	replay := o
	replay.Out, replay.ReplayRates = filepath.Join(fastDir(t), "out"), record
	stopAt(t, replay, 11)
	got := mustTrain(t, replay)
	if diff := cmp.Diff(files(t, want.Model), files(t, got.Model)); diff != "" {
		t.Errorf("another checkpoint (-run +replay):\n%.2000s", diff)
	}
	replay.Out = filepath.Join(fastDir(t), "two")
	mustTrainRanks(t, 2, replay, unchanged)
	rates := func(out string) (all []any) {
		for _, line := range steady(t, out) {
			all = append(all, line["learning_rate"])
		}
		return all
	}
	if diff := cmp.Diff(rates(o.Out), rates(replay.Out)); diff != "" {
		t.Errorf("two ranks have other rates (-run +replay):\n%s", diff)
	}

	// Without the record another run has other rates.
	again := o
	again.Out = filepath.Join(fastDir(t), "again")
	if cmp.Equal(files(t, want.Model)["model.safetensors"], files(t, mustTrain(t, again).Model)["model.safetensors"]) {
		t.Error("two runs by the clock have the same weights: the rates do not follow it")
	}
}

// The time ends a run, with an evaluation and a checkpoint; time that is spent
// before a stop counts after it.
func TestABudgetEndsWithItsTime(t *testing.T) {
	o := budgetOptions(t)
	o.NumTrainSteps, o.Budget = 1e6, 400*time.Millisecond
	end := mustTrain(t, o)
	lines := steady(t, o.Out)
	last := lines[len(lines)-1]
	if end.Steps < 1 || end.Steps == 1e6 || last["eval_mask_loss"] == nil {
		t.Errorf("ended as %+v; the last line of the metrics is %v", end, last)
	}
	if _, err := os.Stat(end.Model); err != nil {
		t.Error(err)
	}
	spent, err := spentBefore(filepath.Join(o.Out, MetricsFile), end.Steps)
	if err != nil || spent < o.Budget {
		t.Errorf("%v of %v spent, %v", spent, o.Budget, err)
	}
	if again := mustTrain(t, o); again.Steps != end.Steps || len(steady(t, o.Out)) != len(lines) {
		t.Errorf("a run whose time is spent made steps %d to %d", end.Steps, again.Steps)
	}
	o.Budget = time.Hour
	if _, err := Train(context.Background(), o); !isUsage(err) || !strings.Contains(err.Error(), "schedule: the checkpoint has budget of 0.4 s") {
		t.Errorf("another budget: got %v, want a usage error", err)
	}
}

func TestARecordThatIsNoneIsRefused(t *testing.T) {
	dir := fastDir(t)
	for content, want := range map[string]string{
		"":                                      "no steps: give the metrics.jsonl of a run",
		`{"step":2,"learning_rate":0.1}` + "\n": "step 2 follows step 0",
	} {
		o := budgetOptions(t)
		o.ReplayRates = filepath.Join(dir, "record.jsonl")
		if err := os.WriteFile(o.ReplayRates, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Train(context.Background(), o); !isUsage(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want a usage error: %s", content, err, want)
		}
	}
}
