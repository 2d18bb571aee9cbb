package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pretext/internal/dev/torture"
	"pretext/internal/store"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
	"pretext/trainer/comm"
)

// trainRanks trains on n ranks at once, each with the options that change makes, and
// returns the results and errors by rank.
func trainRanks(t *testing.T, n int, o Options, change func(rank int, o *Options)) ([]*Result, []error) {
	t.Helper()
	return trainRanksUntil(t, n, o, func(r int, o *Options) context.Context {
		change(r, o)
		return context.Background()
	})
}

// trainRanksUntil is trainRanks with a context for each rank.
func trainRanksUntil(t *testing.T, n int, o Options, change func(rank int, o *Options) context.Context) ([]*Result, []error) {
	t.Helper()
	port := freePort(t)
	results, errs := make([]*Result, n), make([]error, n)
	var wg sync.WaitGroup
	for r := range n {
		wg.Go(func() {
			o := o
			o.Ranks = comm.Options{Rank: r, Ranks: n, LocalRank: r, LocalRanks: n, Host: "127.0.0.1", Port: port, Wait: time.Minute}
			o.Device.Threads = 1
			ctx := change(r, &o)
			results[r], errs[r] = Train(ctx, o)
		})
	}
	wg.Wait()
	return results, errs
}

func unchanged(int, *Options) {}

func mustTrainRanks(t *testing.T, n int, o Options, change func(rank int, o *Options)) *Result {
	t.Helper()
	results, errs := trainRanks(t, n, o, change)
	for r, err := range errs {
		if err != nil {
			t.Fatalf("rank %d of %d: %v", r, n, err)
		}
	}
	return results[0]
}

// weights returns the tensors of a checkpoint and its optimizer.
func weights(t *testing.T, dir string) map[string][]float32 {
	t.Helper()
	out := map[string][]float32{}
	for _, name := range []string{"model.safetensors", "optimizer.safetensors"} {
		s, err := checkpoint.OpenSafetensors(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for x, err := range s.Tensors() {
			if err != nil {
				t.Fatal(err)
			}
			out[x.Name] = append([]float32{}, x.Data...)
		}
	}
	return out
}

// rankSteps is past the end of an epoch and has a checkpoint at two thirds.
const rankSteps = 12

// rankOptions are those of a run of rankSteps with dropout, in micro-batches of one to five
// examples, so that some ranks have none in some steps.
func rankOptions(t *testing.T, optimizer trainer.OptimizerName) Options {
	t.Helper()
	o := testOptions(t)
	config := strings.Replace(testModel, "{", `{"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, `, 1)
	if err := os.WriteFile(o.Model, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Optimizer, o.NumTrainSteps, o.TrainBatchSize, o.SaveCheckpointsSteps = optimizer, rankSteps, 7, rankSteps*2/3
	return o
}

// A ranksCase is a run by several ranks.
type ranksCase struct {
	optimizer trainer.OptimizerName
	ranks     int
	zero1     bool
}

// ranksCases are two cases, in which each optimizer, ZeRO-1 and a number of ranks by which
// no tensor can be divided occur once, or all.
func ranksCases() (all []ranksCase) {
	if !torture.Full() {
		return []ranksCase{{trainer.AdamW, 3, true}, {trainer.LAMB, 2, false}}
	}
	for _, optimizer := range []trainer.OptimizerName{trainer.AdamW, trainer.LAMB} {
		for _, n := range []int{2, 3, 4} {
			all = append(all, ranksCase{optimizer, n, false}, ranksCase{optimizer, n, true})
		}
	}
	return all
}

func TestRanksTrainTheModelOfOneProcess(t *testing.T) {
	for _, c := range ranksCases() {
		alone := rankOptions(t, c.optimizer)
		trainInFloat64(t, 1, alone, unchanged)
		several := alone
		several.Zero1, several.Out = c.zero1, filepath.Join(fastDir(t), "out")
		trainInFloat64(t, c.ranks, several, unchanged)
		sameRun(t, fmt.Sprintf("%+v", c), rankSteps, several, alone)
	}
}

// sameLines compares lines of metrics of runs in float64: its rounding, 2^-53, would have
// to grow by 2^20 to make a difference.
func sameLines(t *testing.T, name string, got, want []map[string]any) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%s: %d lines of metrics, want %d", name, len(got), len(want))
	}
	for i, line := range want {
		for key, w := range line {
			x, number := w.(float64)
			if y, ok := got[i][key].(float64); number && !(ok && math.Abs(x-y) <= 0x1p-33*max(1, math.Abs(x))) || !number && fmt.Sprint(got[i][key]) != fmt.Sprint(w) {
				t.Errorf("%s: line %d: %s is %v, want %v", name, i, key, got[i][key], w)
			}
		}
	}
}

