package session

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"pretext/internal/store"
	"pretext/trainer"
)

// Rates by time. With a schedule by time, the rate of a step depends on the time that
// has passed before the step, so two runs differ. The metrics record the rate and the
// time of every step. A run with ReplayRates reads the rates of another run from its
// metrics and gets the same weights. A resumed run reads the time spent before its
// checkpoint from the metrics and counts on from there.

// A pace gives the learning rates of a run with a budget of time.
type pace struct {
	schedule trainer.Schedule
	spent    time.Duration // time that earlier processes of the run took
	meter    *meter
	recorded []float64 // rate of every step from the first; nil: rates follow the clock
}

// openPace returns the pace of the run; nil if the schedule is not by time.
func (r *run) openPace() (*pace, error) {
	if !r.state.Schedule.ByTime() {
		return nil, nil
	}
	p := &pace{schedule: r.state.Schedule, meter: r.meter}
	if !r.leads() {
		return p, nil // the other ranks get the rates from rank 0
	}
	var err error
	if r.o.ReplayRates != "" {
		if p.recorded, err = recordedRates(r.o.ReplayRates); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(r.o.Out, MetricsFile)
	if r.branch {
		path = filepath.Join(filepath.Dir(r.from.Dir), MetricsFile)
	}
	p.spent, err = spentBefore(path, r.first.Step)
	return p, err
}

// elapsed returns the time that the completed steps of the run took.
func (p *pace) elapsed() time.Duration { return p.spent + p.meter.spent }

// rate returns the learning rate of a step; more is false if the time or the recorded
// rates have ended. It is the Rate of a [trainer.Loop].
func (p *pace) rate(step int64) (rate float64, more bool) {
	if p.recorded != nil {
		if step >= int64(len(p.recorded)) {
			return 0, false
		}
		return p.recorded[step], true
	}
	fraction := p.elapsed().Seconds() / p.schedule.Seconds
	return p.schedule.At(fraction), fraction < 1
}

// left returns the remaining time of the budget.
func (p *pace) left() time.Duration {
	return max(0, time.Duration(p.schedule.Seconds*float64(time.Second))-p.elapsed()).Round(time.Second)
}

// recordedRates reads the learning rate of every step from the metrics of a run.
func recordedRates(path string) (rates []float64, err error) {
	f, err := store.OpenRegular(path)
	if err != nil {
		return nil, fmt.Errorf("--replay-rates: %w", err)
	}
	defer f.Close()
	err = eachMetric(f, func(_ []byte, m metric) error {
		if m.Rate == nil {
			return nil
		}
		if m.Step != int64(len(rates))+1 {
			return usagef("--replay-rates %s: step %d follows step %d: not the metrics of a whole run", path, m.Step, len(rates))
		}
		rates = append(rates, *m.Rate)
		return nil
	})
	if err == nil && len(rates) == 0 {
		err = usagef("--replay-rates %s: no steps: give the %s of a run", path, MetricsFile)
	}
	return rates, err
}

// spentBefore returns the time that the steps of a run up to a given one took,
// according to its metrics.
func spentBefore(path string, steps int64) (spent time.Duration, err error) {
	if steps == 0 {
		return 0, nil
	}
	f, err := store.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, usagef("%s is missing: it has the time that the run has spent of its budget", path)
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	found := false
	err = eachMetric(f, func(_ []byte, m metric) error {
		if m.Rate != nil && m.Step == steps {
			spent, found = time.Duration(m.Spent*float64(time.Second)), true
		}
		return nil
	})
	if err == nil && !found {
		err = usagef("%s: no line of step %d, which has the time that the run has spent of its budget", path, steps)
	}
	return spent, err
}
