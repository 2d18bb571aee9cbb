package trainer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
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

	// WSD (warm-up, stable, decay: MiniCPM, Hu et al. 2024, arXiv 2404.06395)
	// is Constant until the last Decay steps, in which the rate falls as Shape
	// says. Steps before the decay do not depend on the number of steps, so a
	// run can be extended, or its decay started, from any of their checkpoints.
	WSD ScheduleKind = "wsd"
)

// Budget is a schedule by elapsed time instead of steps, as in 24hBERT (Izsak et
// al. 2021, arXiv 2104.07705) and Cramming (Geiping and Goldstein 2022, arXiv
// 2212.14034): the rate rises linearly to its peak during the fraction Warmup of
// the time, and then falls linearly to zero at its end. The rate of a step is
// known when it begins ([Loop].Rate), so [Schedule.Rate] is not defined; see
// [Schedule.At].
const Budget ScheduleKind = "budget"

// A DecayShape is how the rate falls in the last steps of a [WSD] schedule. t is
// the fraction of these steps that are done.
type DecayShape string

// The shapes.
const (
	// Exponential is peak·0.1^t: MiniCPM's exponential annealing, with a tenth
	// of the peak at the end.
	Exponential DecayShape = "exponential"
	// InverseSqrt is peak·(1−√t), which Hägele et al. 2024 (arXiv 2405.18392)
	// found best and ModernBERT uses (arXiv 2412.13663).
	InverseSqrt DecayShape = "1-sqrt"
	// LinearDecay is peak·(1−t).
	LinearDecay DecayShape = "linear"
)

// ScheduleKinds returns all kinds by steps.
func ScheduleKinds() []ScheduleKind { return []ScheduleKind{Linear, Polynomial, Constant, WSD} }

// DecayShapes returns all shapes, the default first.
func DecayShapes() []DecayShape { return []DecayShape{Exponential, InverseSqrt, LinearDecay} }

// Schedule gives the learning rate of every step. It is plain data, so that a
// device can evaluate it with its own step counter.
type Schedule struct {
	Kind   ScheduleKind `json:"kind"`
	Peak   float64      `json:"learning_rate"`
	Steps  int64        `json:"num_train_steps"`
	Warmup float64      `json:"num_warmup_steps"` // may be fractional: NVIDIA gives it as a fraction of Steps
	Degree float64      `json:"degree"`           // exponent of Polynomial; NVIDIA uses 0.5

	Decay int64      `json:"decay_steps,omitempty"` // WSD: number of steps at the end in which the rate falls
	Shape DecayShape `json:"decay_shape,omitempty"` // WSD: how it falls

	// Seconds is the time of a Budget. Its Steps are the most that are made, and
	// its Warmup is a fraction of the time.
	Seconds float64 `json:"budget_seconds,omitempty"`
}

