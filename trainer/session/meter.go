package session

import (
	"fmt"
	"io"
	"time"

	"pretext/internal/humanize"
	"pretext/trainer"
)

// lineInterval is the time between two lines of progress.
const lineInterval = 10 * time.Second

// Progress is the state of a run after a step.
type Progress struct {
	Step, Last int64         // steps done, and steps of the run
	Loss       float64       // mean since the previous log line
	Speed      float64       // tokens per second, since the same line
	Left       time.Duration // estimated time to the last step
}

// A meter measures the speed of training and logs one line per interval. The
// time of evaluations does not count.
type meter struct {
	log         io.Writer
	first, last int64 // steps done before this process, and last step of the run
	at          time.Time
	spent       time.Duration // time spent on steps

	sums  trainer.Sums  // sums since the last log line
	since time.Duration // value of spent at the last log line

	losses func(trainer.Sums) string // formats losses for the log
	silent bool                      // log nothing
	budget func() time.Duration      // returns the remaining time; nil: estimate it from the steps
	notify func(Progress)            // may be nil
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
	if !r.Info.Skipped {
		m.sums = m.sums.Add(r.Info.Sums)
	}
	done := r.Progress.Step
	p := Progress{Step: done, Last: m.last, Loss: m.sums.Loss(), Speed: PerSecond(m.sums.Tokens, m.spent-m.since), Left: m.left(done)}
	if m.budget != nil { // the last step is not known
		p.Last = done + int64(float64(p.Left)/float64(m.spent)*float64(done-m.first))
	}
	if m.notify != nil {
		m.notify(p)
	}
	if done == m.first+1 || done == m.last || m.spent-m.since >= lineInterval {
		m.line(p)
	}
	return PerSecond(r.Info.Sums.Tokens, took)
}

func (m *meter) line(p Progress) {
	if !m.silent {
		steps := fmt.Sprintf("step %d of %d", p.Step, p.Last)
		if m.budget != nil {
			steps = fmt.Sprintf("step %d", p.Step)
		}
		fmt.Fprintf(m.log, "%s: %s, %s tokens/s, about %s left\n", steps,
			m.losses(m.sums), humanize.Count(int64(p.Speed)), humanize.Duration(p.Left))
	}
	m.sums, m.since = trainer.Sums{}, m.spent
}

func pretrainingLosses(s trainer.Sums) string {
	if s.NSPCount == 0 {
		return fmt.Sprintf("mlm loss %.3f", s.MLM())
	}
	return fmt.Sprintf("loss %.3f (mlm %.3f, nsp %.3f)", s.Loss(), s.MLM(), s.NSP())
}

// left estimates the time to the last step.
func (m *meter) left(done int64) time.Duration {
	if m.budget != nil {
		return m.budget()
	}
	return time.Duration(float64(m.spent) / float64(done-m.first) * float64(m.last-done)).Round(time.Second)
}

// PerSecond returns n divided by d in seconds; 0 if d is 0.
func PerSecond(n float64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return n / d.Seconds()
}
