package device

import (
	"errors"
	"time"
)

// A Timer measures work on a stream of its own.
type Timer struct {
	Device
	Stream   Stream
	from, to Event
}

// NewTimer creates a timer. It lives until the device is closed.
func NewTimer(d Device) (*Timer, error) {
	t := &Timer{Device: d}
	var err error
	if t.Stream, err = d.NewStream(); err != nil {
		return nil, err
	}
	for _, e := range []*Event{&t.from, &t.to} {
		if *e, err = d.NewEvent(true); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Mean calls queue, which queues work on t.Stream, twice and then ten times. It returns the
// mean time that the work of the ten calls took.
func (t *Timer) Mean(queue func() error) (time.Duration, error) {
	const before, repeats = 2, 10
	for i := range before + repeats {
		if i == before {
			if err := t.Record(t.Stream, t.from); err != nil {
				return 0, err
			}
		}
		if err := queue(); err != nil {
			return 0, err
		}
	}
	if err := errors.Join(t.Record(t.Stream, t.to), t.SyncEvent(t.to)); err != nil {
		return 0, err
	}
	took, err := t.Elapsed(t.from, t.to)
	return took / repeats, err
}
