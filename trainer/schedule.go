package trainer

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A schedule defines one kind of learning rate schedule. Functions that the kind
// does not need are nil.
type schedule struct {
	kind       ScheduleKind
	alias      ScheduleKind  // another name, for options only; "": none
	optimizer  OptimizerName // its default schedule is this one; "": no optimizer's
	parameters []string      // names of the [ScheduleParameters] that apply to this kind
	help       string        // in a few words, if the name is not enough
	doc        string        // for docs/train.md
	byTime     bool          // the rate depends on the fraction of the time that has passed instead of the step

	// rate returns the learning rate after the warm-up. at is the number of the
	// step, counted from first, or with byTime the fraction of the time.
	rate  func(s Schedule, at float64) float64
	first float64

	// stable returns a schedule with the same rates up to the decay, for any number
	// of steps. last returns the number of steps in the decay; nil: none. If stable
	// is nil, every rate depends on the number of steps, so a run cannot be extended.
	stable func(s Schedule) Schedule
	last   func(s Schedule) int64

	complete func(s *Schedule, o ScheduleOptions) // sets the parameters from options
	validate func(s Schedule) error               // of the parameters
	text     func(s Schedule) string              // the parameters, for errors
}

// find returns the definition of kind k; the zero schedule if k is unknown.
func (k ScheduleKind) find() schedule {
	i := slices.IndexFunc(schedules, func(d schedule) bool { return d.kind == k })
	if i < 0 {
		return schedule{}
	}
	return schedules[i]
}

// kindsOf returns the kinds of the schedules that match.
func kindsOf(match func(schedule) bool) (list []string) {
	for _, d := range schedules {
		if match(d) {
			list = append(list, string(d.kind))
		}
	}
	return list
}

// ScheduleNames returns the names of all kinds, with their other names.
func ScheduleNames() (names []string) {
	for _, d := range schedules {
		names = append(names, string(d.kind))
		if d.alias != "" {
			names = append(names, string(d.alias))
		}
	}
	return names
}

// ScheduleHelp lists all kinds and the default kind of each optimizer, for help texts.
func ScheduleHelp() string {
	var names, defaults []string
	for _, d := range schedules {
		name := string(d.kind)
		if d.help != "" {
			name += " (" + d.help + ")"
		}
		names = append(names, name)
		if d.optimizer != "" {
			defaults = append(defaults, fmt.Sprintf("%s for %s", d.kind, d.optimizer))
		}
	}
	return listed(names, "or") + "; default: " + strings.Join(defaults, ", ")
}

// A ScheduleParameter is an option that only some schedules have.
type ScheduleParameter struct {
	Name   string                     // name of the flag
	Help   string                     // help of the flag, without the names of the schedules
	Values []string                   // allowed values; nil: any
	Field  func(*ScheduleOptions) any // returns a pointer to the option's field

	given func(Schedule) bool // reports whether a schedule has a value for the parameter
}

// Kinds lists the schedules that have the parameter, such as "wsd or budget".
func (p ScheduleParameter) Kinds() string {
	return listed(kindsOf(func(d schedule) bool { return slices.Contains(d.parameters, p.Name) }), "or")
}

// Validate reports every problem of the options in a run with this optimizer.
func (o ScheduleOptions) Validate(optimizer OptimizerName) error {
	s := o.For(optimizer)
	d, defaults := s.Kind.find(), DefaultScheduleOptions()
	errs := []error{s.Validate(), o.validateShape()}
	for _, p := range ScheduleParameters() {
		if value := func(o *ScheduleOptions) any { return reflect.ValueOf(p.Field(o)).Elem().Interface() }; !slices.Contains(d.parameters, p.Name) && value(&o) != value(&defaults) {
			errs = append(errs, fmt.Errorf("--%s applies only with --schedule %s", p.Name, p.Kinds()))
		}
	}
	if d.byTime && o.NumWarmupSteps != defaults.NumWarmupSteps {
		errs = append(errs, fmt.Errorf("--num-warmup-steps does not apply with --schedule %s, whose warm-up is a part of the time", s.Kind))
	}
	return errors.Join(errs...)
}

// For returns the schedule that the options give in a run with this optimizer.
func (o ScheduleOptions) For(optimizer OptimizerName) Schedule {
	s := Schedule{Kind: ScheduleKind(o.Schedule), Peak: o.LearningRate, Steps: o.NumTrainSteps, Warmup: float64(o.NumWarmupSteps)}
	if s.Kind == "" {
		s.Kind = schedules[0].kind
		if i := slices.IndexFunc(schedules, func(d schedule) bool { return d.optimizer == optimizer }); i >= 0 && optimizer != "" {
			s.Kind = schedules[i].kind
		}
	}
	if i := slices.IndexFunc(schedules, func(d schedule) bool { return d.alias != "" && d.alias == s.Kind }); i >= 0 {
		s.Kind = schedules[i].kind
	}
	if o.NumWarmupSteps == -1 {
		s.Warmup = float64(o.NumTrainSteps / 10)
	}
	if d := s.Kind.find(); d.complete != nil {
		d.complete(&s, o)
	}
	return s
}

