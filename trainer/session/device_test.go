package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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

	"pretext/trainer"
	"pretext/trainer/checkpoint"
	"pretext/trainer/comm"
	"pretext/trainer/cpu"
	"pretext/trainer/cuda"
	"pretext/trainer/cuda/sim"
)

// another is a backend of another kind: the CPU's with a loss scale, and
// micro-batches of 48 tokens where they are left open.
type another struct {
	cpu.Backend
	opened []trainer.Options // with which models were opened
}

const anotherScale = 1 << 16

func (b *another) Open(c trainer.Config, h trainer.Heads, o trainer.Options) (trainer.Model, error) {
	b.opened = append(b.opened, o)
	o.Precision = trainer.Float32
	m, err := b.Backend.Open(c, h, o)
	return &scaled{Model: m, scale: anotherScale}, err
}

func (*another) AutoTokens(trainer.Config, trainer.Heads, trainer.Options) (int, error) {
	return 48, nil
}

type scaled struct {
	trainer.Model
	scale float64
}

func (m *scaled) State() trainer.State {
	s := m.Model.State()
	s.LossScale = m.scale
	return s
}

func (m *scaled) SetState(s trainer.State) {
	m.Model.SetState(s)
	m.scale = s.LossScale
}

func (m *scaled) Snapshot() (trainer.Snapshot, error) {
	s, err := m.Model.Snapshot()
	return scaledSnapshot{s, m.State()}, err
}

type scaledSnapshot struct {
	trainer.Snapshot
	state trainer.State
}

func (s scaledSnapshot) State() trainer.State { return s.state }

// trainOnAnother trains on another backend.
func trainOnAnother(o Options, p trainer.Precision) (*another, error) {
	b := &another{}
	_, err := (&run{o: o, group: comm.Alone(), device: &Opened{Kind: "another", Precision: p, backend: b, close: func() error { return nil }}}).train(context.Background())
	return b, err
}

