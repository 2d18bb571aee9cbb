package cuda

import (
	"time"

	"pretext/trainer/cuda/device"
)

// Ways to compute the activation of the feed-forward block: fused uses cuBLASLt's
// epilogues, which save passes over memory; plain uses separate kernels. Which is
// faster depends on the GPU and on the version of cuBLASLt, so it is measured. The
// epilogues support the tanh form of GELU only, and may compute tanh by the hardware's
// instruction, whose relative error of 2^-11 is lost in 16 bits but not in fp32.
const (
	fused = "fused"
	plain = "plain"
)

// choiceName returns the key in State.Plans under which e.choice, fused or plain,
// is stored.
func (e *encoder) choiceName() string { return e.prefix + "GELU" }

// worthMeasuring is the minimum number of multiplications in the feed-forward
// product of a full batch for which choose measures, and of a product for which tune does.
const worthMeasuring = 1 << 33

// choose sets e.choice to fused or plain at its first call: plain in fp32, whatever the
// checkpoint says. If the checkpoint has a choice, it uses that. Otherwise it measures both
// ways for a large model; a small model uses plain.
func (e *encoder) choose() {
	if e.choice != "" {
		return
	}
	saved := e.saved[e.choiceName()]
	switch {
	case !e.config.Activation.Tanh() || e.element == device.Float32:
		e.choice = plain
	case e.forced != "":
		e.choice = e.forced
	case saved == fused || saved == plain:
		e.choice = saved
	case int64(e.tokens)*int64(e.config.HiddenSize)*int64(e.config.IntermediateSize) < worthMeasuring:
		e.choice = plain
	default:
		e.choice = e.measure()
	}
}

// measure runs the activation, and in training its gradient, on a full batch of zeros, both
// plain and fused. It returns the faster of the two.
func (e *encoder) measure() string {
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
	p, k, n := &e.p.Layers[0], e.kept(0), e.tokens
	e.clear(k.mid.y, n*e.config.HiddenSize*e.element.Size())
	if e.o.Train {
		e.clear(e.d.o, n*e.config.HiddenSize*e.element.Size())
	}
	best, fastest := plain, time.Duration(0)
	for _, way := range []string{plain, fused} {
		for i := range 6 {
			if i == 1 { // the first run includes planning the products and is not timed
				e.record(events[0])
			}
			e.up(p, k, n, way)
			if e.o.Train {
				e.upGrad(p, k, n, way)
			}
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
