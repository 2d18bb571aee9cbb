package session

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

	"pretext/internal/dev/realdata"
	"pretext/internal/dev/tinydata"
	"pretext/internal/dev/torture"
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
func testOptions(t *testing.T) Options {
	t.Helper()
	o := DefaultOptions()
	dir := fastDir(t)
	o.Data, o.Out, o.Model = filepath.Join(dir, "data"), filepath.Join(dir, "out"), filepath.Join(dir, "config.json")
	o.TrainBatchSize, o.MicroBatchTokens, o.LearningRate, o.NumTrainSteps, o.NumWarmupSteps, o.SaveCheckpointsSteps, o.Keep, o.Device.Threads = 10, 64, 1e-2, 12, 2, 5, 0, 2
	if err := tinydata.Write(o.Data, tinydata.Options{Train: 64, Eval: 16, Vocab: testVocab}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.Model, []byte(testModel), 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

func mustTrain(t *testing.T, o Options) *Result {
	t.Helper()
	end, err := Train(context.Background(), o)
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
	b, err := os.ReadFile(filepath.Join(out, MetricsFile))
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
	stopAfterEach(t, testOptions(t), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
}

// Masks drawn anew, and examples read ahead, are the same after a resume.
func TestARunWithDynamicMasksStoppedAtAnyStepEndsAsOneThatWasNot(t *testing.T) {
	o := testOptions(t)
	static := files(t, mustTrain(t, o).Model)
	o.Out, o.Masking.DynamicMasking, o.Readers = filepath.Join(fastDir(t), "out"), true, 3
	if cmp.Equal(static, files(t, mustTrain(t, o).Model)) {
		t.Error("dynamic masks train the model that the records' masks train")
	}
	stopInPlaces(t, o)
}

// stopInPlaces is stopAfterEach for the steps after which something changes: the masks or
// their rates (4 and 6), the epoch, at whose end a run resumes (6) or which has begun (8).
// A full run has all steps.
func stopInPlaces(t *testing.T, whole Options) {
	t.Helper()
	if torture.Full() {
		stopAfterEach(t, whole, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
		return
	}
	stopAfterEach(t, whole, 4, 6, 8)
}

// stopAfterEach stops a run after each of some steps, resumes it, and compares the result
// with that of an undisturbed run.
func stopAfterEach(t *testing.T, whole Options, steps ...int64) {
	t.Helper()
	want := mustTrain(t, whole)
	if want.Steps != 12 || want.Examples != 120 || want.Eval == nil {
		t.Fatalf("undisturbed run ended as %+v", want)
	}
	for _, stop := range steps {
		o := whole
		o.Out, o.Device.Threads, o.Readers = filepath.Join(fastDir(t), "out"), 1, int(stop%3)
		stopAt(t, o, stop)
		got := mustTrain(t, o)
		sameEnd(t, stop, ended{whole.Out, want.Model}, ended{o.Out, got.Model})
	}
}

// An ended is where a run that ended wrote, and its last checkpoint.
type ended struct{ out, model string }

// sameEnd checks that a resumed run has the checkpoint and the metrics of an
// undisturbed run.
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
	o.Out = filepath.Join(fastDir(t), "out")
	mustTrain(t, o)
	for _, dir := range []string{"step-00000012", "step-00000010"} {
		if err := os.RemoveAll(filepath.Join(o.Out, dir)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(o.Out, MetricsFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(b, `{"step":13,"lo`...), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	o.Log = &log
	got, err := Train(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files(t, want.Model), files(t, got.Model)); diff != "" {
		t.Errorf("another checkpoint (-undisturbed +resumed):\n%.2000s", diff)
	}
	if diff := cmp.Diff(steady(t, whole.Out), steady(t, o.Out)); diff != "" {
		t.Errorf("other metrics (-undisturbed +resumed):\n%s", diff)
	}
	checkpoint := filepath.Join(o.Out, "step-00000005")
	wantLine(t, &log, "resumed from "+checkpoint+": step 5 of 12, 50 examples seen; 7 steps and 2 evaluations after it were removed from metrics.jsonl and are made again")
	if _, err := Train(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	wantLine(t, &log, "nothing left to train: "+got.Model+" is the last of 12 steps")
	o.Out = filepath.Join(fastDir(t), "out")
	stopAt(t, o, 7)
	if _, err := Train(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	wantLine(t, &log, "resumed from "+filepath.Join(o.Out, "step-00000007")+": step 7 of 12, 70 examples seen; nothing was removed from metrics.jsonl")
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
	e := mustTrain(t, o).Eval
	if e.Mask.MLM() > e.UnigramLoss-2 {
		t.Errorf("held-out loss on [MASK] is %.3f, want it 2 nats below the unigram baseline, %.3f", e.Mask.MLM(), e.UnigramLoss)
	}
	if e.Mask.MLMWeight >= e.All.MLMWeight || e.Mask.MLMWeight < e.All.MLMWeight/2 {
		t.Errorf("%v of %v predictions are of [MASK]", e.Mask.MLMWeight, e.All.MLMWeight)
	}
	c, err := ReadCurve(filepath.Join(o.Out, MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	if first, last := c.ends(); last > first-0.5 {
		t.Errorf("loss fell from %.3f to %.3f only", first, last)
	}
	if html := c.HTML(); bytes.Count(html, []byte("<polyline")) != 4 || !bytes.Contains(html, []byte(c.chart())) {
		t.Errorf("curve without its lines:\n%s", html)
	}
}

func TestASecondPhaseBeginsWithTheFirstOnesWeightsAndMoments(t *testing.T) {
	o := testOptions(t)
	first := mustTrain(t, o)
	o.Init, o.Model, o.Out = o.Out, "", filepath.Join(fastDir(t), "two")
	o.NumTrainSteps, o.NumWarmupSteps, o.LearningRate = 1, 0, 0 // nothing moves but the moments
	var log bytes.Buffer
	o.Log = &log
	second, err := Train(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "phase 2, after "+first.Model) {
		t.Errorf("log does not tell the phase:\n%s", &log)
	}
	was, is := files(t, first.Model), files(t, second.Model)
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
	folder := filepath.Join(fastDir(t), "model")
	if err := Export(o.Out, folder, io.Discard); err != nil {
		t.Fatal(err)
	}
	want, got := files(t, end.Model), files(t, folder)
	for _, name := range []string{"config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json"} {
		if got[name] != want[name] || got[name] == "" {
			t.Errorf("%s differs from the checkpoint's", name)
		}
	}
	var usage interface{ Usage() bool }
	if err := Export(o.Out, folder, io.Discard); !errors.As(err, &usage) {
		t.Errorf("over an existing folder: got %v, want a usage error", err)
	}
	o.Init, o.Out, o.NumTrainSteps, o.NumWarmupSteps, o.LearningRate = folder, filepath.Join(fastDir(t), "again"), 1, 0, 0
	if again := files(t, mustTrain(t, o).Model); again["model.safetensors"] != want["model.safetensors"] {
		t.Error("--init of an exported folder changed the weights")
	}
}

func TestALostModelTakesNoCheckpointsPlace(t *testing.T) {
	o := testOptions(t)
	o.LearningRate, o.SaveCheckpointsSteps, o.Keep, o.Schedule = 1e30, 1, 1, "constant"
	_, err := Train(context.Background(), o)
	if err == nil || !strings.Contains(err.Error(), "lower the learning rate") {
		t.Fatalf("got %v, want a hint at the learning rate", err)
	}
	good, err := checkpoint.Newest(o.Out)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range steady(t, o.Out) {
		if loss, ok := line["loss"]; ok && loss == nil && line["step"].(float64) <= float64(good.State.Progress.Step) {
			t.Errorf("the newest checkpoint is %s, and the loss of step %v was not finite", good.Dir, line["step"])
		}
	}
}

func TestEveryProcessLeavesAnEventFile(t *testing.T) {
	o := testOptions(t)
	mustTrain(t, o)
	paths, err := filepath.Glob(filepath.Join(o.Out, "events.out.tfevents.*"))
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
	if again, _ := filepath.Glob(filepath.Join(o.Out, "events.out.tfevents.*")); len(again) != 1 {
		t.Errorf("event files after a run that was done: %v", again)
	}
}

func TestATensorFlowCheckpointIsExportedWithItsVocabulary(t *testing.T) {
	prefix := strings.TrimSuffix(realdata.Path(t, "models/bert-toy-tf/bert_model.ckpt.index"), ".index")
	folder := filepath.Join(fastDir(t), "model")
	if err := Export(prefix, folder, io.Discard); err != nil {
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

// A TensorFlow checkpoint with the optimizer's moments is the first phase of a
// run.
func TestAnImportedTrainingCheckpointGoesOnWithItsMoments(t *testing.T) {
	prefix := strings.TrimSuffix(realdata.Path(t, "models/bert-toy-tf/bert_model.ckpt.index"), ".index")
	out := filepath.Join(fastDir(t), "imported")
	dir, err := Import(prefix, "", out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want, err := checkpoint.OpenTensorFlow(prefix)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	m, err := OpenModel(out)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.Phase == nil || m.Phase.Dir != dir {
		t.Fatalf("got %+v, want the checkpoint %s", m.Phase, dir)
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
	if step, _ := want.Step(); m.Phase.State.Progress.Step != step || m.Phase.State.Phase != 1 {
		t.Errorf("got %+v, want step %d of phase 1", m.Phase.State, step)
	}
}

func TestEvalSeesWhatTheRunSaw(t *testing.T) {
	o := testOptions(t)
	want := mustTrain(t, o)
	got, step, err := EvaluateModel(context.Background(), EvalOptions{Model: o.Out, Data: o.Data, Device: Device{Threads: 1}})
	if err != nil {
		t.Fatal(err)
	}
	// Batches are cut otherwise, so sums differ in their last bits.
	if math.Abs(got.All.Loss()-want.Eval.All.Loss()) > 1e-6 || got.String() != want.Eval.String() || step != o.NumTrainSteps {
		t.Errorf("step %d: %v\nwant step %d: %v", step, got, o.NumTrainSteps, want.Eval)
	}
}