// stopAfter trains until a step.
func stopAfter(t *testing.T, o Options, step int64) {
	t.Helper()
	o.NumTrainSteps, o.SaveCheckpointsSteps = 12, 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(p Progress) {
		if p.Step == step {
			cancel()
		}
	}
	if _, err := Train(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestARunResumesOnAnotherDeviceAndWarnsOfAnotherPrecision(t *testing.T) {
	for p, warned := range map[trainer.Precision]bool{trainer.Float32: false, trainer.Float16: true} {
		o := testOptions(t)
		o.MicroBatchTokens = 0
		stopAfter(t, o, 7)
		first, err := checkpoint.Newest(o.Out)
		if err != nil {
			t.Fatal(err)
		}
		if s := first.State; s.Device != "cpu" || s.Precision != trainer.Float32 || s.Multiple != 1 {
			t.Errorf("recorded device %q, precision %q, multiple %d", s.Device, s.Precision, s.Multiple)
		}
		var log bytes.Buffer
		o.Log = &log
		b, err := trainOnAnother(o, p)
		if err != nil {
			t.Fatal(err)
		}
		line := "warning: the checkpoint was trained in fp32, this run resumes in fp16: results will differ from those of a run in one precision\n"
		if strings.Contains(log.String(), line) != warned || strings.Contains(log.String(), "warning") != warned {
			t.Errorf("%s: log\n%s", p, &log)
		}
		last, err := checkpoint.Newest(o.Out)
		if err != nil {
			t.Fatal(err)
		}
		scale := map[bool]float64{true: anotherScale, false: 1}[warned] // that of fp32 is kept in fp32
		if s := last.State; s.Progress.Step != 12 || s.Device != "another" || s.Precision != p || s.Model.LossScale != scale || s.Tokens != first.State.Tokens {
			t.Errorf("%s: recorded %+v", p, s)
		}
		if got := b.opened[0]; got.Precision != p || got.Tokens != first.State.Tokens || !got.Train {
			t.Errorf("opened with %+v", got)
		}
	}
}

func TestTheDeviceChoosesTheTokensOfAMicroBatch(t *testing.T) {
	o := testOptions(t)
	o.MicroBatchTokens = 0
	b, err := trainOnAnother(o, trainer.BFloat16)
	if err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Newest(o.Out)
	if err != nil {
		t.Fatal(err)
	}
	if c.State.Tokens != 48 || b.opened[0].Tokens != 48 || c.State.Precision != trainer.BFloat16 {
		t.Errorf("%d tokens, opened for %d, in %s", c.State.Tokens, b.opened[0].Tokens, c.State.Precision)
	}
}

// A checkpoint of a version that cut greedily and recorded neither device nor
// precision is resumed, with a line that says what differs.
func TestACheckpointOfAnEarlierVersionResumes(t *testing.T) {
	o := testOptions(t)
	stopAfter(t, o, 7)
	dir := filepath.Join(o.Out, "step-00000007")
	editJSON(t, filepath.Join(dir, "trainer.json"), func(state map[string]any) {
		for _, name := range []string{"micro_batch_multiple", "device", "precision"} {
			if _, ok := state[name]; !ok {
				t.Errorf("trainer.json has no %s", name)
			}
			delete(state, name)
		}
	})
	state, err := os.ReadFile(filepath.Join(dir, "trainer.json"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(state)
	editJSON(t, filepath.Join(dir, "manifest.json"), func(m map[string]any) {
		for _, f := range m["files"].([]any) {
			if file := f.(map[string]any); file["name"] == "trainer.json" {
				file["bytes"], file["sha256"] = len(state), hex.EncodeToString(sum[:])
			}
		}
	})
	var log bytes.Buffer
	o.Log = &log
	if _, err := Train(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "an earlier version wrote this checkpoint"); n != 1 || strings.Contains(log.String(), "warning") {
		t.Errorf("%d lines about the version in\n%s", n, &log)
	}
	c, err := checkpoint.Newest(o.Out)
	if err != nil || c.State.Multiple != 1 || c.State.Progress.Step != 12 {
		t.Errorf("got %+v, %v", c, err)
	}
}

func editJSON(t *testing.T, path string, edit func(map[string]any)) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]any{}
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	edit(m)
	if b, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLimitsOfBatchesComeFromTheData(t *testing.T) {
	for _, c := range []struct {
		tokens, sequences, predictions int
		want                           trainer.Options
	}{
		{65536, 256, 20, trainer.Options{Tokens: 65536, Sequences: 256, Masked: 5120}},
		{65536, 256, 0, trainer.Options{Tokens: 65536, Sequences: 256, Masked: 65536}},
		{90, 256, 20, trainer.Options{Tokens: 90, Sequences: 31, Masked: 90}},
	} {
		if got := BatchLimits(c.tokens, c.sequences, c.predictions); !cmp.Equal(got, c.want) {
			t.Errorf("%+v: got %+v", c, got)
		}
	}
	o := testOptions(t)
	o.MicroBatchTokens = 2000
	b, err := trainOnAnother(o, trainer.Float32)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.opened[0]; got.Sequences != 256 || got.Masked >= 2000 {
		t.Errorf("opened for %d sequences and %d masked tokens", got.Sequences, got.Masked)
	}
}

func TestWrongDevicesAreErrorsOfUsage(t *testing.T) {
	for _, d := range []Device{
		{Name: "tpu"}, {Name: "cpu:0"}, {Name: "cuda:"}, {Name: "cuda:x"}, {Name: "cuda:-1"}, {Name: "cuda:70000"}, {Name: "CUDA"},
		{Precision: "int8"}, {Precision: trainer.Float64}, {Precision: trainer.BFloat16}, {Name: "cpu", Precision: trainer.Float16}, {Threads: -1},
		{Name: "cuda:9999"}, // no machine has as many
	} {
		_, err := d.Open()
		var usage interface{ Usage() bool }
		if !errors.As(err, &usage) || !usage.Usage() {
			t.Errorf("%+v: got %v", d, err)
		}
		if unavailable := d.Name == "cuda:9999"; errors.Is(err, trainer.ErrUnavailable) != unavailable {
			t.Errorf("%+v: unavailable is %v", d, !unavailable)
		}
	}
	for name, want := range map[string]trainer.Precision{"": trainer.Float32, "cpu": trainer.Float32, "cuda": trainer.BFloat16, "cuda:1": trainer.BFloat16} {
		if err := (Device{Name: name}).Validate(); err != nil || (Device{Name: name}).precision() != want {
			t.Errorf("%q: %v, precision %q", name, err, Device{Name: name}.precision())
		}
	}
}

// The files of a checkpoint do not depend on when they are written: beside
// later steps or before them.
func TestACheckpointSavedBesideStepsHasTheBytesOfOneSavedAlone(t *testing.T) {
	o := testOptions(t)
	o.SaveCheckpointsSteps, o.Log = 1, io.Discard
	mustTrain(t, o)
	for _, step := range []int64{1, 6, 11} {
		alone := o
		alone.Out = filepath.Join(fastDir(t), "out")
		stopAfter(t, alone, step) // saves after its last step
		c, err := checkpoint.Newest(alone.Out)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(files(t, c.Dir), files(t, filepath.Join(o.Out, filepath.Base(c.Dir)))); diff != "" {
			t.Errorf("step %d (-alone +beside):\n%.1000s", step, diff)
		}
	}
	if all, err := filepath.Glob(filepath.Join(o.Out, "step-*")); err != nil || len(all) != 12 || !slices.IsSorted(all) {
		t.Errorf("%d checkpoints, %v", len(all), err)
	}
}

// A run begins on a GPU (simulated), which sums in another order than the CPU,
// and ends on the CPU as one that never left it, but for rounding.
func TestARunBegunOnAGPUEndsOnTheCPU(t *testing.T) {
	o := testOptions(t)
	o.NumTrainSteps, o.SaveCheckpointsSteps, o.EvalExamples, o.LearningRate = 4, 2, 4, 1e-3
	if err := os.WriteFile(o.Model, []byte(`{"vocab_size": 40, "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 64,
"hidden_act": "gelu_new", "max_position_embeddings": 32, "initializer_range": 0.1, "model_type": "bert"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := o
	whole.Out = filepath.Join(fastDir(t), "cpu")
	want := mustTrain(t, whole)

	gpu := sim.NewGPU(sim.Options{Seed: 1, Memory: 1 << 30})
	device := &Opened{Kind: "cuda", Precision: trainer.Float32, deterministic: true, backend: cuda.New(gpu), close: gpu.Close}
	ctx, cancel := context.WithCancel(t.Context())
	begun := o
	begun.Progress = func(p Progress) {
		if p.Step == 2 {
			cancel()
		}
	}
	if _, err := (&run{o: begun, device: device, group: comm.Alone()}).train(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := device.Close(); err != nil {
		t.Fatal(err)
	}
	got := mustTrain(t, o)
	if d := math.Abs(got.Eval.All.Loss() - want.Eval.All.Loss()); !(d < 1e-4) {
		t.Errorf("loss %v, on the CPU alone %v", got.Eval.All.Loss(), want.Eval.All.Loss())
	}
	c, err := checkpoint.Newest(begun.Out)
	if err != nil || c.State.Device != "cpu" || c.State.Progress.Step != 4 {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestAMicroBatchHoldsTheLongestExample(t *testing.T) {
	o := &Opened{backend: &another{}}
	c := trainer.Config{MaxPositions: 512}
	for longest, want := range map[int]int{0: 512, 7: 48, 100: 100} {
		if got, err := o.AutoTokens(c, trainer.Heads{}, longest); err != nil || got != want {
			t.Errorf("longest %d: got %d, %v, want %d", longest, got, err, want)
		}
	}
}
