package cuda

import (
	"encoding/binary"
	"math"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
)

// update ends a step: it queues the optimizer's kernels for the parameters that this rank
// updates, and reads the sums of the step. It holds the optimizer's tables, the loss scale
// and the model's counters.
type update struct {
	*compute
	staging *staging
	o       trainer.Options
	params  *parameters
	heads   *heads
	ranks   *ranks

	parts, bounds, decays  device.Pointer // tables: see layout.parts and tables
	squares, moved, ratios device.Pointer // float32: (parts), (parts, 2) and (tensors) for LAMB and StableAdamW
	partCount              int            // parts of layout.parts
	controlHost            []byte         // page-locked, for the kernels.Control

	state           trainer.State // Plans is nil: see model.State
	tokens, batches float64       // tokens and sequences since the last step
}

// Sizes in bytes: kernels.Control, the offset of LossScale in it, kernels.Part, and the
// results that a step copies to the host (the Control, then the sums).
const (
	controlBytes    = 48
	lossScaleOffset = 24
	partBytes       = 16
	resultBytes     = controlBytes + 8*3*sumSlots
)

// firstLossScale is the loss scale of a new fp16 model; lossScaleGrowth is the
// number of updates without an overflow after which it doubles. Both are the
// defaults of PyTorch's GradScaler.
const (
	firstLossScale  = 1 << 16
	lossScaleGrowth = 2000
)

// request requests the optimizer's tables.
func (u *update) request(r *requests) {
	if !r.train {
		return
	}
	parts, bounds := u.params.layout.parts()
	tensors := len(u.params.layout.Specs)
	r.want("parts", &u.parts, partBytes*len(parts))
	r.want("bounds", &u.bounds, 4*len(bounds))
	r.want("decays", &u.decays, roundUp(tensors, 4))
	r.floats("squares", &u.squares, len(parts))
	r.floats("squares of LAMB", &u.moved, 2*len(parts))
	r.floats("ratios", &u.ratios, tensors)
}

// tables writes the optimizer's tables to the device: the parts, the first part of
// each tensor (bounds), and whether each tensor has weight decay (decays).
func (u *update) tables() {
	l := &u.params.layout
	parts, bounds := l.parts()
	u.partCount = len(parts)
	u.ranks.slices = l.slices(u.ranks.comm.Rank(), parts)
	decays := make([]byte, roundUp(len(l.Flat), 4))
	for t, i := range l.Flat {
		if l.Specs[i].Decay {
			decays[t] = 1
		}
	}
	u.staging.upload(u.decays, decays)
	u.staging.upload(u.bounds, packAll(bounds))
	u.staging.upload(u.parts, packAll(parts))
}

func packAll[T any](x []T) []byte {
	var b []byte
	for _, v := range x {
		b = append(b, kernels.Pack(v)...)
	}
	return b
}

// apply implements trainer.Model.Apply. The device decides the loss scale, and whether the
// step is skipped; the host waits once, for the results.
func (u *update) apply(s trainer.Schedule) (trainer.StepInfo, error) {
	u.ranks.reduce()
	rate := s.Rate(u.state.Step)
	u.optimize(rate)
	if u.eight != nil {
		u.eight.roll()
	}
	u.toHost(u.controlHost, u.control)
	u.toHost(u.heads.sumsHost, u.heads.sums)
	u.clear(u.heads.sums, sumsOfAPass*3*8)
	if err := u.device.Sync(); u.err == nil {
		u.err = err
	}
	if u.err != nil {
		return trainer.StepInfo{}, u.ranks.reason(u.err)
	}
	info := trainer.StepInfo{Sums: u.heads.sumsFrom(0), LossScale: u.state.LossScale, Rate: rate}
	info.Sums.Tokens, info.Sums.Sequences = u.tokens, u.batches
	u.tokens, u.batches = 0, 0
	var c kernels.Control
	if _, err := binary.Decode(u.controlHost, binary.LittleEndian, &c); err != nil {
		panic("BUG: " + err.Error())
	}
	info.GradNorm = float64(c.Norm)
	info.Skipped = !(c.Norm <= math.MaxFloat32) // infinity or NaN: the device has skipped the update
	if info.Skipped {
		info.Rate = 0
	} else {
		u.state.Step++
	}
	u.state.LossScale, u.state.GoodSteps = float64(c.LossScale), int64(c.Good)
	sums := info.Sums.Vector()
	err := u.ranks.comm.AllReduce(sums[:])
	info.Sums = trainer.SumsOf(sums)
	if err == nil && u.eight != nil {
		info.Saturated, err = u.eight.lost()
	}
	return info, err
}