// A resumedCase is a run by so many ranks that is resumed by so many, each with or
// without ZeRO-1.
type resumedCase struct {
	counts [2]int
	zero1  [2]bool
}

// resumedCases are cases in which divided moments are put together and divided anew, or all.
func resumedCases() []resumedCase {
	cases := []resumedCase{{[2]int{3, 2}, [2]bool{true, true}}, {[2]int{1, 3}, [2]bool{false, true}}, {[2]int{2, 1}, [2]bool{true, false}}}
	if torture.Full() {
		cases = append(cases, resumedCase{[2]int{4, 1}, [2]bool{true, false}}, resumedCase{[2]int{4, 2}, [2]bool{false, true}}, resumedCase{[2]int{1, 4}, [2]bool{false, true}},
			resumedCase{[2]int{2, 4}, [2]bool{true, true}}, resumedCase{[2]int{2, 3}, [2]bool{}}, resumedCase{[2]int{3, 2}, [2]bool{true, false}})
	}
	return cases
}

// A checkpoint of several ranks is that of one process, and resumes on another number of
// them as on one. The ranks but 0 see no checkpoint at all.
func TestACheckpointResumesOnAnotherNumberOfRanks(t *testing.T) {
	o := rankOptions(t, trainer.AdamW)
	trainInFloat64(t, 1, o, unchanged)
	removeAfter(t, o.Out, o.SaveCheckpointsSteps)
	elsewhere := func(r int, o *Options) {
		if r > 0 {
			o.Out, o.Model = filepath.Join(fastDir(t), "out"), "base" // rank 0's counts
		}
	}
	for _, c := range resumedCases() {
		name := fmt.Sprintf("%+v", c)
		several := o
		several.Out = filepath.Join(fastDir(t), "out")
		several.Zero1 = c.zero1[0]
		trainInFloat64(t, c.counts[0], several, elsewhere)
		removeAfter(t, several.Out, o.SaveCheckpointsSteps)
		sameCheckpoint(t, name, o.SaveCheckpointsSteps, several, o)
		// The same float32 values for both: what rounding made of them would grow.
		alone := several
		alone.Out, alone.Zero1 = filepath.Join(fastDir(t), "alone"), false
		if err := os.CopyFS(alone.Out, os.DirFS(several.Out)); err != nil {
			t.Fatal(err)
		}
		trainInFloat64(t, 1, alone, unchanged)
		several.Zero1 = c.zero1[1]
		trainInFloat64(t, c.counts[1], several, elsewhere)
		sameRun(t, name, rankSteps, several, alone)
	}
}

// removeAfter removes the checkpoints of later steps, as if the run had been killed.
func removeAfter(t *testing.T, out string, step int64) {
	t.Helper()
	for s := step + 1; s <= rankSteps; s++ {
		if err := os.RemoveAll(filepath.Join(out, fmt.Sprintf("step-%08d", s))); err != nil {
			t.Fatal(err)
		}
	}
}

// A signal to one rank stops all after the same step, with a checkpoint, also when it
// comes in an evaluation.
func TestASignalToOneRankStopsAll(t *testing.T) {
	o := rankOptions(t, trainer.AdamW)
	o.NumTrainSteps, o.SaveCheckpointsSteps = 1e6, 3
	for told := range 3 {
		several := o
		several.Out = filepath.Join(fastDir(t), "out")
		ctx, cancel := context.WithCancel(context.Background())
		_, errs := trainRanksUntil(t, 3, several, func(r int, o *Options) context.Context {
			if r == 0 {
				o.Progress = func(p Progress) {
					if p.Step == int64(5+told) { // before an evaluation, and in the last step before one
						cancel()
					}
				}
			}
			if r == told {
				return ctx
			}
			return context.Background()
		})
		for r, err := range errs {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("rank %d was told: rank %d: got %v, want that it was stopped", told, r, err)
			}
		}
		c, err := checkpoint.Newest(several.Out)
		if err != nil {
			t.Fatal(err)
		}
		lines := steady(t, several.Out)
		if last := lines[len(lines)-1]; fmt.Sprint(last["step"]) != fmt.Sprint(c.State.Progress.Step) {
			t.Errorf("rank %d was told: the last line of the metrics is %v, the checkpoint is of step %d", told, last, c.State.Progress.Step)
		}
	}
}

