package command

import (
	"fmt"
	"io"
	"maps"

	"pretext/internal/humanize"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

// resume looks for a checkpoint to go on from.
func (r *run) resume() error {
	c, err := newest(r.o.out)
	if err != nil || c == nil {
		return err
	}
	r.from, r.config = c, c.Config
	r.settle(c.State.Phase, c.State.Tokens)
	was := c.State
	was.Options = maps.Clone(was.Options)
	delete(was.Options, leftOut) // what this run leaves out is known when its data is open
	if err := was.Check(r.state); err != nil {
		return usagef("%s was made by another run: %w: give its options again, or another --out", c.Dir, err)
	}
	if r.o.model != "" {
		config, err := namedConfig(r.o.model, r.data.vocab.Len())
		if err != nil {
			return err
		}
		if diff := configDiff(c.Config, config); diff != "" {
			return usagef("%s is a checkpoint of another model than --model %s: %s", c.Dir, r.o.model, diff)
		}
	}
	return nil
}

// sayResumed says in one line what a run keeps of an earlier process: the
// checkpoint, and what of the metrics came after it. Of a new run, from is nil, it
// says nothing.
func sayResumed(w io.Writer, from *checkpoint.Checkpoint, steps int64, m *metrics) {
	if from == nil {
		return
	}
	p := from.State.Progress
	if p.Step >= steps {
		fmt.Fprintf(w, "train-bert: nothing left to train: %s is the last of %s\n", from.Dir, humanize.Things(steps, "step"))
		return
	}
	removed := "nothing was removed from " + metricsFile
	if m.cutSteps > 0 || m.cutEvals > 0 {
		removed = fmt.Sprintf("%s and %s after it were removed from %s and are made again", humanize.Things(m.cutSteps, "step"), humanize.Things(m.cutEvals, "evaluation"), metricsFile)
	}
	fmt.Fprintf(w, "train-bert: resumed from %s: step %s of %s, %s seen; %s\n",
		from.Dir, humanize.Count(p.Step), humanize.Count(steps), humanize.Things(p.Position, "example"), removed)
}

// begin reads the model that a new run starts with.
func (r *run) begin() (err error) {
	if r.start, err = newStart(&r.o, r.data.vocab.Len()); err != nil {
		return err
	}
	r.hold(r.start)
	r.config = r.start.config
	phase := 1
	if m := r.start.init; m != nil && m.phase != nil {
		phase = m.phase.State.Phase + 1
	}
	r.settle(phase, autoTokens(r.config, r.longest()))
	return nil
}

// longest is the length of the longest example, 0 where it is not known.
func (r *run) longest() int {
	longest := r.data.shards.MaxSeqLength()
	if r.held != nil {
		longest = max(longest, r.held.shards.MaxSeqLength())
	}
	return longest
}

// settle fixes what must not change before the run's last step. auto is the
// size of a micro-batch where the options leave it open.
func (r *run) settle(phase, auto int) {
	tokens := int(r.o.tokens)
	if tokens == 0 {
		tokens = auto
	}
	r.state = checkpoint.State{
		Phase: phase, Heads: trainer.PretrainHeads(), Batch: r.o.batch, Tokens: tokens, Ranks: 1, Seed: r.o.seed,
		Data: r.data.hash, Schedule: r.o.rateSchedule(), Optimizer: r.o.updateRule(), Options: recorded(r.masking),
	}
}

// tails are the ends of files that are left out, of both sides.
func (r *run) tails() (all []damage) {
	if r.damage != nil {
		all = append(all, r.damage.tails...)
	}
	if r.eval != nil && r.eval.damage != nil {
		all = append(all, r.eval.damage.tails...)
	}
	return all
}

// leftOut is the name in a checkpoint of the files that are not read to their
// ends, which decides the position of every example.
const leftOut = "left_out"

// checkTails notes the ends of files that are left out, and refuses to go on with
// others than the run began with.
func (r *run) checkTails() error {
	lost, before := "", ""
	if r.damage != nil {
		lost = r.damage.lostTails()
	}
	if r.from != nil {
		before = r.from.State.Options[leftOut]
	}
	if r.from != nil && lost != before {
		return usagef("%s was made by another run: %s: the checkpoint has %q, this run %q: the data has changed since", r.from.Dir, leftOut, before, lost)
	}
	if lost != "" {
		r.state.Options = maps.Clone(r.state.Options)
		if r.state.Options == nil {
			r.state.Options = map[string]string{}
		}
		r.state.Options[leftOut] = lost
	}
	return nil
}
