package session

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/trainer"
)

// A run that is extended, or whose decay starts at a checkpoint of another run,
// ends with the bytes of a run that had all its steps from the beginning.
func TestAnExtendedRunEndsAsOneOfThatLength(t *testing.T) {
	for name, test := range map[string]struct{ first, last func(*Options) }{
		"constant, longer":         {func(o *Options) { o.NumTrainSteps = 7 }, func(*Options) {}},
		"wsd before its decay":     {func(o *Options) { o.Schedule, o.NumTrainSteps, o.DecaySteps = "wsd", 7, 0 }, func(o *Options) { o.Schedule, o.DecaySteps = "wsd", 5 }},
		"constant, then its decay": {func(o *Options) { o.NumTrainSteps = 9 }, func(o *Options) { o.Schedule, o.DecaySteps, o.DecayShape = "wsd", 3, "1-sqrt" }},
	} {
		t.Run(name, func(t *testing.T) {
			whole := testOptions(t)
			whole.Schedule, whole.EvalExamples = string(trainer.Constant), 4
			test.last(&whole)
			want := mustTrain(t, whole)

			o := whole
			o.Out, o.Schedule, o.DecaySteps, o.DecayShape = filepath.Join(fastDir(t), "out"), string(trainer.Constant), -1, DefaultOptions().DecayShape
			test.first(&o)
			mustTrain(t, o)
			first := o.Out
			o = whole
			o.Out = first
			got := mustTrain(t, o)
			if diff := cmp.Diff(files(t, want.Model), files(t, got.Model)); diff != "" {
				t.Errorf("another checkpoint (-whole +extended):\n%.2000s", diff)
			}
		})
	}
}

func TestADecayStartsFromACheckpointOfAnotherRun(t *testing.T) {
	stable := testOptions(t)
	stable.Schedule, stable.DecaySteps = string(trainer.WSD), 0
	mustTrain(t, stable)
	whole := stable
	whole.Out, whole.NumTrainSteps, whole.DecaySteps = filepath.Join(fastDir(t), "whole"), 8, 3
	want := mustTrain(t, whole)
	branch := whole
	branch.Out, branch.ResumeFrom = filepath.Join(fastDir(t), "branch"), filepath.Join(stable.Out, "step-00000005")
	stopAt(t, branch, 6) // then it resumes from its own checkpoint
	got := mustTrain(t, branch)
	if diff := cmp.Diff(files(t, want.Model), files(t, got.Model)); diff != "" {
		t.Errorf("another checkpoint (-whole +branch):\n%.2000s", diff)
	}
	if n := len(steady(t, branch.Out)); n != 1+3+1 {
		t.Errorf("%d lines of metrics, want an evaluation of the checkpoint, three steps and an evaluation", n)
	}
	branch.Out, branch.ResumeFrom = filepath.Join(fastDir(t), "late"), got.Model
	branch.NumTrainSteps = 20
	if _, err := Train(context.Background(), branch); !isUsage(err) || !strings.Contains(err.Error(), "is in its decay") {
		t.Errorf("from inside a decay: got %v, want a usage error", err)
	}
}

// The warm-up of a run is a tenth of the steps it had at its start.
func TestAnExtensionKeepsTheWarmUp(t *testing.T) {
	o := testOptions(t)
	o.Schedule, o.NumWarmupSteps, o.NumTrainSteps, o.SaveCheckpointsSteps = string(trainer.Constant), -1, 10, 0
	mustTrain(t, o)
	o.NumTrainSteps = 40
	end := mustTrain(t, o)
	if end.Steps != 40 || !strings.Contains(files(t, end.Model)["trainer.json"], `"num_warmup_steps": 1,`) {
		t.Errorf("%+v: %s", end, files(t, end.Model)["trainer.json"])
	}
}

// Every constant of the optimizer is part of a run.
func TestARunWithAnotherOptimizerIsNotResumed(t *testing.T) {
	o := testOptions(t)
	o.NumTrainSteps, o.SaveCheckpointsSteps, o.NumWarmupSteps = 2, 0, 0
	want := files(t, mustTrain(t, o).Model)["model.safetensors"]
	yes := true
	for name, change := range map[string]func(*Options){
		"adam-beta1":      func(o *Options) { o.AdamBeta1 = 0.8 },
		"adam-beta2":      func(o *Options) { o.AdamBeta2 = 0.98 },
		"adam-epsilon":    func(o *Options) { o.AdamEpsilon = 1e-3 },
		"max-grad-norm":   func(o *Options) { o.MaxGradNorm = 1e-3 },
		"bias-correction": func(o *Options) { o.BiasCorrection = &yes },
		"weight-decay":    func(o *Options) { o.WeightDecay = 0.5 },
	} {
		other := o
		change(&other)
		if _, err := Train(context.Background(), other); !isUsage(err) || !strings.Contains(err.Error(), "optimizer: the checkpoint has") {
			t.Errorf("%s: got %v, want a usage error", name, err)
		}
		other.Out = filepath.Join(fastDir(t), "out")
		if got := files(t, mustTrain(t, other).Model)["model.safetensors"]; got == want {
			t.Errorf("%s has no effect", name)
		}
	}
}
