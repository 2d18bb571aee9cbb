package cpu

import (
	"math"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/optim"
)

// update ends a step: it applies the optimizer to the parameters that this rank updates. It
// holds the model's counters and the sums of the step.
type update[T kernel.Float] struct {
	*compute[T]
	optimizer trainer.Optimizer
	params    *parameters[T]
	ranks     *ranks[T]
	state     trainer.State
	sums      trainer.Sums // of the batches since the last step
}

// apply implements trainer.Model.Apply. With several ranks, each rank has the summed
// gradients of all parameters and makes the same update. With trainer.Options.ShardOptimizer,
// each rank has only the summed gradients of its own parts and updates these parts; then
// the weights are gathered on all ranks (ZeRO-1, Rajbhandari et al. 2020).
func (u *update[T]) apply(s trainer.Schedule) (trainer.StepInfo, error) {
	if err := u.ranks.reduce(u.params.g); err != nil {
		return trainer.StepInfo{}, err
	}
	info, err := u.agree()
	if err != nil {
		return info, err
	}
	if !info.Skipped {
		u.params.unshare()
		info.Rate = s.Rate(u.state.Step)
		c := optim.For[T](u.optimizer, u.state.Carried+u.state.Step, info.Rate, info.GradNorm)
		if err := u.optimize(c); err != nil {
			return info, err
		}
		u.state.Step++
		u.state.GoodSteps++
		if u.ranks.sharded {
			if err := u.ranks.gather(u.params.w); err != nil {
				return info, err
			}
		}
	}
	if info.Skipped || u.optimizer.Name != trainer.AdamW || u.ranks.sharded {
		clear(u.params.g) // otherwise optimize has cleared every part
	}
	info.Saturated = u.lower.roll()
	u.sums = trainer.Sums{}
	return info, nil
}

// agree computes the gradient norm over all ranks, and adds up u.sums over all ranks. It
// reports the step as skipped if the norm is not finite.
func (u *update[T]) agree() (trainer.StepInfo, error) {
	squares := make([]float64, len(u.params.parts))
	u.pool.Do(len(u.params.parts), func(_, i int) { squares[i] = u.set.SumSquares(u.params.g[u.params.parts[i].lo:u.params.parts[i].hi]) })
	total := 0.0
	for _, q := range squares {
		total += q
	}
	sums := u.sums.Vector()
	all := sums[:]
	if u.ranks.sharded {
		all = append(all, total)
	}
	if err := u.ranks.comm.AllReduce(all); err != nil {
		return trainer.StepInfo{}, err
	}
	copy(sums[:], all)
	if u.ranks.sharded {
		total = all[len(sums)]
	}
	norm := math.Sqrt(total)
	return trainer.StepInfo{
		Sums: trainer.SumsOf(sums), GradNorm: norm, LossScale: 1,
		Skipped: math.IsNaN(norm) || math.IsInf(norm, 0),
	}, nil
}

// optimize applies the optimizer to this rank's parts.
func (u *update[T]) optimize(c optim.Constants[T]) error {
	stable := u.optimizer.Name == trainer.StableAdamW
	sums := make([][2]float64, len(u.params.parts)) // of each part, for the factor of its tensor
	u.pool.Do(len(u.params.parts), func(_, i int) {
		p := u.params.parts[i]
		lo, hi, at, end := p.lo, p.hi, p.at, p.at+p.hi-p.lo
		w, m, v, g := u.params.w[lo:hi], u.params.m[at:end], u.params.v[at:end], u.params.g[lo:hi]
		if stable {
			sums[i][0] = optim.Excess(c, v, g)
		}
		u.set.Adam(c.Decaying(u.params.layout.Specs[p.tensor].Decay), w, m, v, g)
		if !c.Direction {
			clear(g) // while it is in the cache
		}
		if c.Direction && !stable {
			sums[i] = [2]float64{u.set.SumSquares(w), u.set.SumSquares(g)}
		}
	})
	if !c.Direction {
		return nil
	}
	factors, err := u.factors(sums)
	if err != nil {
		return err
	}
	u.pool.Do(len(u.params.parts), func(_, i int) {
		p := u.params.parts[i]
		optim.Move(c.Rate*T(factors[p.tensor]), u.params.w[p.lo:p.hi], u.params.g[p.lo:p.hi])
	})
	return nil
}

// factors returns the factor of the rate of every tensor, given the sums of every part:
// StableAdamW's damping; LAMB's trust ratio, 1 for tensors without decay.
func (u *update[T]) factors(parts [][2]float64) ([]float64, error) {
	sums := make([]float64, 2*len(u.params.layout.Specs))
	for i, p := range u.params.parts {
		sums[2*p.tensor] += parts[i][0]
		sums[2*p.tensor+1] += parts[i][1]
	}
	if u.ranks.sharded {
		if err := u.ranks.comm.AllReduce(sums); err != nil {
			return nil, err
		}
	}
	factors := make([]float64, len(u.params.layout.Specs))
	for i, s := range u.params.layout.Specs {
		switch {
		case u.optimizer.Name == trainer.StableAdamW:
			factors[i] = optim.Damping(sums[2*i], s.Size())
		case s.Decay:
			factors[i] = optim.TrustRatio(sums[2*i], sums[2*i+1])
		default:
			factors[i] = 1
		}
	}
	return factors, nil
}