// Ranks with other options or data, or corrupt data on one, all end with its error.
func TestOneRankThatCannotTrainEndsAll(t *testing.T) {
	o := rankOptions(t, trainer.AdamW)
	other := testOptions(t).Data // the same shapes
	b, err := os.ReadFile(filepath.Join(other, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "manifest.json"), append(bytes.TrimSpace(b), '\n', '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	corrupt := testOptions(t).Data
	spoil(t, filepath.Join(corrupt, "train-00001-of-00002.tfrecord"))
	for name, test := range map[string]struct {
		change func(o *Options)
		want   string
		code   func(err error) bool
	}{
		"another seed":   {func(o *Options) { o.Seed = 77 }, "--seed is 77, and 1 on rank 0", isUsage},
		"another rate":   {func(o *Options) { o.LearningRate = 0.5 }, "--learning-rate is 0.5, and 0.01 on rank 0", isUsage},
		"another data":   {func(o *Options) { o.Data = other }, "data manifest is", isUsage},
		"no data":        {func(o *Options) { o.Data = filepath.Join(o.Data, "none") }, "none", func(error) bool { return true }},
		"corrupt record": {func(o *Options) { o.Data = corrupt }, "train-00001-of-00002.tfrecord", func(err error) bool { var d interface{ Damaged() bool }; return errors.As(err, &d) }},
	} {
		t.Run(name, func(t *testing.T) {
			several := o
			several.Out = filepath.Join(fastDir(t), "out")
			_, errs := trainRanks(t, 3, several, func(r int, o *Options) {
				if r == 1 {
					test.change(o)
				}
			})
			for r, err := range errs {
				if err == nil || !strings.Contains(err.Error(), test.want) || !test.code(err) || r != 1 && !strings.Contains(err.Error(), "rank 1 (") {
					t.Errorf("rank %d: got %v, want rank 1's error: %s", r, err, test.want)
				}
			}
		})
	}
}

func isUsage(err error) bool {
	var u interface{ Usage() bool }
	return errors.As(err, &u) && u.Usage()
}

// spoil changes a byte of the payload of record 3.
func spoil(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[recordAt(t, b, 3)+40] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// With --on-damage skip, all ranks skip the same examples or end.
func TestRanksSkipTheSameExamples(t *testing.T) {
	o := damagedOptions(t)
	skipped := trainInFloat64(t, 1, o, unchanged).Skipped
	several := o
	several.Out = filepath.Join(fastDir(t), "out")
	if got := trainInFloat64(t, 2, several, unchanged).Skipped; got.Examples != skipped.Examples || got.Examples == 0 {
		t.Errorf("skipped %+v, one process %+v", got, skipped)
	}
	sameRun(t, "damaged data", 12, several, o)

	// Rank 1 has a bad copy of data that is whole elsewhere.
	o = rankOptions(t, trainer.AdamW)
	o.OnDamage = "skip"
	bad := testOptions(t).Data
	spoil(t, filepath.Join(bad, "train-00000-of-00002.tfrecord"))
	_, errs := trainRanks(t, 2, o, func(r int, o *Options) {
		if r == 1 {
			o.Data = bad
		}
	})
	for r, err := range errs {
		if err == nil || !isUsage(err) || !strings.Contains(err.Error(), "rank 1 (") || !strings.Contains(err.Error(), "corrupt examples") {
			t.Errorf("rank %d: got %v, want that rank 1 skips other examples", r, err)
		}
	}
}

// Rank 0 writes a checkpoint for longer than a rank may be silent; nobody ends. Rank 1
// waits meanwhile, in the collectives of the next checkpoint.
func TestASlowCheckpointEndsNobody(t *testing.T) {
	o := rankOptions(t, trainer.AdamW)
	o.NumTrainSteps, o.SaveCheckpointsSteps = 4, 2
	trainInFloat64(t, 1, o, unchanged)
	several := o
	several.Out, several.Zero1 = filepath.Join(fastDir(t), "out"), true
	const silence = 1500 * time.Millisecond
	slept := map[string]bool{}
	restore := store.Intercept(func(step store.Step, path string) error {
		folder := filepath.Base(filepath.Dir(path))
		if strings.HasPrefix(path, several.Out) && strings.Contains(folder, "step-00000002") && !slept[folder] {
			slept[folder] = true
			time.Sleep(silence * 6 / 5)
		}
		return nil
	})
	defer restore()
	begin := time.Now()
	trainInFloat64(t, 2, several, func(_ int, o *Options) { o.Ranks.Silence = silence })
	if len(slept) != 1 || time.Since(begin) < silence {
		t.Fatalf("the disk was not slow: %v", slept)
	}
	sameRun(t, "slow disk", 4, several, o)
}
