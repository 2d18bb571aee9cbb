package trainer

import (
	"errors"
	"fmt"
	"math"
)

// A ScheduleKind names the shape of a learning rate schedule.
type ScheduleKind string

// The schedules.
const (
	// Linear follows optimization.py of google-research/bert. Steps count from
	// 0. The rate rises linearly to its peak during warm-up; then it follows
	// the line from the peak at step 0 to zero at the last step, so it drops a
	// little at the end of the warm-up. With warm-up, the first step has rate
	// 0.
	Linear ScheduleKind = "linear"

	// Polynomial follows NVIDIA's PolyWarmUp (DeepLearningExamples, LAMB).
	// Steps count from 1. The rate rises linearly during warm-up, then is
	// peak·(1−t)^Degree with t = step/steps. The last step has rate 0.
	Polynomial ScheduleKind = "polynomial"

	// Constant rises linearly to the peak during warm-up, with steps counted
	// from 0, and then stays there.
	Constant ScheduleKind = "constant"
)

// Schedule gives the learning rate of every step. It is plain data, so that a
// device can evaluate it with its own step counter.
type Schedule struct {
	Kind   ScheduleKind `json:"kind"`
	Peak   float64      `json:"learning_rate"`
	Steps  int64        `json:"num_train_steps"`
	Warmup float64      `json:"num_warmup_steps"` // may be fractional: NVIDIA gives it as a fraction of Steps
	Degree float64      `json:"degree"`           // exponent of Polynomial; NVIDIA uses 0.5
}

// Validate reports every problem of s at once.
func (s Schedule) Validate() error {
	var errs []error
	switch s.Kind {
	case Linear, Polynomial, Constant:
	default:
		errs = append(errs, fmt.Errorf("schedule %q: must be %q, %q or %q", s.Kind, Linear, Polynomial, Constant))
	}
	if !(s.Peak >= 0 && s.Peak <= math.MaxFloat32) {
		errs = append(errs, fmt.Errorf("learning_rate %v: must be finite and not negative", s.Peak))
	}
	if s.Steps < 1 {
		errs = append(errs, fmt.Errorf("num_train_steps %d: must be at least 1", s.Steps))
	}
	if !(s.Warmup >= 0 && s.Warmup <= float64(s.Steps)) {
		errs = append(errs, fmt.Errorf("num_warmup_steps %v: must be from 0 to num_train_steps %d", s.Warmup, s.Steps))
	}
	if s.Kind == Polynomial && !(s.Degree > 0 && s.Degree <= 10) {
		errs = append(errs, fmt.Errorf("degree %v: must be above 0 and at most 10", s.Degree))
	}
	return errors.Join(errs...)
}

// Rate returns the learning rate of a step; steps count from 0.
func (s Schedule) Rate(step int64) float64 {
	if s.Kind == Polynomial {
		return s.polynomial(float64(step) + 1)
	}
	if float64(step) < s.Warmup {
		return s.Peak * float64(step) / s.Warmup
	}
	if s.Kind == Constant {
		return s.Peak
	}
	return s.Peak * (1 - float64(min(step, s.Steps))/float64(s.Steps))
}

func (s Schedule) polynomial(step float64) float64 {
	if step < s.Warmup {
		return s.Peak * step / s.Warmup
	}
	return s.Peak * math.Pow(1-min(1, step/float64(s.Steps)), s.Degree)
}

// An OptimizerName names an update rule.
type OptimizerName string

// The optimizers. Package trainer/optim documents their formulas.
const (
	AdamW OptimizerName = "adamw" // as in google-research/bert, without bias correction of the moments
	LAMB  OptimizerName = "lamb"  // as in NVIDIA's apex (FusedLAMB)
)

// Optimizer is an update rule and its constants.
type Optimizer struct {
	Name           OptimizerName `json:"name"`
	Beta1          float64       `json:"beta1"`
	Beta2          float64       `json:"beta2"`
	Epsilon        float64       `json:"eps"`
	WeightDecay    float64       `json:"weight_decay"` // for tensors with TensorSpec.Decay
	ClipNorm       float64       `json:"clip_norm"`    // maximum global norm of the gradients; 0 disables clipping
	BiasCorrection bool          `json:"bias_correction"`
}

// DefaultOptimizer returns the named optimizer with the constants of the
// original recipes.
func DefaultOptimizer(name OptimizerName) Optimizer {
	return Optimizer{
		Name: name, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-6, WeightDecay: 0.01, ClipNorm: 1, BiasCorrection: name == LAMB,
	}
}

// Validate reports every problem of o.
func (o Optimizer) Validate() error {
	var errs []error
	if o.Name != AdamW && o.Name != LAMB {
		errs = append(errs, fmt.Errorf("optimizer %q: must be %q or %q", o.Name, AdamW, LAMB))
	}
	for _, b := range []float64{o.Beta1, o.Beta2} {
		if !(b >= 0 && b < 1) {
			errs = append(errs, fmt.Errorf("beta %v: must be at least 0 and below 1", b))
		}
	}
	if !(o.Epsilon > 0) || math.IsInf(o.Epsilon, 0) {
		errs = append(errs, fmt.Errorf("eps %v: must be above 0", o.Epsilon))
	}
	if !(o.WeightDecay >= 0 && o.WeightDecay <= 1) {
		errs = append(errs, fmt.Errorf("weight_decay %v: must be from 0 to 1", o.WeightDecay))
	}
	if !(o.ClipNorm >= 0) || math.IsInf(o.ClipNorm, 0) {
		errs = append(errs, fmt.Errorf("clip_norm %v: must be finite and not negative", o.ClipNorm))
	}
	return errors.Join(errs...)
}
