package trainer

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// This file holds everything that differs between schedules. To add a schedule,
// add a constant and an element of [schedules]. For a new parameter, add a field to
// [Schedule] and to [ScheduleOptions], a default value and an element of
// [ScheduleParameters]. Flags, help, completion, validation, resuming, the
// comparison between ranks and the table in docs/train.md are derived from these.

// A ScheduleKind names the shape of a learning rate schedule.
type ScheduleKind string

// The schedules. Elements of [schedules] give their formulas.
const (
	// Linear is the schedule of optimization.py in google-research/bert. After the
	// warm-up, the rate is on the line from the peak at step 0 to zero at the last
	// step, so it drops a little at the end of the warm-up.
	Linear ScheduleKind = "linear"

	// Polynomial follows NVIDIA's PolyWarmUp (DeepLearningExamples, LAMB). Steps
	// count from 1, so the last step has rate 0.
	Polynomial ScheduleKind = "polynomial"

	// Constant stays at the peak after the warm-up.
	Constant ScheduleKind = "constant"

	// WSD (warm-up, stable, decay: MiniCPM, Hu et al. 2024, arXiv 2404.06395)
	// is Constant until the last Decay steps, in which the rate falls along Shape.
	// Rates before the decay do not depend on the number of steps. So from any
	// checkpoint before the decay, a run can be extended or can start its decay.
	WSD ScheduleKind = "wsd"

	// Trapezoid is ModernBERT's name of WSD (Warner et al. 2024, arXiv 2412.13663). A
	// [Schedule] always has the kind WSD; in [ScheduleOptions] this name changes the
	// default shape of the decay.
	Trapezoid ScheduleKind = "trapezoid"

	// Budget is a schedule by elapsed time instead of steps, as in 24hBERT (Izsak et
	// al. 2021, arXiv 2104.07705) and Cramming (Geiping and Goldstein 2022, arXiv
	// 2212.14034). Warmup is a fraction of the time: the rate rises until then, and
	// falls linearly to zero at the end of the time.
	Budget ScheduleKind = "budget"
)

// Schedule gives the learning rate of every step. It is plain data, so that a
// device can evaluate it with its own step counter.
type Schedule struct {
	Kind   ScheduleKind `json:"kind"`
	Peak   float64      `json:"learning_rate"`
	Steps  int64        `json:"num_train_steps"`  // number of steps; for Budget the maximum
	Warmup float64      `json:"num_warmup_steps"` // steps, may be fractional because NVIDIA's is a fraction of Steps; for Budget a fraction of the time
	Degree float64      `json:"degree"`           // exponent of Polynomial; NVIDIA uses 0.5

	Decay   int64      `json:"decay_steps,omitempty"`    // WSD: number of steps at the end in which the rate falls
	Shape   DecayShape `json:"decay_shape,omitempty"`    // WSD: shape of the decay
	Seconds float64    `json:"budget_seconds,omitempty"` // Budget: total time
}

// ScheduleOptions are the schedule settings of a user. Start from
// [DefaultScheduleOptions]. Fields are named after the flags of train-bert train.
type ScheduleOptions struct {
	Schedule       string  // a [ScheduleKind] or its other name; "": the optimizer's default
	LearningRate   float64 // peak
	NumTrainSteps  int64
	NumWarmupSteps int64 // -1: a tenth of the steps; a resumed run keeps its warm-up

	DecaySteps  int64         // -1: a tenth of the steps
	DecayShape  string        // a [DecayShape]; "": that of the schedule's name, or of DecayDegree
	DecayDegree float64       // degree of a decay 1 − t^degree, another way to give the shape: 0.5 or 1; 0: not given
	Budget      time.Duration // total time of all steps
}

// DefaultScheduleOptions returns run_pretraining.py's defaults.
func DefaultScheduleOptions() ScheduleOptions {
	return ScheduleOptions{LearningRate: 5e-5, NumTrainSteps: 100000, NumWarmupSteps: -1, DecaySteps: -1}
}