// optimize queues the kernels that update the weights by AdamW, LAMB or StableAdamW. If the optimizer is
// divided over the ranks, each rank updates only its slices. The sums of squares of other
// ranks' slices are then zero until share adds them.
func (u *update) optimize(rate float64) {
	o := u.o.Optimizer
	r := kernels.Rule{
		Beta1: float32(o.Beta1), Rest1: float32(1 - o.Beta1), Beta2: float32(o.Beta2), Rest2: float32(1 - o.Beta2),
		Epsilon: float32(o.Epsilon), Decay: float32(o.WeightDecay), Rate: float32(rate), Clip: float32(o.ClipNorm),
	}
	if o.BiasCorrection {
		r.Correct = 1
	}
	if u.o.Precision == trainer.Float16 {
		r.Growth = lossScaleGrowth
	}
	p, parts, tensors, sharded := u.params, u.partCount, len(u.params.layout.Specs), u.params.layout.sharded
	if sharded {
		u.clear(u.squares, 4*parts)
	}
	u.eachSlice(func(s updated) {
		u.expect(0, 4*float64(p.layout.Size))
		u.launch("sum_squares", s.grid, s.squares, p.g, s.parts)
	})
	if sharded {
		u.ranks.share(u.squares, parts)
	}
	u.launch("begin_update", device.Dim{X: 1}, u.control, u.squares, int32(parts), r)
	if o.Name == trainer.AdamW {
		u.eachSlice(func(s updated) {
			u.expect(0, u.bytes())
			u.launch("adamw", s.grid, p.w, s.m, s.v, p.g, p.copy, u.decays, s.parts, u.control, r)
		})
	} else {
		if sharded {
			u.clear(u.moved, 8*parts)
		}
		direction := "lamb_direction"
		if o.Name == trainer.StableAdamW {
			direction = "stable_direction"
		}
		u.eachSlice(func(s updated) {
			u.launch(direction, s.grid, s.moved, p.w, s.m, s.v, p.g, u.decays, s.parts, u.control, r)
		})
		if sharded {
			u.ranks.share(u.moved, 2*parts)
		}
		if o.Name == trainer.StableAdamW {
			u.launch("stable_ratios", device.Dim{X: blocks(tensors, 256)}, u.ratios, u.moved, u.bounds, int32(tensors))
		} else {
			u.launch("lamb_ratios", device.Dim{X: blocks(tensors, 256)}, u.ratios, u.moved, u.bounds, u.decays, int32(tensors))
		}
		u.eachSlice(func(s updated) { u.launch("lamb_move", s.grid, p.w, p.g, p.copy, u.ratios, s.parts, u.control, r) })
	}
	if sharded {
		u.clear(p.g, 4*p.layout.Size) // the kernels have cleared only this rank's slices
		u.ranks.gatherWeights()
	}
}

// bytes returns what AdamW moves, for profiles, which have one rank: weights, moments and
// gradients are read and written, and a copy of the weights is written.
func (u *update) bytes() float64 {
	each := 32
	if u.params.copy != u.params.w {
		each += u.element.Size()
	}
	return float64(u.params.layout.Size) * float64(each)
}

// updated has the arguments of the optimizer's kernels for a range of parts. The kernels use
// the same index, that of the flat buffers, for a part's weights, gradients and moments. If
// this rank has only slices of the moments, m and v are shifted accordingly, so they may
// point before the moments' buffer.
type updated struct {
	grid                  device.Dim
	parts, squares, moved device.Pointer
	m, v                  device.Pointer
}

// eachSlice calls f for the parts that this rank updates: once for each of its slices, or
// once for all parts if the optimizer is not divided.
func (u *update) eachSlice(f func(updated)) {
	p := u.params
	if !p.layout.sharded {
		f(updated{device.Dim{X: u.partCount}, u.parts, u.squares, u.moved, p.m, p.v})
		return
	}
	for _, s := range u.ranks.slices {
		if s.parts == 0 {
			continue
		}
		shift := 4 * (s.moments - s.first)
		f(updated{device.Dim{X: s.parts}, u.parts.Add(partBytes * s.part), u.squares.Add(4 * s.part), u.moved.Add(8 * s.part), p.m.Add(shift), p.v.Add(shift)})
	}
}

// setState sets the counters, and writes them to the device. In fp32 and bf16 the loss
// scale becomes 1.
func (u *update) setState(s trainer.State) {
	if u.o.Precision != trainer.Float16 {
		s.LossScale = 1
	}
	u.state, u.state.Plans, u.state.Amax = s, nil, nil
	updates := s.Carried + s.Step
	u.staging.upload(u.control, kernels.Pack(kernels.Control{
		Beta1Power: power(u.o.Optimizer.Beta1, updates), Beta2Power: power(u.o.Optimizer.Beta2, updates),
		LossScale: float32(s.LossScale), Step: uint32(s.Step), Good: uint32(s.GoodSteps),
	}))
}

// power returns β to the power of n as begin_update computes it, one update after another
// and from β in single precision, so that a resumed run has the bits of one that was not
// stopped.
func power(beta float64, n int64) float64 {
	p := 1.0
	for ; n > 0 && p > 0; n-- {
		p *= float64(float32(beta))
	}
	return p
}
