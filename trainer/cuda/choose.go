package cuda

import (
	"time"

	"pretext/trainer/cuda/device"
)

// Ways to compute the activation of the feed-forward block: fused uses cuBLASLt's
// epilogues, which save passes over memory; plain uses separate kernels. Which is
// faster depends on the GPU and on the version of cuBLASLt, so it is measured. The
// epilogues support the tanh form of GELU only.
const (
	fused = "fused"
	plain = "plain"
)

// choiceName returns the key in State.Plans under which m.choice, fused or plain,
// is stored.
func (m *model) choiceName() string { return m.prefix + "GELU" }

// worthMeasuring is the minimum number of multiplications in the feed-forward
// product of a full batch for which choose measures.
const worthMeasuring = 1 << 33

// choose sets m.choice to fused or plain the first time that it is called. It uses
// the choice of the resumed run if there is one, and otherwise measures large
// models; small models use plain.
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
	case int64(m.shape.tokens)*int64(m.c.HiddenSize)*int64(m.c.IntermediateSize) < worthMeasuring:
		m.choice = plain
	default:
		m.choice = m.measure()
	}
}

// measure runs plain and fused on a full batch of zeros and returns the faster
// one.
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

// activateOnce queues the activation of a full batch and, in training, its
// gradient. way is fused or plain.
func (m *model) activateOnce(way string) {
	k, n := m.layer(0), m.shape.tokens
	m.up(&m.p.blocks[0], k, n, way)
	if m.o.Train {
		m.upGrad(&m.p.blocks[0], k, n, way)
	}
}

// elapsed waits for the stream and returns the time between two events; 0 after
// an error.
func (m *model) elapsed(events [2]device.Event) time.Duration {
	if m.sync() != nil {
		return 0
	}
	took, err := m.device.Elapsed(events[0], events[1])
	m.try("time", err)
	return took
}