// ScheduleParameters returns the parameters that only some schedules have.
func ScheduleParameters() []ScheduleParameter {
	return []ScheduleParameter{
		{Name: "budget", Help: "time of all steps, such as 1h or 90m; with --preset budget by default 24h",
			Field: func(o *ScheduleOptions) any { return &o.Budget }, given: func(s Schedule) bool { return s.Seconds != 0 }},
		{Name: "decay-steps", Help: "number of last steps in which the learning rate falls; -1: a tenth of all steps",
			Field: func(o *ScheduleOptions) any { return &o.DecaySteps }, given: func(s Schedule) bool { return s.Decay != 0 }},
		{Name: "decay-shape", Help: "how it falls: exponential (to a tenth of the peak, MiniCPM; the default of wsd), 1-sqrt (ModernBERT; the default of trapezoid) or linear",
			Values: decayShapes, Field: func(o *ScheduleOptions) any { return &o.DecayShape }, given: func(s Schedule) bool { return s.Shape != "" }},
		{Name: "decay-degree", Help: "the same as a degree: 0.5 (1-sqrt) or 1 (linear)",
			Field: func(o *ScheduleOptions) any { return &o.DecayDegree }, given: func(Schedule) bool { return false }},
	}
}

// schedules are all schedules, in the order of help texts.
var schedules = []schedule{
	{
		kind: Linear, optimizer: AdamW,
		doc:  "google-research/bert's: rises in the warm-up, then falls to zero at the last step",
		rate: func(s Schedule, at float64) float64 { return s.Peak * (1 - min(at, float64(s.Steps))/float64(s.Steps)) },
	},
	{
		kind: Polynomial, optimizer: LAMB, first: 1,
		doc:      "NVIDIA's for LAMB: falls with the square root",
		complete: func(s *Schedule, _ ScheduleOptions) { s.Degree = 0.5 }, // NVIDIA's
		rate: func(s Schedule, at float64) float64 {
			return s.Peak * math.Pow(1-min(1, at/float64(s.Steps)), s.Degree)
		},
		validate: func(s Schedule) error {
			if !(s.Degree > 0 && s.Degree <= 10) {
				return fmt.Errorf("degree %v: must be above 0 and at most 10", s.Degree)
			}
			return nil
		},
		text: func(s Schedule) string { return fmt.Sprintf("degree %v", s.Degree) },
	},
	{
		kind:   Constant,
		stable: func(s Schedule) Schedule { return s },
		doc:    "rises in the warm-up, then stays",
		rate:   func(s Schedule, _ float64) float64 { return s.Peak },
	},
	{
		kind: WSD, alias: Trapezoid, parameters: []string{"decay-steps", "decay-shape", "decay-degree"},
		help: "warm-up, stable, decay; also named trapezoid",
		doc:  "warm-up, stable, decay ([MiniCPM](https://arxiv.org/abs/2404.06395)), also named `trapezoid` (ModernBERT): `constant` until the last `decay-steps` (by default a tenth of all steps), in which it falls",
		complete: func(s *Schedule, o ScheduleOptions) {
			s.Decay, s.Shape = o.DecaySteps, o.shape()
			if s.Decay == -1 {
				s.Decay = s.Steps / 10 // enough, according to MiniCPM (arXiv 2404.06395)
			}
		},
		stable: func(s Schedule) Schedule {
			s.Kind, s.Decay, s.Shape = Constant, 0, ""
			return s
		},
		last: func(s Schedule) int64 { return s.Decay },
		rate: func(s Schedule, at float64) float64 { return s.Peak * s.decayed(at) },
		validate: func(s Schedule) error {
			switch {
			case !slices.Contains(decayShapes, string(s.Shape)):
				return fmt.Errorf("decay_shape %q: must be %s", s.Shape, oneOf(decayShapes))
			case s.Decay < 0 || float64(s.Decay) > float64(s.Steps)-s.Warmup:
				return fmt.Errorf("decay_steps %d: must be from 0 to the %v steps after the warm-up", s.Decay, float64(s.Steps)-s.Warmup)
			}
			return nil
		},
		text: func(s Schedule) string { return fmt.Sprintf("%s decay of %d steps", s.Shape, s.Decay) },
	},
	{
		kind: Budget, byTime: true, parameters: []string{"budget"},
		help: "by time",
		doc:  "by time instead of steps: [below](#a-budget-of-time)",
		complete: func(s *Schedule, o ScheduleOptions) {
			s.Seconds, s.Warmup = o.Budget.Seconds(), 0.06 // 24hBERT's warm-up
		},
		rate: func(s Schedule, at float64) float64 { return s.Peak * (1 - min(1, at)) / (1 - s.Warmup) },
		validate: func(s Schedule) error {
			const tenYears = 10 * 365 * 86400
			switch {
			case !(s.Seconds > 0 && s.Seconds <= tenYears):
				return fmt.Errorf("budget of %v s: must be above 0 and at most %v: give --budget with --schedule %s", s.Seconds, tenYears, Budget)
			case s.Warmup >= 1:
				return fmt.Errorf("warm-up %v: with a time budget, it must be a fraction below 1", s.Warmup)
			}
			return nil
		},
		text: func(s Schedule) string { return fmt.Sprintf("%v s", s.Seconds) },
	},
}

