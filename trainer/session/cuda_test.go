package session

import (
	"context"
	"errors"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// gpuOptions are those of a run of four steps of a model that GPUs support.
func gpuOptions(t *testing.T) Options {
	t.Helper()
	o := testOptions(t)
	o.TrainBatchSize, o.NumTrainSteps, o.NumWarmupSteps, o.SaveCheckpointsSteps = 4, 4, 1, 0
	const model = `{"vocab_size": 40, "hidden_size": 128, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64,
"hidden_act": "gelu_new", "max_position_embeddings": 32, "initializer_range": 0.1, "model_type": "bert"}`
	if err := os.WriteFile(o.Model, []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

// trainOn trains on an open device; after step stop, if not 0, it is told to end.
func trainOn(t *testing.T, o Options, d *Opened, stop int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(p Progress) {
		if p.Step == stop {
			cancel()
		}
	}
	_, err := (&run{o: o, device: d, group: comm.Alone()}).train(ctx)
	if stop == 0 && err != nil || stop != 0 && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// A run on a GPU has the losses of the CPU, and its checkpoint is evaluated
// there as here.
func TestARunOnASimulatedGPUIsThatOfTheCPU(t *testing.T) {
	t.Parallel()
	o := gpuOptions(t)
	onCPU := o
	onCPU.Out = filepath.Join(t.TempDir(), "cpu")
	mustTrain(t, onCPU)
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
}

// A run in fp16 that is stopped and resumed on another device, which works in
// another order, ends with the same files.
func TestADeterministicRunOnASimulatedGPUResumes(t *testing.T) {
	t.Parallel()
	whole := gpuOptions(t)
	trainOn(t, whole, simulated(t, trainer.Float16, 1), 0)
	stopped := whole
	stopped.Out = filepath.Join(t.TempDir(), "stopped")
	trainOn(t, stopped, simulated(t, trainer.Float16, 2), 2)
	trainOn(t, stopped, simulated(t, trainer.Float16, 3), 0)
	last := func(o Options) map[string]string {
		all := files(t, filepath.Join(o.Out, "step-00000004"))
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
	t.Parallel()
	alone := gpuOptions(t)
	alone.Optimizer, alone.MicroBatchTokens, alone.SaveCheckpointsSteps = string(trainer.LAMB), 64, 2
	two := alone
	two.Out, two.Zero1 = filepath.Join(t.TempDir(), "two"), true
	trainOn(t, alone, simulated(t, trainer.Float32, 1), 0)
	trainOnTwo(t, two)
	near(t, "two GPUs", filepath.Join(two.Out, "step-00000004"), filepath.Join(alone.Out, "step-00000004"))

	// The first half of one run, the second of the other.
	for _, o := range []Options{alone, two} {
		if err := os.RemoveAll(filepath.Join(o.Out, "step-00000004")); err != nil {
			t.Fatal(err)
		}
	}
	resumed := two
	resumed.Zero1 = false
	trainOn(t, resumed, simulated(t, trainer.Float32, 2), 0)
	alone.Zero1 = true
	trainOnTwo(t, alone)
	near(t, "resumed", filepath.Join(two.Out, "step-00000004"), filepath.Join(alone.Out, "step-00000004"))
}

// trainOnTwo trains on two ranks, each with a simulated GPU.
func trainOnTwo(t *testing.T, o Options) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	network := sim.NewNetwork()
	var all sync.WaitGroup
	for r := range 2 {
		all.Go(func() {
			o := o
			o.Ranks = comm.Options{Rank: r, Ranks: 2, LocalRank: r, LocalRanks: 2, Host: "127.0.0.1", Port: port, Local: true}
			group, err := comm.Join(t.Context(), o.Ranks)
			if err != nil {
				t.Error(err)
				return
			}
			gpu := sim.NewGPU(sim.Options{Seed: uint64(10 + r), Network: network})
			backend := cuda.New(gpu)
			backend.Transport = cuda.TransportNCCL // an error without it
			d := &Opened{Kind: deviceCUDA, Precision: trainer.Float32, deterministic: true, backend: backend, close: func() error { return nil }}
			_, err = (&run{o: o, device: d, group: group}).train(t.Context())
			group.Abort(err)
			if err := errors.Join(err, group.Close(), gpu.Close()); err != nil {
				t.Errorf("rank %d: %v", r, err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}
