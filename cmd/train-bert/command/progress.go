package command

import (
	"fmt"
	"io"
	"time"

	"pretext/internal/humanize"
	"pretext/trainer"
)

// lineInterval is the time between two lines of progress.
const lineInterval = 10 * time.Second

// A meter measures the speed of training and shows it, a line an interval.
// Time in which no step is computed (evaluations, checkpoints) does not count.
type meter struct {
	w           *console
	first, last int64 // steps of the run
	at          time.Time
	spent       time.Duration // on steps

	sums  trainer.Sums  // since the last line
	steps int64         // likewise
	since time.Duration // spent at the last line

	describe func(trainer.Sums) string // the losses, for people
	silent   bool                      // no lines, the bar alone
}

func newMeter(w io.Writer, last, first int64) *meter {
	c, ok := w.(*console)
	if !ok {
		c = newConsole(w)
	}
	return &meter{w: c, first: first, last: last, at: time.Now(), describe: describePretraining}
}

// pause stops the clock until the function it returns is called.
func (m *meter) pause() (resume func()) {
	now := time.Now()
	m.spent += now.Sub(m.at)
	return func() { m.at = time.Now() }
}

// step counts a finished step and returns its speed in tokens a second.
func (m *meter) step(r trainer.Report) float64 {
	now := time.Now()
	took := now.Sub(m.at)
	m.at, m.spent = now, m.spent+took
	m.steps++
	if !r.Info.Skipped {
		m.sums = m.sums.Add(r.Info.Sums)
	}
	done := r.Progress.Step
	m.w.bar(barState{done: done, last: m.last, loss: m.sums.Loss(), speed: perSecond(m.sums.Tokens, m.spent-m.since), left: m.left(done)})
	if done == m.first+1 || done == m.last || m.spent-m.since >= lineInterval {
		m.line(done)
	}
	return perSecond(r.Info.Sums.Tokens, took)
}

func (m *meter) line(done int64) {
	if !m.silent {
		fmt.Fprintf(m.w, "train-bert: step %d of %d: %s, %s tokens/s, about %s left\n", done, m.last,
			m.describe(m.sums), humanize.Count(int64(perSecond(m.sums.Tokens, m.spent-m.since))), humanize.Duration(m.left(done)))
	}
	m.sums, m.steps, m.since = trainer.Sums{}, 0, m.spent
}

func describePretraining(s trainer.Sums) string {
	return fmt.Sprintf("loss %.3f (mlm %.3f, nsp %.3f)", s.Loss(), s.MLM(), s.NSP())
}

// left estimates the time to the last step.
func (m *meter) left(done int64) time.Duration {
	return time.Duration(float64(m.spent) / float64(done-m.first) * float64(m.last-done)).Round(time.Second)
}

func perSecond(n float64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return n / d.Seconds()
}
