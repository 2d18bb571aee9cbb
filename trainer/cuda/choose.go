package cuda

import (
	"time"

	"pretext/trainer/cuda/device"
)

// Ways to compute the activation of the feed-forward block, and the gradients of biases:
// fused uses cuBLASLt's epilogues, which save passes over memory; plain uses separate
// kernels. Which is faster depends on the GPU and on the version of cuBLASLt, so it is
// measured. The epilogues of GELU support the tanh form only, and may compute tanh by the
// hardware's instruction, whose relative error of 2^-11 is lost in 16 bits but not in fp32.
const (
	fused = "fused"
	plain = "plain"
)

// A choice is the way to compute something, fused or plain.
type choice struct {
	name   string // in State.Plans, after the prefix of plan names
	way    string // "": not chosen yet
	forced string // way set by a test; "": none
}

// key returns the key in State.Plans under which the way is stored.
func (c *choice) key(prefix string) string { return prefix + c.name }

// choices returns all choices of the encoder.
func (e *encoder) choices() []*choice { return []*choice{&e.activation, &e.sums} }

// worthMeasuring is the minimum number of multiplications in the feed-forward
// product of a full batch for which choose measures, and of a product for which tune does.
const worthMeasuring = 1 << 33

// choose makes each choice at its first call: plain in fp32, whatever the checkpoint says. If
// the checkpoint has a choice, it uses that. Otherwise it measures both ways for a large
// model; a small model is plain. A deterministic run does not measure, because the next one
// may measure something else: its large models are fused.
func (e *encoder) choose() {
	if e.modern != nil {
		return // its activation is no epilogue, and it has no biases
	}
	p, k, n := &e.p.Layers[0], e.kept(0), e.tokens
	e.pick(&e.activation, e.config.Activation.Tanh(), func(way string) {
		e.up(p, k, n, way)
		if e.o.Train {
			e.upGrad(p, k, n, way)
		}
	})
	e.pick(&e.sums, e.o.Train, func(way string) { e.denseGrad(e.d.u, k.mid.y, n, p.Up, way) })
}

// pick makes a choice. fusible is false if only plain is right. run computes it in a way.
func (e *encoder) pick(c *choice, fusible bool, run func(way string)) {
	if c.way != "" {
		return
	}
	saved := e.saved[c.key(e.prefix)]
	switch {
	case !fusible || e.element == device.Float32 || e.eight != nil: // 8-bit products have no epilogues of these
		c.way = plain
	case c.forced != "":
		c.way = c.forced
	case saved == fused || saved == plain:
		c.way = saved
	case int64(e.tokens)*int64(e.config.HiddenSize)*int64(e.config.IntermediateSize) < e.large:
		c.way = plain
	case e.o.Deterministic:
		c.way = fused
	default:
		c.way = e.measure(run)
	}
}

// measure runs what is to be chosen on a full batch of zeros, both plain and fused. It returns
// the faster of the two.
func (e *encoder) measure(run func(way string)) string {
	var events [2]device.Event
	for i := range events {
		event, err := e.device.NewEvent(true)
		e.try("event", err)
		events[i] = event
	}
	// Products are measured with real numbers, later.
	measures := e.measures
	e.measures = false
	defer func() {
		e.measures = measures
		e.try("free plans", e.forget())
	}()
	e.zeros()
	best, fastest := plain, time.Duration(0)
	for _, way := range []string{plain, fused} {
		for i := range 6 {
			if i == 1 { // the first run includes planning the products and is not timed
				e.record(events[0])
			}
			run(way)
		}
		e.record(events[1])
		if e.sync() != nil {
			break
		}
		took, err := e.device.Elapsed(events[0], events[1])
		e.try("time", err)
		if way == plain || took < fastest {
			best, fastest = way, took
		}
	}
	for _, event := range events {
		e.try("event", e.device.FreeEvent(event))
	}
	return best
}

// zeros clears what measure reads. Gradients of parameters stay what they are, because zeros
// are added to them.
func (e *encoder) zeros() {
	k, n, size := e.kept(0), e.tokens, e.element.Size()
	e.clear(k.mid.y, n*e.config.HiddenSize*size)
	if e.o.Train {
		e.clear(e.d.o, n*e.config.HiddenSize*size)
		e.clear(e.d.u, n*e.config.IntermediateSize*size)
	}
}
