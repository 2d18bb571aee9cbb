//go:build cgo && linux

package driver_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/trainer"
	"pretext/trainer/cuda"
	"pretext/trainer/cuda/driver/drivertest"
)

// The fake GPU has memory and copies, and runs no kernel: what the backend only
// stores comes back through the CUDA driver's functions as it went there.
func TestWeightsGoToTheDeviceAndBack(t *testing.T) {
	for _, p := range []trainer.Precision{trainer.Float32, trainer.BFloat16, trainer.Float16} {
		t.Run(string(p), func(t *testing.T) {
			f := drivertest.New(t)
			d := open(t)
			c, err := trainer.Preset("tiny", 67)
			check(t, err)
			heads := trainer.PretrainHeads()
			o := trainer.Options{Tokens: 128, Sequences: 8, Masked: 20, Precision: p, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW)}
			m := must(t, func() (trainer.Model, error) { return cuda.New(d).Open(c, heads, o) })
			for i, kind := range []trainer.Kind{trainer.Weights, trainer.FirstMoment, trainer.SecondMoment} {
				report := must(t, func() (trainer.LoadReport, error) { return m.Load(kind, trainer.InitialWeights(c, heads, uint64(i))) })
				check(t, report.Complete())
			}
			for i, kind := range []trainer.Kind{trainer.Weights, trainer.FirstMoment, trainer.SecondMoment} {
				want, got := tensors(t, trainer.InitialWeights(c, heads, uint64(i))), tensors(t, m.Tensors(kind))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%v: %.500s", kind, diff)
				}
			}
			check(t, m.Close(), d.Close())
			for _, call := range f.Calls() {
				if strings.HasPrefix(call, "LEAK") {
					t.Error(call)
				}
			}
		})
	}
}

// A whole step passes through the driver's functions, and the algorithms that were
// chosen in it are used again by a model that resumes.
func TestAlgorithmsOfACheckpointAreUsedAgain(t *testing.T) {
	c, err := trainer.Preset("tiny", 67)
	check(t, err)
	heads := trainer.PretrainHeads()
	batch := &trainer.Batch{}
	for i := range 3 {
		batch.Append(trainer.Sequence{IDs: make([]int32, 20), Segments: make([]int32, 20), MaskedPositions: []int32{3, 7}, MaskedIDs: []int32{5, 6}, MaskedWeights: []float32{1, 1}, Position: int64(i)})
	}
	o := trainer.Options{Tokens: 128, Sequences: 8, Masked: 20, Precision: trainer.BFloat16, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW)}
	train := func(f *drivertest.Fake, from trainer.State) (state trainer.State, chosen, checked, launched int) {
		d := open(t)
		m := must(t, func() (trainer.Model, error) { return cuda.New(d).Open(c, heads, o) })
		must(t, func() (trainer.LoadReport, error) {
			return m.Load(trainer.Weights, trainer.InitialWeights(c, heads, 1))
		})
		if len(from.Plans) > 0 {
			m.SetState(from)
		}
		check(t, m.Accumulate(batch, trainer.Counts{MaskedWeight: 6, NSP: 3}.Coef(), true))
		must(t, func() (trainer.StepInfo, error) {
			return m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-4, Steps: 1})
		})
		state = m.State()
		check(t, m.Close(), d.Close())
		for _, call := range f.Calls() {
			switch name, _, _ := strings.Cut(call, " "); name {
			case "cublasLtMatmulAlgoGetHeuristic":
				chosen++
			case "cublasLtMatmulAlgoCheck":
				checked++
			case "cuLaunchKernel":
				launched++
			case "LEAK":
				t.Error(call)
			}
		}
		return state, chosen, checked, launched
	}
	state, chosen, checked, launched := train(drivertest.New(t), trainer.State{})
	if len(state.Plans) == 0 || chosen == 0 || checked != 0 || launched < 50 {
		t.Fatalf("%d plans, %d chosen, %d checked, %d launches", len(state.Plans), chosen, checked, launched)
	}
	again, chosen, checked, _ := train(drivertest.New(t), state)
	if diff := cmp.Diff(state.Plans, again.Plans); diff != "" {
		t.Error(diff)
	}
	if chosen != 0 || checked == 0 {
		t.Errorf("resumed: %d chosen, %d checked", chosen, checked)
	}
}

// tensors returns names, shapes and values as text.
func tensors(t *testing.T, all func(func(trainer.Tensor, error) bool)) []string {
	t.Helper()
	var list []string
	for x, err := range all {
		check(t, err)
		list = append(list, fmt.Sprint(x.Name, x.Shape, x.Data[:min(4, len(x.Data))], x.Data[len(x.Data)-1], sum(x.Data)))
	}
	slices.Sort(list)
	return list
}

func sum(x []float32) (s float64) {
	for i, v := range x {
		s += float64(v) * float64(i%1009+1)
	}
	return s
}
