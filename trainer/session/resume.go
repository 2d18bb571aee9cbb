package session

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"

	"pretext/internal/humanize"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

// An origin is the starting point of a run: a checkpoint or an initial model. On other
// ranks than 0, only first is set.
type origin struct {
	from   *checkpoint.Checkpoint // checkpoint to resume from; nil: a new run
	branch bool                   // from is a checkpoint of another run
	start  *start                 // initial model of a new run; nil when resuming
	first  trainer.Progress
}

// resume looks for a checkpoint to resume from.
func (r *run) resume() error {
	c, err := newest(r.o.Out)
	if err == nil && c == nil && r.o.ResumeFrom != "" { // a checkpoint of another run
		m, err := OpenModel(r.o.ResumeFrom)
		if err != nil {
			return fmt.Errorf("--resume-from: %w", err)
		}
		if c = m.Phase; c == nil {
			err = usagef("--resume-from %s: not a checkpoint of train-bert; --init starts from other models", r.o.ResumeFrom)
		}
		if err := errors.Join(err, m.Close()); err != nil {
			return err
		}
		r.branch = true
	}
	if err != nil || c == nil {
		return err
	}
	r.from, r.config = c, c.Config
	r.settle(c.State.Phase, c.State.Tokens)
	if diff := configDiff(c.Config, r.o.withDropout(c.Config)); diff != "" {
		return usagef("%s is a checkpoint of a model with other --dropout: %s", c.Dir, diff)
	}
	r.state.Schedule = r.o.Resumed(r.state.Schedule, c.State.Schedule)
	if err := r.state.Schedule.Validate(); err != nil {
		return usagef("%s: to resume it: %w", c.Dir, err)
	}
	r.state.Multiple = multipleOf(c.State, r.log)
	logPrecision(r.log, c.State, r.state)
	was := c.State
	was.Options = maps.Clone(was.Options)
	delete(was.Options, leftOut) // compared once the data is open, by checkTails
	if err := was.Check(r.state); err != nil {
		return usagef("%s was made by another run: %w: give its options again, or another --out", c.Dir, err)
	}
	if r.o.Model != "" {
		config, err := NamedConfig(r.o.Model, r.data.vocab.Len())
		if err != nil {
			return err
		}
		config = r.o.withDropout(config)
		if diff := configDiff(c.Config, config); diff != "" {
			return usagef("%s is a checkpoint of another model than --model %s: %s", c.Dir, r.o.Model, diff)
		}
	}
	return nil
}

// multipleOf returns the multiple argument of [trainer.Cut] for a resumed run. Earlier
// versions filled micro-batches greedily, and their checkpoints have no multiple. Such
// a run resumes with micro-batches of about equal size, and multipleOf logs the change.
func multipleOf(from checkpoint.State, log io.Writer) int {
	if from.Multiple == 0 {
		fmt.Fprintln(log, "an earlier version wrote this checkpoint and cut steps into other micro-batches: the examples and their order are the same, results may differ by rounding")
		return 1
	}
	return from.Multiple
}

// logPrecision logs a warning if a run resumes in another precision. It logs nothing
// for another device with the same precision.
func logPrecision(log io.Writer, from, now checkpoint.State) {
	if was := precisionOf(from); was != now.Precision {
		fmt.Fprintf(log, "warning: the checkpoint was trained in %s, this run resumes in %s: results will differ from those of a run in one precision\n", was, now.Precision)
	}
}

// precisionOf returns the precision that a checkpoint was trained in. Earlier
// versions had only fp32 and did not record it.
func precisionOf(s checkpoint.State) trainer.Precision { return cmp.Or(s.Precision, trainer.Float32) }

// restore loads a checkpoint into a model of precision p. If the checkpoint has another
// precision, the model keeps its initial loss scale.
func restore(from *checkpoint.Checkpoint, m trainer.Model, p trainer.Precision) error {
	scale := m.State().LossScale
	if err := from.Restore(m); err != nil {
		return err
	}
	if precisionOf(from.State) != p {
		s := m.State()
		s.LossScale, s.GoodSteps = scale, 0
		m.SetState(s)
	}
	return nil
}

