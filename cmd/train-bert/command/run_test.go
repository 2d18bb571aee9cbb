package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/cmd/internal/cli"
	"pretext/cmd/train-bert/internal/tinydata"
	"pretext/internal/realdata"
	"pretext/records/tfrecord"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

const testVocab = 40

// testModel is small enough for hundreds of steps a second.
const testModel = `{"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
"hidden_act": "gelu_new", "max_position_embeddings": 32, "initializer_range": 0.1, "model_type": "bert"}`

// testOptions are those of a run of twelve steps on a folder of its own, which
// crosses the end of an epoch.
func testOptions(t *testing.T) trainOptions {
	t.Helper()
	o := defaultOptions()
	dir := t.TempDir()
	o.data, o.out, o.model = filepath.Join(dir, "data"), filepath.Join(dir, "out"), filepath.Join(dir, "config.json")
	o.batch, o.tokens, o.rate, o.steps, o.warmup, o.saveEvery, o.keep, o.threads = 10, 64, 1e-2, 12, 2, 5, 0, 2
	if err := tinydata.Write(o.data, tinydata.Options{Train: 64, Eval: 16, Vocab: testVocab}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.model, []byte(testModel), 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

func mustTrain(t *testing.T, o trainOptions) *ending {
	t.Helper()
	end, err := train(context.Background(), o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// files returns the content of every file of a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

// steady returns the lines of the metrics without what depends on time.
func steady(t *testing.T, out string) (lines []map[string]any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(out, metricsFile))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("metrics line %q: %v", line, err)
		}
		delete(m, "tokens_per_second")
		lines = append(lines, m)
	}
	return lines
}

func TestARunStoppedAtAnyStepEndsAsOneThatWasNot(t *testing.T) {
	stopEverywhere(t, testOptions(t))
}

// Masks drawn anew, and examples read ahead, are the same after a resume.
func TestARunWithDynamicMasksStoppedAtAnyStepEndsAsOneThatWasNot(t *testing.T) {
	o := testOptions(t)
	static := files(t, mustTrain(t, o).model)
	o.out, o.masking.dynamic, o.readers = filepath.Join(t.TempDir(), "out"), true, 3
	if cmp.Equal(static, files(t, mustTrain(t, o).model)) {
		t.Error("dynamic masks train the model that the records' masks train")
	}
	stopEverywhere(t, o)
}

// stopEverywhere stops a run after every step of it, goes on and compares.
func stopEverywhere(t *testing.T, whole trainOptions) {
	t.Helper()
	want := mustTrain(t, whole)
	if want.progress.Step != 12 || want.progress.Position != 120 || want.eval == nil {
		t.Fatalf("undisturbed run ended as %+v", want)
	}
	for stop := int64(1); stop < whole.steps; stop++ {
		o := whole
		o.out, o.threads, o.readers = filepath.Join(fastDir(t), "out"), 1, int(stop%3)
		stopAt(t, o, stop)
		got := mustTrain(t, o)
		sameEnd(t, stop, ended{whole.out, want.model}, ended{o.out, got.model})
	}
}

// An ended is where a run that ended wrote, and its last checkpoint.
type ended struct{ out, model string }

// sameEnd wants the checkpoint and the metrics of an undisturbed run of one that
// was stopped.
func sameEnd(t *testing.T, stop int64, undisturbed, resumed ended) {
	t.Helper()
	if diff := cmp.Diff(files(t, undisturbed.model), files(t, resumed.model)); diff != "" {
		t.Errorf("stopped at step %d: another checkpoint (-undisturbed +resumed):\n%.2000s", stop, diff)
	}
	if diff := cmp.Diff(steady(t, undisturbed.out), steady(t, resumed.out)); diff != "" {
		t.Errorf("stopped at step %d: other metrics (-undisturbed +resumed):\n%s", stop, diff)
	}
}

// A crash differs from a signal: nothing is saved, and the metrics are ahead of
// the newest checkpoint or end inside a line.
func TestARunThatCrashedGoesBackToItsCheckpoint(t *testing.T) {
	whole := testOptions(t)
	want := mustTrain(t, whole)
	o := whole
	o.out = filepath.Join(fastDir(t), "out")
	mustTrain(t, o)
	for _, dir := range []string{"step-00000012", "step-00000010"} {
		if err := os.RemoveAll(filepath.Join(o.out, dir)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(o.out, metricsFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(b, `{"step":13,"lo`...), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	got, err := train(context.Background(), o, &log)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files(t, want.model), files(t, got.model)); diff != "" {
		t.Errorf("another checkpoint (-undisturbed +resumed):\n%.2000s", diff)
	}
	if diff := cmp.Diff(steady(t, whole.out), steady(t, o.out)); diff != "" {
		t.Errorf("other metrics (-undisturbed +resumed):\n%s", diff)
	}
	checkpoint := filepath.Join(o.out, "step-00000005")
	wantLine(t, &log, "train-bert: resumed from "+checkpoint+": step 5 of 12, 50 examples seen; 7 steps and 2 evaluations after it were removed from metrics.jsonl and are made again")
	if _, err := train(context.Background(), o, &log); err != nil {
		t.Fatal(err)
	}
	wantLine(t, &log, "train-bert: nothing left to train: "+got.model+" is the last of 12 steps")
	o.out = filepath.Join(fastDir(t), "out")
	stopAt(t, o, 7)
	if _, err := train(context.Background(), o, &log); err != nil {
		t.Fatal(err)
	}
	wantLine(t, &log, "train-bert: resumed from "+filepath.Join(o.out, "step-00000007")+": step 7 of 12, 70 examples seen; nothing was removed from metrics.jsonl")
}

// wantLine wants one line of a log, once.
func wantLine(t *testing.T, log *bytes.Buffer, want string) {
	t.Helper()
	if n := strings.Count("\n"+log.String(), "\n"+want+"\n"); n != 1 {
		t.Errorf("%d lines %q in\n%s", n, want, log)
	}
	log.Reset()
}

func TestTheModelLearnsTheLanguageOfTheShards(t *testing.T) {
	o := learningOptions(t)
	e := mustTrain(t, o).eval
	if e.mask.MLM() > e.unigram-2 {
		t.Errorf("held-out loss on [MASK] is %.3f, want it 2 nats below the unigram baseline, %.3f", e.mask.MLM(), e.unigram)
	}
	if e.mask.MLMWeight >= e.all.MLMWeight || e.mask.MLMWeight < e.all.MLMWeight/2 {
		t.Errorf("%v of %v predictions are of [MASK]", e.mask.MLMWeight, e.all.MLMWeight)
	}
	c, err := readCurve(filepath.Join(o.out, metricsFile))
	if err != nil {
		t.Fatal(err)
	}
	if first, last := c.ends(); last > first-0.5 {
		t.Errorf("loss fell from %.3f to %.3f only", first, last)
	}
	if html := c.html(); bytes.Count(html, []byte("<polyline")) != 4 || !bytes.Contains(html, []byte(c.chart())) {
		t.Errorf("curve without its lines:\n%s", html)
	}
}

func TestASecondPhaseBeginsWithTheFirstOnesWeightsAndMoments(t *testing.T) {
	o := testOptions(t)
	first := mustTrain(t, o)
	o.init, o.model, o.out = o.out, "", filepath.Join(t.TempDir(), "two")
	o.steps, o.warmup, o.rate = 1, 0, 0 // nothing moves but the moments
	var log bytes.Buffer
	second, err := train(context.Background(), o, &log)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "phase 2, after "+first.model) {
		t.Errorf("log does not tell the phase:\n%s", &log)
	}
	was, is := files(t, first.model), files(t, second.model)
	if was["model.safetensors"] != is["model.safetensors"] {
		t.Error("weights of the first phase were not taken over")
	}
	if was["optimizer.safetensors"] == is["optimizer.safetensors"] {
		t.Error("the step of the second phase left the moments as they were")
	}
	var state struct {
		Phase    int
		Progress struct{ Step, Position int64 }
	}
	if err := json.Unmarshal([]byte(is["trainer.json"]), &state); err != nil {
		t.Fatal(err)
	}
	if state.Phase != 2 || state.Progress.Step != 1 {
		t.Errorf("got %+v, want step 1 of phase 2", state)
	}
}

func TestAnExportedModelIsTheCheckpointsAndBeginsAnotherRun(t *testing.T) {
	o := testOptions(t)
	end := mustTrain(t, o)
	folder := filepath.Join(t.TempDir(), "model")
	if err := export(o.out, folder); err != nil {
		t.Fatal(err)
	}
	want, got := files(t, end.model), files(t, folder)
	for _, name := range []string{"config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json"} {
		if got[name] != want[name] || got[name] == "" {
			t.Errorf("%s differs from the checkpoint's", name)
		}
	}
	var usage cli.UsageError
	if err := export(o.out, folder); !errors.As(err, &usage) {
		t.Errorf("over an existing folder: got %v, want a usage error", err)
	}
	o.init, o.out, o.steps, o.warmup, o.rate = folder, filepath.Join(t.TempDir(), "again"), 1, 0, 0
	if again := files(t, mustTrain(t, o).model); again["model.safetensors"] != want["model.safetensors"] {
		t.Error("--init of an exported folder changed the weights")
	}
}

func TestALostModelTakesNoCheckpointsPlace(t *testing.T) {
	o := testOptions(t)
	o.rate, o.saveEvery, o.keep, o.schedule = 1e30, 1, 1, "constant"
	_, err := train(context.Background(), o, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "lower the learning rate") {
		t.Fatalf("got %v, want a hint at the learning rate", err)
	}
	good, err := checkpoint.Newest(o.out)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range steady(t, o.out) {
		if loss, ok := line["loss"]; ok && loss == nil && line["step"].(float64) <= float64(good.State.Progress.Step) {
			t.Errorf("the newest checkpoint is %s, and the loss of step %v was not finite", good.Dir, line["step"])
		}
	}
}

func TestEveryProcessLeavesAnEventFile(t *testing.T) {
	o := testOptions(t)
	mustTrain(t, o)
	paths, err := filepath.Glob(filepath.Join(o.out, "events.out.tfevents.*"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("event files: %v, %v", paths, err)
	}
	f, err := os.Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, n := tfrecord.NewReader(f, tfrecord.ReaderOptions{}), 0
	for {
		if _, err = r.Next(); err != nil {
			break
		}
		n++
	}
	if want := 1 + 12 + 3; err != io.EOF || n != want {
		t.Errorf("%d events, %v; want %d: the version, 12 steps, 3 evaluations", n, err, want)
	}
	mustTrain(t, o) // has nothing to say
	if again, _ := filepath.Glob(filepath.Join(o.out, "events.out.tfevents.*")); len(again) != 1 {
		t.Errorf("event files after a run that was done: %v", again)
	}
}

func TestATensorFlowCheckpointIsExportedWithItsVocabulary(t *testing.T) {
	prefix := strings.TrimSuffix(realdata.Path(t, "models/bert-toy-tf/bert_model.ckpt.index"), ".index")
	folder := filepath.Join(t.TempDir(), "model")
	if err := export(prefix, folder); err != nil {
		t.Fatal(err)
	}
	want, err := checkpoint.OpenTensorFlow(prefix)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	got, err := checkpoint.OpenPretrained(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if diff := cmp.Diff(want.Names(), got.Names()); diff != "" {
		t.Errorf("tensors (-checkpoint +export):\n%s", diff)
	}
	for w, err := range want.Tensors() {
		if err != nil {
			t.Fatal(err)
		}
		g, err := got.Tensor(w.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w, g); diff != "" {
			t.Errorf("%s (-checkpoint +export):\n%s", w.Name, diff)
		}
	}
	if !bytes.Equal([]byte(files(t, folder)["vocab.txt"]), realdata.Read(t, "models/bert-toy-tf/vocab.txt")) {
		t.Error("vocab.txt differs")
	}
}

// What training left in a TensorFlow checkpoint is the first phase of a run.
func TestAnImportedTrainingCheckpointGoesOnWithItsMoments(t *testing.T) {
	prefix := strings.TrimSuffix(realdata.Path(t, "models/bert-toy-tf/bert_model.ckpt.index"), ".index")
	out := filepath.Join(t.TempDir(), "imported")
	dir, err := importModel(prefix, "", out)
	if err != nil {
		t.Fatal(err)
	}
	want, err := checkpoint.OpenTensorFlow(prefix)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	m, err := openModelPath(out)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.phase == nil || m.phase.Dir != dir {
		t.Fatalf("got %+v, want the checkpoint %s", m.phase, dir)
	}
	for kind, prefix := range map[trainer.Kind]string{trainer.FirstMoment: "m.", trainer.SecondMoment: "v."} {
		s, err := checkpoint.OpenSafetensors(filepath.Join(dir, "optimizer.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		n := 0
		for w, err := range want.Moments(kind) {
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Float32s(prefix+w.Name, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, w.Data) {
				t.Errorf("%v of %s differs", kind, w.Name)
			}
			n++
		}
		if n == 0 {
			t.Errorf("the checkpoint has no %v", kind)
		}
	}
	if step, _ := want.Step(); m.phase.State.Progress.Step != step || m.phase.State.Phase != 1 {
		t.Errorf("got %+v, want step %d of phase 1", m.phase.State, step)
	}
}

func TestEvalSeesWhatTheRunSaw(t *testing.T) {
	o := testOptions(t)
	want := mustTrain(t, o)
	got, step, err := evaluateModel(context.Background(), evalOptions{model: o.out, data: o.data, threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	// Batches are cut otherwise, so sums differ in their last bits.
	if math.Abs(got.all.Loss()-want.eval.all.Loss()) > 1e-6 || got.String() != want.eval.String() || step != o.steps {
		t.Errorf("step %d: %v\nwant step %d: %v", step, got, o.steps, want.eval)
	}
}
