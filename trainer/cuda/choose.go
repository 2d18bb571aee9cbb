package cuda

import (
	"time"

	"pretext/trainer/cuda/device"
)

// Ways to compute the activation of the feed-forward block: by cuBLASLt's
// epilogues, which save passes over memory, or by kernels of its own. Which is
// faster depends on the GPU and the library's version, so it is measured. The
// epilogues have the tanh form only.
const (
	fused = "fused"
	plain = "plain"
)

// choiceName is the name of the choice in the state's plans.
func (m *model) choiceName() string { return m.prefix + "GELU" }

// worthMeasuring is the number of multiplications of one product from which on
// the choice matters.
const worthMeasuring = 1 << 33

// choose decides how to compute the activation, once: as an earlier run did, or
// by measurement.
func (m *model) choose() {
	if m.choice != "" {
		return
	}
	saved := m.saved[m.choiceName()]
	switch {
	case !m.c.Activation.Tanh():
		m.choice = plain
	case m.forced != "":
		m.choice = m.forced
	case saved == fused || saved == plain:
		m.choice = saved
	case m.shape.tokens*m.c.HiddenSize*m.c.IntermediateSize < worthMeasuring:
		m.choice = plain
	default:
		m.choice = m.measure()
	}
}

// measure returns the faster way, by running both on a full batch of zeros.
func (m *model) measure() string {
	var events [2]device.Event
	for i := range events {
		e, err := m.device.NewEvent(true)
		m.try("event", err)
		events[i] = e
	}
	k, n := m.layer(0), m.shape.tokens
	m.clear(k.mid.y, n*m.c.HiddenSize*m.element.Size())
	if m.o.Train {
		m.clear(m.b.do, n*m.c.HiddenSize*m.element.Size())
	}
	best, fastest := plain, time.Duration(0)
	for _, way := range []string{plain, fused} {
		m.activateOnce(way) // plans the products
		m.record(events[0])
		for range 5 {
			m.activateOnce(way)
		}
		m.record(events[1])
		if took := m.elapsed(events); way == plain || took < fastest {
			best, fastest = way, took
		}
	}
	for _, e := range events {
		m.try("event", m.device.FreeEvent(e))
	}
	return best
}

// activateOnce computes the activation of a full batch, and its gradient.
func (m *model) activateOnce(way string) {
	k, n := m.layer(0), m.shape.tokens
	m.up(&m.p.blocks[0], k, n, way)
	if m.o.Train {
		m.upGrad(&m.p.blocks[0], k, n, way)
	}
}

// elapsed waits and returns the time between two events.
func (m *model) elapsed(events [2]device.Event) time.Duration {
	if m.sync() != nil {
		return 0
	}
	took, err := m.device.Elapsed(events[0], events[1])
	m.try("time", err)
	return took
}
