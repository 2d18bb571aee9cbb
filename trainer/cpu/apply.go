package cpu

import (
	"errors"
	"fmt"
	"math"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/optim"
)

// Apply implements trainer.Model. Each rank updates its own part of the flat
// buffer (ZeRO-1, Rajbhandari et al. 2020), then all gather the weights.
func (m *model[T]) Apply(s trainer.Schedule) (trainer.StepInfo, error) {
	if m.closed || !m.o.Train {
		return trainer.StepInfo{}, errors.New("apply: the model is closed or was not opened for training")
	}
	info, err := m.apply(s)
	if err != nil {
		return info, fmt.Errorf("apply: %w", err)
	}
	clear(m.g)
	m.sums = trainer.Sums{}
	return info, nil
}

func (m *model[T]) apply(s trainer.Schedule) (trainer.StepInfo, error) {
	bounds := m.bounds()
	if err := m.comm.ReduceScatter(values(m.g), bounds); err != nil {
		return trainer.StepInfo{}, err
	}
	parts := m.parts(bounds[m.comm.Rank()], bounds[m.comm.Rank()+1])
	info, err := m.agree(parts)
	if err != nil || info.Skipped {
		return info, err
	}
	m.unshare()
	info.Rate = s.Rate(m.state.Step)
	c := optim.For[T](m.o.Optimizer, m.state.Step, info.Rate, info.GradNorm)
	if err := m.update(parts, c); err != nil {
		return info, err
	}
	m.state.Step++
	m.state.GoodSteps++
	return info, m.comm.AllGather(values(m.w), bounds)
}

// agree adds up the squared gradient norm and m.sums over all ranks. The step
// is skipped if the norm is not finite.
func (m *model[T]) agree(parts []part) (trainer.StepInfo, error) {
	squares := make([]float64, len(parts))
	m.pool.Do(len(parts), func(_, i int) { squares[i] = m.set.SumSquares(m.g[parts[i].lo:parts[i].hi]) })
	total := 0.0
	for _, q := range squares {
		total += q
	}
	sums := m.sums.Vector()
	all := append([]float64{total}, sums[:]...)
	if err := m.comm.AllReduce(all); err != nil {
		return trainer.StepInfo{}, err
	}
	copy(sums[:], all[1:])
	norm := math.Sqrt(all[0])
	return trainer.StepInfo{
		Sums: trainer.SumsOf(sums), GradNorm: norm, LossScale: 1,
		Skipped: math.IsNaN(norm) || math.IsInf(norm, 0),
	}, nil
}

// A part is a range of the flat buffer inside one tensor.
type part struct {
	lo, hi int
	tensor int // index in the layout's specs
}

// partSize is the maximum size of a part, the unit of work of a thread and of
// summation.
const partSize = 1 << 14

// parts divides [lo, hi) of the flat buffer at tensor borders, and at multiples
// of partSize within a tensor.
func (m *model[T]) parts(lo, hi int) []part {
	var parts []part
	for _, t := range m.layout.flat {
		begin := m.layout.offset[t]
		end := begin + m.layout.specs[t].Size()
		for at := begin; at < end; at += partSize {
			p := part{max(at, lo), min(at+partSize, end, hi), t}
			if p.lo < p.hi {
				parts = append(parts, p)
			}
		}
	}
	return parts
}

// bounds returns the index at which each rank's part of the flat buffer begins,
// and the length of the buffer as the last element.
func (m *model[T]) bounds() []int {
	ranks := m.comm.Size()
	bounds := make([]int, ranks+1)
	for r := range bounds {
		bounds[r] = m.layout.size / ranks * r
	}
	bounds[ranks] = m.layout.size
	return bounds
}

// update applies the optimizer to this rank's parts.
func (m *model[T]) update(parts []part, c optim.Constants[T]) error {
	m.pool.Do(len(parts), func(_, i int) {
		p := parts[i]
		lo, hi := p.lo, p.hi
		m.set.Adam(c.Decaying(m.layout.specs[p.tensor].Decay), m.w[lo:hi], m.m[lo:hi], m.v[lo:hi], m.g[lo:hi])
	})
	if !c.Direction {
		return nil
	}
	ratios, err := m.trustRatios(parts)
	if err != nil {
		return err
	}
	m.pool.Do(len(parts), func(_, i int) {
		p := parts[i]
		optim.Move(c.Rate*T(ratios[p.tensor]), m.w[p.lo:p.hi], m.g[p.lo:p.hi])
	})
	return nil
}

// trustRatios returns LAMB's trust ratio of every tensor; 1 for tensors without
// decay.
func (m *model[T]) trustRatios(parts []part) ([]float64, error) {
	squares := make([][2]float64, len(parts))
	m.pool.Do(len(parts), func(_, i int) {
		p := parts[i]
		squares[i] = [2]float64{m.set.SumSquares(m.w[p.lo:p.hi]), m.set.SumSquares(m.g[p.lo:p.hi])}
	})
	sums := make([]float64, 2*len(m.layout.specs))
	for i, p := range parts {
		sums[2*p.tensor] += squares[i][0]
		sums[2*p.tensor+1] += squares[i][1]
	}
	if err := m.comm.AllReduce(sums); err != nil {
		return nil, err
	}
	ratios := make([]float64, len(m.layout.specs))
	for i, s := range m.layout.specs {
		ratios[i] = 1
		if s.Decay {
			ratios[i] = optim.TrustRatio(sums[2*i], sums[2*i+1])
		}
	}
	return ratios, nil
}

// values returns x as the argument of a trainer.Comm.
func values[T kernel.Float](x []T) trainer.Values {
	switch x := any(x).(type) {
	case []float32:
		return trainer.Float32s(x)
	case []float64:
		return trainer.Float64s(x)
	}
	panic("BUG: no such element type")
}
