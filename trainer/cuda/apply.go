package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
)

// Sizes in bytes: kernels.Control, the offset of LossScale in it, and the
// results that a step copies to the host (the Control, then the sums).
const (
	controlBytes    = 48
	lossScaleOffset = 24
	resultBytes     = controlBytes + 8*3*sumSlots
)

// Apply implements trainer.Model. The loss scale and whether the step is skipped
// are decided on the device; the host waits once, for the results.
func (m *model) Apply(s trainer.Schedule) (trainer.StepInfo, error) {
	err := m.usable()
	if err == nil && !m.o.Train {
		err = errors.New("the model was not opened for training")
	}
	var info trainer.StepInfo
	if err == nil {
		info, err = m.apply(s)
	}
	if err != nil {
		return info, fmt.Errorf("apply: %w", err)
	}
	return info, nil
}

func (m *model) apply(s trainer.Schedule) (trainer.StepInfo, error) {
	m.reduce()
	rate := s.Rate(m.state.Step)
	m.update(m.rule(rate))
	m.toHost(m.results[:controlBytes], m.b.control)
	m.toHost(m.results[controlBytes:], m.b.sums)
	m.clear(m.b.sums, sumsOfAPass*3*8)
	if err := m.device.Sync(); m.err == nil {
		m.err = err
	}
	if m.err != nil {
		return trainer.StepInfo{}, m.reason(m.err)
	}
	info := trainer.StepInfo{Sums: m.sumsFrom(0), LossScale: m.state.LossScale, Rate: rate}
	info.Sums.Tokens, info.Sums.Sequences = m.tokens, m.batches
	m.tokens, m.batches = 0, 0
	m.finish(&info)
	sums := info.Sums.Vector()
	err := m.comm.AllReduce(sums[:])
	info.Sums = trainer.SumsOf(sums)
	return info, err
}

// finish updates m.state and info from the kernels.Control that the update
// copied to m.results. A gradient norm of infinity or NaN means that the device
// skipped the update.
func (m *model) finish(info *trainer.StepInfo) {
	c := controlFrom(m.results)
	info.GradNorm = float64(c.Norm)
	info.Skipped = !(c.Norm <= math.MaxFloat32)
	if info.Skipped {
		info.Rate = 0
	} else {
		m.state.Step++
	}
	m.state.LossScale, m.state.GoodSteps = float64(c.LossScale), int64(c.Good)
}

// rule returns the optimizer's hyperparameters in the form that the kernels take;
// rate is the learning rate of this step.
func (m *model) rule(rate float64) kernels.Rule {
	o := m.o.Optimizer
	r := kernels.Rule{
		Beta1: float32(o.Beta1), Rest1: float32(1 - o.Beta1), Beta2: float32(o.Beta2), Rest2: float32(1 - o.Beta2),
		Epsilon: float32(o.Epsilon), Decay: float32(o.WeightDecay), Rate: float32(rate), Clip: float32(o.ClipNorm),
	}
	if o.BiasCorrection {
		r.Correct = 1
	}
	if m.o.Precision == trainer.Float16 {
		r.Growth = lossScaleGrowth
	}
	return r
}

// update queues the kernels that update all weights by AdamW or LAMB. If the ranks
// divide the optimizer, each updates its slices. The sums of squares of other ranks'
// slices are then zero until share adds them.
func (m *model) update(r kernels.Rule) {
	b, parts, tensors := &m.b, m.partCount, len(m.layout.specs)
	if m.layout.sharded {
		m.clear(b.squares, 4*parts)
	}
	m.eachSlice(func(s updated) { m.launch("sum_squares", s.grid, s.squares, b.g, s.parts) })
	if m.layout.sharded {
		m.share(b.squares, parts)
	}
	m.launch("begin_update", device.Dim{X: 1}, b.control, b.squares, int32(parts), r)
	if m.o.Optimizer.Name == trainer.AdamW {
		m.eachSlice(func(s updated) {
			m.launch("adamw", s.grid, b.w, s.m, s.v, b.g, b.copy, b.decays, s.parts, b.control, r)
		})
	} else {
		if m.layout.sharded {
			m.clear(b.moved, 8*parts)
		}
		m.eachSlice(func(s updated) {
			m.launch("lamb_direction", s.grid, s.moved, b.w, s.m, s.v, b.g, b.decays, s.parts, b.control, r)
		})
		if m.layout.sharded {
			m.share(b.moved, 2*parts)
		}
		m.launch("lamb_ratios", device.Dim{X: blocks(tensors, 256)}, b.ratios, b.moved, b.bounds, b.decays, int32(tensors))
		m.eachSlice(func(s updated) { m.launch("lamb_move", s.grid, b.w, b.g, b.copy, b.ratios, s.parts, b.control, r) })
	}
	if m.layout.sharded {
		m.clear(b.g, 4*m.layout.size) // the kernels have cleared only this rank's slices
		m.gatherWeights()
	}
}

// An updated holds the arguments of the optimizer's kernels for a range of parts.
// Kernels find a part's weights, gradients and moments by one index, that of the flat
// buffers; so m and v may lie before the moments' buffer.
type updated struct {
	grid                  device.Dim
	parts, squares, moved device.Pointer
	m, v                  device.Pointer
}

// eachSlice calls f for the parts that this rank updates: for each of its slices or,
// if the optimizer is not divided, once for all.
func (m *model) eachSlice(f func(updated)) {
	if !m.layout.sharded {
		f(updated{device.Dim{X: m.partCount}, m.b.parts, m.b.squares, m.b.moved, m.b.m, m.b.v})
		return
	}
	for _, s := range m.slices {
		if s.parts == 0 {
			continue
		}
		shift := 4 * (s.moments - s.first)
		f(updated{device.Dim{X: s.parts}, m.b.parts.Add(partBytes * s.part), m.b.squares.Add(4 * s.part), m.b.moved.Add(8 * s.part), m.b.m.Add(shift), m.b.v.Add(shift)})
	}
}

// partBytes is the size of a kernels.Part.
const partBytes = 16

// State implements trainer.Model. State.Plans holds the algorithms chosen for
// matrix products on this device, and the entries for other devices that were
// passed to SetState.
func (m *model) State() trainer.State {
	s := m.state
	s.Plans = m.algorithms()
	if m.choice != "" {
		s.Plans[m.choiceName()] = m.choice
	}
	if len(s.Plans) == 0 {
		s.Plans = nil
	}
	return s
}

// SetState implements trainer.Model. In fp32 and bf16 the loss scale becomes 1.
// Existing product plans are freed; later products use the algorithms in s.Plans.
func (m *model) SetState(s trainer.State) {
	if m.o.Precision != trainer.Float16 {
		s.LossScale = 1
	}
	if m.sync() == nil {
		m.try("free plans", m.forget())
	}
	m.saved, m.choice = maps.Clone(s.Plans), ""
	m.state, m.state.Plans = s, nil
	m.upload(m.b.control, kernels.Pack(kernels.Control{
		Beta1Power: math.Pow(m.o.Optimizer.Beta1, float64(s.Step)), Beta2Power: math.Pow(m.o.Optimizer.Beta2, float64(s.Step)),
		LossScale: float32(s.LossScale), Step: uint32(s.Step), Good: uint32(s.GoodSteps),
	}))
}

// controlFrom decodes the kernels.Control at the start of b, as kernels.Pack
// encodes it.
func controlFrom(b []byte) (c kernels.Control) {
	if _, err := binary.Decode(b, binary.LittleEndian, &c); err != nil {
		panic("BUG: " + err.Error())
	}
	return c
}

func uint64At(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
