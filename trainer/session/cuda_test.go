package session

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/records"
	"pretext/trainer"
	"pretext/trainer/comm"
	"pretext/trainer/cuda"
	"pretext/trainer/cuda/sim"
	"pretext/trainer/internal/ranktest"
)

// simulated opens a simulated GPU; seed is of the order in which it works.
func simulated(t *testing.T, p trainer.Precision, seed uint64) *Opened {
	t.Helper()
	gpu := sim.NewGPU(sim.Options{Seed: seed})
	t.Cleanup(func() {
		if err := gpu.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Opened{Kind: deviceCUDA, Precision: p, deterministic: true, backend: cuda.New(gpu), close: func() error { return nil }}
}

// gpuOptions are those of a run of two steps, with a checkpoint after each, of the smallest
// model that GPUs support: a simulated one does some thousand operations a millisecond.
func gpuOptions(t *testing.T) Options {
	t.Helper()
	o := testOptions(t)
	o.TrainBatchSize, o.NumTrainSteps, o.NumWarmupSteps, o.SaveCheckpointsSteps, o.EvalExamples = 4, 2, 0, 1, 2
	const model = `{"vocab_size": 40, "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 64,
"hidden_act": "gelu_new", "max_position_embeddings": 32, "initializer_range": 0.1, "model_type": "bert"}`
	if err := os.WriteFile(o.Model, []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

// gpuModern are gpuOptions of ModernBERT and its recipe, on packed rows: a global and a local
// layer, whose window ends within a sequence.
func gpuModern(t *testing.T) Options {
	t.Helper()
	bert := gpuOptions(t)
	o := modernOptions(t)
	o.TrainBatchSize, o.NumTrainSteps, o.NumWarmupSteps, o.SaveCheckpointsSteps, o.EvalExamples = 4, 2, 0, 1, 2
	o.DecaySteps, o.MicroBatchTokens = 1, bert.MicroBatchTokens
	model := strings.NewReplacer(`"hidden_size": 16`, `"hidden_size": 64`, `"num_attention_heads": 2`, `"num_attention_heads": 1`).Replace(testModern)
	if err := os.WriteFile(o.Model, []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

// eachRun runs f with the options of each architecture: BERT on pairs of segments, and on
// packed rows, whose documents are sequences of their own, and ModernBERT on packed rows.
func eachRun(t *testing.T, f func(t *testing.T, o Options)) {
	for name, options := range map[string]func(t *testing.T) Options{
		"BERT":               gpuOptions,
		"BERT, packed":       func(t *testing.T) Options { return formed(t, gpuOptions(t), records.Packed) },
		"ModernBERT, packed": gpuModern,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, options(t))
		})
	}
}

// trainOn trains on an open device; after step stop, if not 0, it is told to end.
func trainOn(t *testing.T, o Options, d *Opened, stop int64) *Result {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(p Progress) {
		if p.Step == stop {
			cancel()
		}
	}
	end, err := (&run{o: o, device: d, group: comm.Alone()}).train(ctx)
	if stop == 0 && err != nil || stop != 0 && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return end
}

// A run on a GPU has the losses of the CPU, and its checkpoint is evaluated
// there as here.
func TestARunOnASimulatedGPUIsThatOfTheCPU(t *testing.T) {
	eachRun(t, func(t *testing.T, o Options) {
		onCPU := o
		onCPU.Out = filepath.Join(fastDir(t), "cpu")
		trainOn(t, onCPU, inFloat64(), 0)
		trainOn(t, o, simulated(t, trainer.Float32, 1), 0)
		got, want := steady(t, o.Out), steady(t, onCPU.Out)
		if len(got) != len(want) {
			t.Fatalf("%d lines of metrics, want %d", len(got), len(want))
		}
		for i, line := range want {
			for name, v := range line {
				w, isNumber := v.(float64)
				if g, ok := got[i][name].(float64); isNumber && (!ok || !(math.Abs(g-w) <= 1e-4*math.Abs(w))) {
					t.Errorf("line %d: %s is %v, want %v", i, name, got[i][name], w)
				}
			}
		}
	})
}

// A run in fp16 that is stopped and resumed on another device, which works in
// another order, ends with the same files.
func TestADeterministicRunOnASimulatedGPUResumes(t *testing.T) {
	eachRun(t, func(t *testing.T, whole Options) {
		trainOn(t, whole, simulated(t, trainer.Float16, 1), 0)
		stopped := whole
		stopped.Out = filepath.Join(fastDir(t), "stopped")
		trainOn(t, stopped, simulated(t, trainer.Float16, 2), 1)
		trainOn(t, stopped, simulated(t, trainer.Float16, 3), 0)
		last := func(o Options) map[string]string {
			all := files(t, stepDir(o, 2))
			delete(all, "manifest.json") // has hashes of the others
			return all
		}
		if diff := cmp.Diff(keys(last(whole)), keys(last(stopped))); diff != "" {
			t.Fatalf("files differ:\n%s", diff)
		}
		for name, b := range last(whole) {
			if b != last(stopped)[name] {
				t.Errorf("%s differs", name)
			}
		}
	})
}

// A noting backend keeps what each step has returned.
type noting struct {
	trainer.Backend
	infos []trainer.StepInfo
}

func (b *noting) Open(c trainer.Config, h trainer.Heads, o trainer.Options) (trainer.Model, error) {
	m, err := b.Backend.Open(c, h, o)
	return noted{m, b}, err
}

type noted struct {
	trainer.Model
	by *noting
}

func (m noted) Apply(s trainer.Schedule) (trainer.StepInfo, error) {
	info, err := m.Model.Apply(s)
	m.by.infos = append(m.by.infos, info)
	return info, err
}

// The metrics of a run in fp8, and of no other, count what was too large for the factors:
// in the second step that is some, as the rate is high.
func TestMetricsCountWhatSaturatesInEightBits(t *testing.T) {
	t.Parallel()
	for _, p := range []trainer.Precision{trainer.Float8, trainer.BFloat16} {
		o, d := gpuOptions(t), simulated(t, p, 1)
		b := &noting{Backend: d.backend}
		d.backend = b
		trainOn(t, o, d, 0)
		steps := 0
		for _, line := range steady(t, o.Out) {
			if _, trained := line["grad_norm"]; !trained {
				continue
			}
			var want any
			if p == trainer.Float8 {
				want = b.infos[steps].Saturated
			}
			if got := line["saturated"]; got != want {
				t.Errorf("%s, step %v: %v elements are too large, want %v", p, line["step"], got, want)
			}
			steps++
		}
		if steps != 2 || p == trainer.Float8 && b.infos[1].Saturated == 0 {
			t.Errorf("%s: %d steps, %+v", p, steps, b.infos)
		}
	}
}

func keys(m map[string]string) map[string]bool {
	all := map[string]bool{}
	for k := range m {
		all[k] = true
	}
	return all
}

// One of two ranks has no NCCL: the log says so.
func TestARunOnGPUsWithoutNCCLSaysSo(t *testing.T) {
	d := simulated(t, trainer.BFloat16, 1)
	var log strings.Builder
	d.warnBy(func(message string) { log.WriteString(message + "\n") })
	c, err := trainer.Preset("tiny", 100)
	if err != nil {
		t.Fatal(err)
	}
	ranktest.Run(2, func(comm trainer.Comm) {
		if comm.Rank() == 1 {
			if err := comm.AllReduce([]float64{0}); err != nil { // this rank has NCCL
				t.Error(err)
			}
			return
		}
		m, err := d.Model(c, trainer.PretrainHeads(), trainer.Options{Tokens: 16, Sequences: 2, Masked: 4, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW), Comm: comm})
		if err == nil {
			err = m.Close()
		}
		if err != nil {
			t.Error(err)
		}
	})
	if want := "1 of 2 ranks have no NCCL, so gradients are exchanged through host memory, which is slow; rank 0: device unavailable: the simulated GPU has no network: set sim.Options.Network\n"; log.String() != want {
		t.Errorf("the log says %q, want %q", log.String(), want)
	}
}

// Two ranks on simulated GPUs that exchange gradients as NCCL does and divide the
// optimizer's state write the checkpoint of one; it resumes on one GPU, and that of
// one on two.
func TestTwoSimulatedGPUsTrainTheModelOfOne(t *testing.T) {
	for name, options := range map[string]func(t *testing.T) Options{
		"BERT": func(t *testing.T) Options {
			o := gpuOptions(t)
			o.Optimizer, o.MicroBatchTokens = trainer.LAMB, 64
			return o
		},
		"ModernBERT, packed": func(t *testing.T) Options {
			o := gpuModern(t)
			o.MicroBatchTokens = 64
			return o
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alone := options(t)
			two := alone
			two.Out, two.Zero1 = filepath.Join(fastDir(t), "two"), true
			trainOn(t, alone, simulated(t, trainer.Float32, 1), 0)
			trainOnTwo(t, two)
			near(t, "two GPUs", stepDir(two, 2), stepDir(alone, 2))

			// The first half of one run, the second of the other.
			for _, o := range []Options{alone, two} {
				if err := os.RemoveAll(stepDir(o, 2)); err != nil {
					t.Fatal(err)
				}
			}
			resumed := two
			resumed.Zero1 = false
			trainOn(t, resumed, simulated(t, trainer.Float32, 2), 0)
			alone.Zero1 = true
			trainOnTwo(t, alone)
			near(t, "resumed", stepDir(two, 2), stepDir(alone, 2))
		})
	}
}

// near reports tensors of two checkpoints whose difference, as a fraction of the tensor's
// norm, is above 1e-5, of moments 1e-4: what rounding, 2^-24, of some hundred additions
// may become in two steps. A simulated GPU rounds alike on every machine. The true
// gradient of key biases is 0, so the optimizer moves them by the signs of rounding
// errors: they are not compared.
func near(t *testing.T, name, got, want string) {
	t.Helper()
	a, b := weights(t, got), weights(t, want)
	if len(a) != len(b) || len(a) == 0 {
		t.Fatalf("%s: %d tensors, want %d", name, len(a), len(b))
	}
	for tensor, y := range b {
		x, diff, norm, tolerance := a[tensor], 0.0, 0.0, 1e-5
		switch {
		case strings.HasSuffix(tensor, "key.bias"):
			continue
		case strings.HasPrefix(tensor, "m.") || strings.HasPrefix(tensor, "v."):
			tolerance = 1e-4
		}
		for i := range y {
			diff += math.Pow(float64(x[i]-y[i]), 2)
			norm += math.Pow(float64(y[i]), 2)
		}
		if diff, norm = math.Sqrt(diff), math.Sqrt(norm); diff > tolerance*max(norm, 1e-2) {
			t.Errorf("%s: %s differs by %.3g of its norm", name, tensor, diff/norm)
		}
	}
}

// trainOnTwo trains on two ranks, each with a simulated GPU.
func trainOnTwo(t *testing.T, o Options) {
	t.Helper()
	network := sim.NewNetwork()
	trainRanksOn(t, 2, o, func(r int) *Opened {
		gpu := sim.NewGPU(sim.Options{Seed: uint64(10 + r), Network: network})
		backend := cuda.New(gpu)
		backend.Transport = cuda.TransportNCCL // an error without it
		return &Opened{Kind: deviceCUDA, Precision: trainer.Float32, deterministic: true, backend: backend, close: gpu.Close}
	}, unchanged)
}
