package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/torture"
	"pretext/trainer/finetune/glue"
	"pretext/trainer/finetune/squad"
)

// fastDir returns a folder of the test's own, in memory where there is such a
// place: runs sync every file.
func fastDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "pretext-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// fineClassify are the options of a run of twelve steps on a table of 24 rows
// that is held out too.
func fineClassify(t *testing.T) ClassifyOptions {
	t.Helper()
	dir := fastDir(t)
	table := "sentence\tlabel\n"
	for i := range 24 {
		table += fmt.Sprintf("%s %s %s\t%d\n", []string{"a", "the"}[i%2], []string{"bad", "good"}[i/2%2], []string{"cat", "dog"}[i/4%2], i/2%2)
	}
	for name, content := range map[string]string{
		"train.tsv": table, "dev.tsv": table,
		"vocab.txt":   "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nthe\ncat\ndog\ngood\nbad\n",
		"config.json": `{"vocab_size": 11, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	task, err := glue.ByName("sst-2")
	if err != nil {
		t.Fatal(err)
	}
	o := ClassifyOptions{FinetuneOptions: DefaultFinetuneOptions(16), Task: task, DataDir: dir}
	o.Model, o.VocabFile, o.Out = filepath.Join(dir, "config.json"), filepath.Join(dir, "vocab.txt"), filepath.Join(fastDir(t), "out")
	o.Recipe.Batch, o.Recipe.Rate, o.NumTrainSteps, o.SaveCheckpointsSteps, o.Keep, o.Device.Threads = 5, 2e-2, 12, 5, 0, 2
	return o
}

func mustClassify(t *testing.T, o ClassifyOptions) *ClassifyResult {
	t.Helper()
	r, err := FinetuneClassify(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// evaluated returns the lines of evaluations.
func evaluated(t *testing.T, out string) (lines []map[string]any) {
	t.Helper()
	for _, line := range steady(t, out) {
		if _, ok := line["eval_examples"]; ok {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestAFineTuningRunIsEvaluatedOnItsWayAndAtItsEnd(t *testing.T) {
	for every, want := range map[int64][]float64{-1: {5, 10, 12}, 0: {12}, 4: {4, 8, 12}} {
		o := fineClassify(t)
		o.EvalSteps = every
		result := mustClassify(t, o)
		lines := evaluated(t, o.Out)
		var steps []float64
		for _, line := range lines {
			steps = append(steps, line["step"].(float64))
		}
		if diff := cmp.Diff(want, steps); diff != "" {
			t.Fatalf("--eval-steps %d: steps of evaluations (-want +got):\n%s", every, diff)
		}
		last, dev := lines[len(lines)-1], result.Splits["dev"]
		if last["eval_loss"] != dev["loss"] || last["eval_accuracy"] != dev["accuracy"] || last["eval_examples"] != 24.0 {
			t.Errorf("--eval-steps %d: the last Evaluation is %v, the result %v", every, last, dev)
		}
		events, err := filepath.Glob(filepath.Join(o.Out, "events.out.tfevents.*"))
		if err != nil || len(events) != 1 {
			t.Fatalf("event files: %v, %v", events, err)
		}
		b, err := os.ReadFile(events[0])
		if err != nil {
			t.Fatal(err)
		}
		for tag, n := range map[string]int{"train/loss": 12, "train/accuracy": 12, "eval/accuracy": len(want), "eval/loss": len(want)} {
			if got := bytes.Count(b, []byte(tag)); got != n {
				t.Errorf("--eval-steps %d: %d points of %s, want %d", every, got, tag, n)
			}
		}
		mustClassify(t, o) // has nothing to add
		if again := evaluated(t, o.Out); len(again) != len(lines) {
			t.Errorf("--eval-steps %d: a run that was done evaluated again: %v", every, again)
		}
		c, err := ReadCurve(filepath.Join(o.Out, MetricsFile))
		if err != nil || len(c.evals) != len(want) || c.floor != 0 {
			t.Errorf("--eval-steps %d: the curve has %d points of evaluations and the floor %v, %v", every, len(c.evals), c.floor, err)
		}
	}
}

func TestAFineTuningRunStoppedAtAnyStepEndsAsOneThatWasNot(t *testing.T) {
	whole := fineClassify(t)
	whole.EvalSteps = 3
	want := mustClassify(t, whole)
	unevaluated := whole
	unevaluated.Out, unevaluated.EvalSteps = filepath.Join(fastDir(t), "out"), 0
	if diff := cmp.Diff(files(t, want.Model), files(t, mustClassify(t, unevaluated).Model)); diff != "" {
		t.Errorf("evaluations change what is learned:\n%.1000s", diff)
	}
	stops := []int64{2, 3, 4, 11} // in an epoch, at an evaluation, before the end of the epoch, before the last
	if torture.Full() {
		stops = []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	}
	for _, stop := range stops {
		o := whole
		o.Out, o.Device.Threads = filepath.Join(fastDir(t), "out"), 1
		ctx, cancel := context.WithCancel(context.Background())
		o.Progress = func(p Progress) {
			if p.Step == stop {
				cancel()
			}
		}
		if _, err := FinetuneClassify(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped at step %d: got %v, want %v", stop, err, context.Canceled)
		}
		got := mustClassify(t, o)
		sameEnd(t, stop, ended{whole.Out, want.Model}, ended{o.Out, got.Model})
	}
}

// The measures of several tables stand beside each other.
func TestMeasuresOfSeveralTablesAreToldApart(t *testing.T) {
	got := flat(map[string]map[string]float64{"dev_mismatched": {"accuracy": 2, "examples": 20}, "dev_matched": {"accuracy": 1, "examples": 10}})
	if diff := cmp.Diff(map[string]float64{"accuracy": 1, "examples": 10, "mismatched_accuracy": 2, "mismatched_examples": 20}, got); diff != "" {
		t.Error(diff)
	}
}

// fineSquad are the options of a run on four questions that are held out too, which starts as
// that of c.
func fineSquad(t *testing.T, c FinetuneOptions) SquadOptions {
	t.Helper()
	text := "the good cat a bad dog"
	questions := []map[string]any{}
	for i, word := range []string{"cat", "dog", "good", "bad"} {
		questions = append(questions, map[string]any{"id": fmt.Sprint(i), "question": "a " + word,
			"answers": []map[string]any{{"text": word, "answer_start": strings.Index(text, word)}}})
	}
	b, err := json.Marshal(map[string]any{"version": "1.1", "data": []any{map[string]any{"title": "t", "paragraphs": []any{map[string]any{"context": text, "qas": questions}}}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(fastDir(t), "squad.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	o := SquadOptions{FinetuneOptions: c, TrainFile: path, PredictFile: path, Windows: squad.DefaultOptions(), Answers: squad.DefaultPredictOptions()}
	o.Windows.MaxQueryLength, o.Windows.DocStride = 8, 6
	o.MaxSeqLength, o.EvalSteps, o.Recipe.Batch = 24, 4, 4
	return o
}

// Questions are measured by the official measures, on the way too.
func TestAnswersAreMeasuredOnTheWay(t *testing.T) {
	o := fineSquad(t, fineClassify(t).FinetuneOptions)
	result, err := FinetuneSquad(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	lines := evaluated(t, o.Out)
	if len(lines) != 3 || lines[2]["eval_f1"] != result.F1 || lines[2]["eval_exact"] != result.Exact || lines[2]["eval_examples"] != 4.0 || lines[0]["step"] != 4.0 {
		t.Errorf("got the evaluations %v, the result is %+v", lines, result.Evaluation)
	}
}

// An evaluation that fails ends the run, unless a signal has interrupted it.
func TestAFailedEvaluationIsAnError(t *testing.T) {
	failed := errors.New("the table is gone")
	r := finetuneRun{log: io.Discard, task: finetuneTask{evaluate: func(context.Context) (map[string]float64, error) { return nil, failed }}}
	r.meter = new(meter)
	if err := r.evaluate(t.Context(), 7); !errors.Is(err, failed) || !strings.Contains(err.Error(), "evaluate step 7") {
		t.Errorf("got %v", err)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.evaluate(interrupted, 7); err != nil {
		t.Errorf("interrupted: got %v", err)
	}
}