// A DecayShape is the curve of the rate in the decay of a [WSD] schedule. t is the
// fraction of the decay that is done.
type DecayShape string

// The shapes.
const (
	// exponential is peak·0.1^t: MiniCPM's exponential annealing, with a tenth
	// of the peak at the end.
	exponential DecayShape = "exponential"
	// inverseSqrt is peak·(1−√t), which Hägele et al. 2024 (arXiv 2405.18392)
	// found best and ModernBERT uses (arXiv 2412.13663).
	inverseSqrt DecayShape = "1-sqrt"
	// linearDecay is peak·(1−t).
	linearDecay DecayShape = "linear"
)

// decayShapes are all shapes, the default first.
var decayShapes = []string{string(exponential), string(inverseSqrt), string(linearDecay)}

// degrees are the degrees by which [ScheduleOptions] name shapes.
var degrees = map[float64]DecayShape{0.5: inverseSqrt, 1: linearDecay}

// shape returns the shape of the decay.
func (o ScheduleOptions) shape() DecayShape {
	switch {
	case o.DecayShape != "":
		return DecayShape(o.DecayShape)
	case o.DecayDegree != 0:
		return degrees[o.DecayDegree]
	case o.Schedule == string(Trapezoid):
		return inverseSqrt
	}
	return exponential
}

// validateShape returns an error for a degree that names no shape, or another one than
// DecayShape.
func (o ScheduleOptions) validateShape() error {
	switch of := degrees[o.DecayDegree]; {
	case o.DecayDegree == 0:
	case of == "":
		return fmt.Errorf("decay_degree %v: must be 0.5 (%s) or 1 (%s)", o.DecayDegree, inverseSqrt, linearDecay)
	case o.DecayShape != "" && o.DecayShape != string(of):
		return fmt.Errorf("decay_shape %q and decay_degree %v, which is %q: give one of them", o.DecayShape, o.DecayDegree, of)
	}
	return nil
}

// decayed returns the fraction of the peak at a step of a WSD schedule after the
// warm-up.
func (s Schedule) decayed(at float64) float64 {
	start, steps := float64(s.Steps-s.Decay), float64(s.Decay)
	if at < start || s.Decay == 0 {
		return 1
	}
	t := min(at-start, steps) / steps
	switch s.Shape {
	case inverseSqrt:
		return 1 - math.Sqrt(t)
	case linearDecay:
		return 1 - t
	}
	return math.Pow(0.1, t)
}