// Validate reports every problem of s at once.
func (s Schedule) Validate() error {
	var errs []error
	if !slices.Contains(ScheduleKinds(), s.Kind) && s.Kind != Budget {
		errs = append(errs, fmt.Errorf("schedule %q: must be %s", s.Kind, oneOf(append(ScheduleKinds(), Budget))))
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
	if (s.Kind == Budget) != (s.Seconds > 0) || s.Seconds < 0 || s.Seconds > maxBudget {
		errs = append(errs, fmt.Errorf("budget of %v s: must be from 0 to %v, and only the schedule %q has one", s.Seconds, maxBudget, Budget))
	}
	if s.Kind == Budget && s.Warmup >= 1 {
		errs = append(errs, fmt.Errorf("warm-up %v: of a budget of time, it must be a fraction below 1", s.Warmup))
	}
	return errors.Join(append(errs, s.validateDecay())...)
}

// maxBudget is ten years.
const maxBudget = 10 * 365 * 86400

// At returns the learning rate of a Budget after a fraction of its time.
func (s Schedule) At(fraction float64) float64 {
	if fraction < s.Warmup {
		return s.Peak * fraction / s.Warmup
	}
	return s.Peak * (1 - min(1, fraction)) / (1 - s.Warmup)
}

func (s Schedule) validateDecay() error {
	switch {
	case s.Kind != WSD && (s.Decay != 0 || s.Shape != ""):
		return fmt.Errorf("decay_steps and decay_shape apply only to the schedule %q", WSD)
	case s.Kind != WSD:
		return nil
	case !slices.Contains(DecayShapes(), s.Shape):
		return fmt.Errorf("decay_shape %q: must be %s", s.Shape, oneOf(DecayShapes()))
	case s.Decay < 0 || float64(s.Decay) > float64(s.Steps)-s.Warmup:
		return fmt.Errorf("decay_steps %d: must be from 0 to the %v steps after the warm-up", s.Decay, float64(s.Steps)-s.Warmup)
	}
	return nil
}

// oneOf lists names for an error.
func oneOf[T ~string](names []T) string {
	text := ""
	for i, name := range names {
		switch {
		case i > 0 && i == len(names)-1:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += strconv.Quote(string(name))
	}
	return text
}

// Rate returns the learning rate of a step; steps count from 0.
func (s Schedule) Rate(step int64) float64 {
	if s.Kind == Polynomial {
		return s.polynomial(float64(step) + 1)
	}
	if float64(step) < s.Warmup {
		return s.Peak * float64(step) / s.Warmup
	}
	switch s.Kind {
	case Constant:
		return s.Peak
	case WSD:
		return s.Peak * s.decayed(step)
	}
	return s.Peak * (1 - float64(min(step, s.Steps))/float64(s.Steps))
}

func (s Schedule) polynomial(step float64) float64 {
	if step < s.Warmup {
		return s.Peak * step / s.Warmup
	}
	return s.Peak * math.Pow(1-min(1, step/float64(s.Steps)), s.Degree)
}

// decayed returns the fraction of the peak at a step of a WSD schedule after the
// warm-up.
func (s Schedule) decayed(step int64) float64 {
	start := s.Steps - s.Decay
	if step < start || s.Decay == 0 {
		return 1
	}
	t := float64(min(step-start, s.Decay)) / float64(s.Decay)
	switch s.Shape {
	case InverseSqrt:
		return 1 - math.Sqrt(t)
	case LinearDecay:
		return 1 - t
	}
	return math.Pow(0.1, t)
}

// Continues returns an error if a run with the schedule s cannot resume a run
// with the schedule was, of which done steps are done. It can if both are the
// same, or if all rates of these steps are: Constant schedules, and WSD
// schedules before their decay, may have any number of steps, of which the
// decay is any part that is left.
func (s Schedule) Continues(was Schedule, done int64) error {
	if s == was {
		return nil
	}
	extends := func(k ScheduleKind) bool { return k == Constant || k == WSD }
	same := was
	same.Kind, same.Steps, same.Decay, same.Shape = s.Kind, s.Steps, s.Decay, s.Shape
	switch {
	case s != same || !extends(s.Kind) && s.Kind != was.Kind || extends(s.Kind) != extends(was.Kind):
		return fmt.Errorf("the checkpoint has %v, this run %v", was, s)
	case !extends(s.Kind):
		return fmt.Errorf("num_train_steps: the checkpoint has %d, this run %d: every rate of a %s schedule depends on it; only %s and %s runs can be extended",
			was.Steps, s.Steps, s.Kind, Constant, WSD)
	case s.Steps < done:
		return fmt.Errorf("num_train_steps %d: %d steps are done", s.Steps, done)
	case was.decays(done):
		return fmt.Errorf("the checkpoint, %v, is in its decay, which began after step %d: resume from an earlier checkpoint", was, was.Steps-was.Decay)
	case s.decays(done):
		return fmt.Errorf("decay_steps %d of %d: the decay would begin at step %d, and %d steps are done: give fewer, or more steps", s.Decay, s.Steps, s.Steps-s.Decay, done)
	}
	return nil
}

// decays reports whether one of the first done steps had a rate that was decayed.
func (s Schedule) decays(done int64) bool {
	return s.Kind == WSD && s.Decay > 0 && done > s.Steps-s.Decay
}

// String describes the schedule as errors show it.
func (s Schedule) String() string {
	text := fmt.Sprintf("%s, %d steps, learning rate %v, warm-up %v steps", s.Kind, s.Steps, s.Peak, s.Warmup)
	switch s.Kind {
	case Budget:
		return fmt.Sprintf("%s of %v s, at most %d steps, learning rate %v, warm-up %v of the time", s.Kind, s.Seconds, s.Steps, s.Peak, s.Warmup)
	case Polynomial:
		text += fmt.Sprintf(", degree %v", s.Degree)
	case WSD:
		text += fmt.Sprintf(", %s decay of %d steps", s.Shape, s.Decay)
	}
	return text
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
