package device

import (
	"errors"
	"time"
)

// Spans measures the time of each piece of queued work, with an event before it and one
// after it. The events take time too, so that the sum of the spans is greater than the time
// of the work without them. T says what a piece is.
type Spans[T any] struct {
	device  Device
	pending []span[T]
	free    []Event
}

type span[T any] struct {
	what     T
	from, to Event
}

// NewSpans returns spans without any work. The events live until the device is closed.
func NewSpans[T any](d Device) Spans[T] { return Spans[T]{device: d} }

// Measure calls queue, which queues work on stream s.
func (m *Spans[T]) Measure(s Stream, what T, queue func() error) error {
	from, err := m.event()
	if err != nil {
		return err
	}
	to, err := m.event()
	if err != nil {
		return err
	}
	m.pending = append(m.pending, span[T]{what, from, to})
	return errors.Join(m.device.Record(s, from), queue(), m.device.Record(s, to))
}

// event returns an unused event, or creates one.
func (m *Spans[T]) event() (Event, error) {
	if n := len(m.free); n > 0 {
		e := m.free[n-1]
		m.free = m.free[:n-1]
		return e, nil
	}
	return m.device.NewEvent(true)
}

// Read waits for all work of the device. It calls each with every piece of work that was
// measured since the last call, and its time.
func (m *Spans[T]) Read(each func(what T, took time.Duration)) error {
	if err := m.device.Sync(); err != nil {
		return err
	}
	for _, s := range m.pending {
		took, err := m.device.Elapsed(s.from, s.to)
		if err != nil {
			return err
		}
		each(s.what, took)
		m.free = append(m.free, s.from, s.to)
	}
	m.pending = m.pending[:0]
	return nil
}
