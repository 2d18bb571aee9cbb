package cpu

import (
	"errors"
	"fmt"
	"math"

	"pretext/trainer"
	"pretext/trainer/optim"
)

// Apply implements trainer.Model. With several ranks, each rank has the summed
// gradients of all parameters and makes the same update. With
// trainer.Options.ShardOptimizer, each rank has those of its own parts, updates
// these, and all gather the weights (ZeRO-1, Rajbhandari et al. 2020).
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
	if err := m.reduce(); err != nil {
		return trainer.StepInfo{}, err
	}
	info, err := m.agree()
	if err != nil || info.Skipped {
		return info, err
	}
	m.unshare()
	info.Rate = s.Rate(m.state.Step)
	c := optim.For[T](m.o.Optimizer, m.state.Step, info.Rate, info.GradNorm)
	if err := m.update(c); err != nil {
		return info, err
	}
	m.state.Step++
	m.state.GoodSteps++
	if m.sharded {
		return info, m.gather(m.w)
	}
	return info, nil
}

// agree computes the gradient norm and adds up m.sums over all ranks. The step
// is skipped if the norm is not finite.
func (m *model[T]) agree() (trainer.StepInfo, error) {
	squares := make([]float64, len(m.parts))
	m.pool.Do(len(m.parts), func(_, i int) { squares[i] = m.set.SumSquares(m.g[m.parts[i].lo:m.parts[i].hi]) })
	total := 0.0
	for _, q := range squares {
		total += q
	}
	sums := m.sums.Vector()
	all := sums[:]
	if m.sharded {
		all = append(all, total)
	}
	if err := m.comm.AllReduce(all); err != nil {
		return trainer.StepInfo{}, err
	}
	copy(sums[:], all)
	if m.sharded {
		total = all[len(sums)]
	}
	norm := math.Sqrt(total)
	return trainer.StepInfo{
		Sums: trainer.SumsOf(sums), GradNorm: norm, LossScale: 1,
		Skipped: math.IsNaN(norm) || math.IsInf(norm, 0),
	}, nil
}

// A part is a range of the flat buffers inside one tensor.
type part struct {
	lo, hi int
	at     int // index of the first element in the moments, which hold only the parts that this rank updates
	tensor int // index in the layout's specs
}

// partSize is the maximum size of a part, the unit of work of a thread and of
// summation.
const partSize = 1 << 14

// ownParts returns the parts that this rank updates, ascending, and their total
// size.
func (m *model[T]) ownParts() (parts []part, size int) {
	if !m.sharded {
		return m.layout.appendParts(nil, 0, m.layout.size), m.layout.size
	}
	for _, b := range m.buckets {
		lo, hi := b.own(m.comm.Rank())
		parts = m.layout.appendParts(parts, lo, hi)
	}
	for i := range parts {
		parts[i].at = size
		size += parts[i].hi - parts[i].lo
	}
	return parts, size
}

// appendParts divides [lo, hi) of the flat buffers at tensor borders, and at
// multiples of partSize within a tensor.
func (l *layout) appendParts(parts []part, lo, hi int) []part {
	for _, t := range l.flat {
		begin := l.offset[t]
		end := begin + l.specs[t].Size()
		if end <= lo || begin >= hi {
			continue
		}
		for at := begin; at < end; at += partSize {
			p := part{lo: max(at, lo), hi: min(at+partSize, end, hi), tensor: t}
			if p.at = p.lo; p.lo < p.hi {
				parts = append(parts, p)
			}
		}
	}
	return parts
}

// update applies the optimizer to this rank's parts.
func (m *model[T]) update(c optim.Constants[T]) error {
	m.pool.Do(len(m.parts), func(_, i int) {
		p := m.parts[i]
		lo, hi, at, end := p.lo, p.hi, p.at, p.at+p.hi-p.lo
		m.set.Adam(c.Decaying(m.layout.specs[p.tensor].Decay), m.w[lo:hi], m.m[at:end], m.v[at:end], m.g[lo:hi])
	})
	if !c.Direction {
		return nil
	}
	ratios, err := m.trustRatios()
	if err != nil {
		return err
	}
	m.pool.Do(len(m.parts), func(_, i int) {
		p := m.parts[i]
		optim.Move(c.Rate*T(ratios[p.tensor]), m.w[p.lo:p.hi], m.g[p.lo:p.hi])
	})
	return nil
}

// trustRatios returns LAMB's trust ratio of every tensor; 1 for tensors without
// decay.
func (m *model[T]) trustRatios() ([]float64, error) {
	squares := make([][2]float64, len(m.parts))
	m.pool.Do(len(m.parts), func(_, i int) {
		p := m.parts[i]
		squares[i] = [2]float64{m.set.SumSquares(m.w[p.lo:p.hi]), m.set.SumSquares(m.g[p.lo:p.hi])}
	})
	sums := make([]float64, 2*len(m.layout.specs))
	for i, p := range m.parts {
		sums[2*p.tensor] += squares[i][0]
		sums[2*p.tensor+1] += squares[i][1]
	}
	if m.sharded {
		if err := m.comm.AllReduce(sums); err != nil {
			return nil, err
		}
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