// logResumed logs the checkpoint that a run resumes from and how many lines of
// the metrics were removed. It logs nothing for a new run, where from is nil.
func (r *runLog) logResumed(w io.Writer, from *checkpoint.Checkpoint, steps int64) {
	if from == nil {
		return
	}
	p := from.State.Progress
	if p.Step >= steps {
		fmt.Fprintf(w, "nothing left to train: %s is the last of %s\n", from.Dir, humanize.Things(steps, "step"))
		return
	}
	removed := "nothing was removed from " + MetricsFile
	if r.metrics.cutSteps > 0 || r.metrics.cutEvals > 0 {
		removed = fmt.Sprintf("%s and %s after it were removed from %s and are made again", humanize.Things(r.metrics.cutSteps, "step"), humanize.Things(r.metrics.cutEvals, "evaluation"), MetricsFile)
	}
	fmt.Fprintf(w, "resumed from %s: step %s of %s, %s seen; %s\n",
		from.Dir, humanize.Count(p.Step), humanize.Count(steps), humanize.Things(p.Position, "example"), removed)
}

// begin reads the model that a new run starts with.
func (r *run) begin() (err error) {
	if r.start, err = newStart(&r.o.ModelOptions, r.data.vocab.Len()); err != nil {
		return err
	}
	r.add(r.start)
	r.config = r.o.withDropout(r.start.config)
	warnOf(r.config, r.log)
	phase := 1
	if m := r.start.init; m != nil && m.Phase != nil {
		phase = m.Phase.State.Phase + 1
	}
	auto := 0
	if r.o.MicroBatchTokens == 0 {
		if auto, err = r.device.AutoTokens(r.config, r.data.Heads(r.config, r.o.NoNSP), r.longest(r.seqLength())); err != nil {
			return err
		}
	}
	r.settle(phase, auto)
	return nil
}

// seqLength returns the length to which documents are cut.
func (r *run) seqLength() int {
	return cmp.Or(r.o.MaxSeqLength, min(r.o.UsualSeqLength, r.config.MaxPositions), r.config.MaxPositions)
}

// settle sets the fields of the checkpoints' state that stay the same during the run.
// auto is the number of tokens of a micro-batch, used if the options do not set it.
func (r *run) settle(phase, auto int) {
	options := r.o.Masking.recorded(r.masking)
	if r.data.shards.Form().Documents() {
		options = withOption(options, "max_seq_length", strconv.Itoa(r.seqLength()))
	}
	if r.o.AttendAcross {
		options = withOption(options, "attend_across", "true")
	}
	r.state = checkpoint.State{
		Phase: phase, Heads: r.data.Heads(r.config, r.o.NoNSP), Batch: r.o.TrainBatchSize, Tokens: cmp.Or(r.o.MicroBatchTokens, auto), Multiple: r.group.Size(), Ranks: r.group.Size(), Zero1: r.o.Zero1, Seed: r.o.Seed, Device: r.device.Kind, Precision: r.device.Precision,
		Data: r.data.hash, Schedule: r.o.rates(), Optimizer: r.o.rule(), Options: options,
	}
}

// withOption adds an option to a map, which may be nil.
func withOption(options map[string]string, name, value string) map[string]string {
	if options == nil {
		options = map[string]string{}
	}
	options[name] = value
	return options
}

// leftOut is the name under which a checkpoint's options list the files with
// unreadable ends. The position of every example depends on them.
const leftOut = "left_out"

// checkTails records the unreadable ends of files. It returns an error if they
// differ from those at the start of the run.
func (r *run) checkTails() error {
	lost, before := "", ""
	if r.damage != nil {
		lost = r.damage.lostTails()
	}
	if err := r.group.Agree(map[string]string{"unreadable ends of files": lost}); err != nil {
		return err
	}
	if r.from != nil {
		before = r.from.State.Options[leftOut]
	}
	if r.from != nil && lost != before {
		return usagef("%s was made by another run: %s: the checkpoint has %q, this run %q: the data has changed since", r.from.Dir, leftOut, before, lost)
	}
	if lost != "" {
		r.state.Options = withOption(maps.Clone(r.state.Options), leftOut, lost)
	}
	return nil
}