// Resumed adapts s, a result of [ScheduleOptions.For], to a run that is resumed and
// had the schedule was. If the options do not set the warm-up, the warm-up of was is
// kept, even if the number of steps has changed.
func (o ScheduleOptions) Resumed(s, was Schedule) Schedule {
	if o.NumWarmupSteps == -1 && !s.ByTime() {
		s.Warmup = was.Warmup
	}
	return s
}

// ByTime reports whether the rate depends on the elapsed time instead of the step. The
// rate of a step is then known only when the step begins ([Loop].Rate).
func (s Schedule) ByTime() bool { return s.Kind.find().byTime }

// Validate reports every problem of s at once.
func (s Schedule) Validate() error {
	var errs []error
	d := s.Kind.find()
	if d.kind == "" {
		errs = append(errs, fmt.Errorf("schedule %q: must be %s", s.Kind, oneOf(ScheduleNames())))
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
	for _, p := range ScheduleParameters() {
		if p.given(s) && !slices.Contains(d.parameters, p.Name) {
			errs = append(errs, fmt.Errorf("%s applies only to the schedule %s", p.Name, p.Kinds()))
		}
	}
	if d.validate != nil {
		errs = append(errs, d.validate(s))
	}
	return errors.Join(errs...)
}

// oneOf lists the allowed names, for errors.
func oneOf(names []string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, strconv.Quote(name))
	}
	return listed(quoted, "or")
}

// listed joins words, the last two by a conjunction.
func listed(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

// Rate returns the learning rate of a step; steps count from 0. It is not defined for
// a schedule by time.
func (s Schedule) Rate(step int64) float64 { return s.At(float64(step) + s.Kind.find().first) }

// At returns the learning rate at a point of the schedule. For a schedule by time, the
// point is the fraction of the time that has passed; for the others, see [Schedule.Rate].
func (s Schedule) At(at float64) float64 {
	if at < s.Warmup {
		return s.Peak * at / s.Warmup
	}
	return s.Kind.find().rate(s, at)
}

// Continues returns an error if a run with schedule s cannot resume a run that has
// done steps of schedule was. Both schedules must be equal, or must have equal rates
// in the steps done. So the number of steps or the decay of a schedule such as [WSD]
// may change until its decay begins.
func (s Schedule) Continues(was Schedule, done int64) error {
	if s == was {
		return nil
	}
	stable := func(s Schedule) Schedule {
		if of := s.Kind.find().stable; of != nil {
			s = of(s)
		}
		s.Steps = 0
		return s
	}
	switch {
	case stable(s) != stable(was):
		return fmt.Errorf("the checkpoint has %v, this run %v", was, s)
	case s.Kind.find().stable == nil:
		extensible := kindsOf(func(d schedule) bool { return d.stable != nil })
		return fmt.Errorf("num_train_steps: the checkpoint has %d, this run %d: every rate of a %s schedule depends on it; only %s runs can be extended",
			was.Steps, s.Steps, s.Kind, listed(extensible, "and"))
	case s.Steps < done:
		return fmt.Errorf("num_train_steps %d: %d steps are done", s.Steps, done)
	case done > was.decaysAfter():
		return fmt.Errorf("the checkpoint, %v, is in its decay, which began after step %d: resume from an earlier checkpoint", was, was.decaysAfter())
	case done > s.decaysAfter():
		return fmt.Errorf("decay_steps %d of %d: the decay would begin at step %d, and %d steps are done: give fewer, or more steps", s.Steps-s.decaysAfter(), s.Steps, s.decaysAfter(), done)
	}
	return nil
}

// decaysAfter returns the number of steps before the decay. For a schedule without a
// decay it returns math.MaxInt64.
func (s Schedule) decaysAfter() int64 {
	if last := s.Kind.find().last; last != nil && last(s) > 0 {
		return s.Steps - last(s)
	}
	return math.MaxInt64 // not s.Steps: s may be extended
}

// String describes the schedule as errors show it.
func (s Schedule) String() string {
	d := s.Kind.find()
	if d.byTime {
		return fmt.Sprintf("%s of %s, at most %d steps, learning rate %v, warm-up %v of the time", s.Kind, d.text(s), s.Steps, s.Peak, s.Warmup)
	}
	description := fmt.Sprintf("%s, %d steps, learning rate %v, warm-up %v steps", s.Kind, s.Steps, s.Peak, s.Warmup)
	if d.text != nil {
		description += ", " + d.text(s)
	}
	return description
}
