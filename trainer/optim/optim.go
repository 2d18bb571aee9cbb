// Package optim implements the optimizers. trainer/cpu uses this package; other
// backends are tested against it.
//
// # AdamW, as in google-research/bert
//
// From optimization.py (AdamWeightDecayOptimizer): gradients are clipped by
// their global norm, the moments' bias is not corrected, epsilon is outside the
// root, and weight decay is added to the direction, not to the moments:
//
//	q = g · min(1, clip/‖g‖)
//	m ← β₁m + (1−β₁)q,  v ← β₂v + (1−β₂)q²
//	w ← w − rate·(m/(√v + ε) + decay·w)
//
// Because m and v start at zero, the first directions are about 3.16·sign(g);
// warm-up compensates for that. [trainer.Optimizer.BiasCorrection] selects the
// textbook rule instead (Loshchilov and Hutter, arXiv 1711.05101).
//
// # LAMB, as in NVIDIA's apex
//
// From FusedLAMB, as used in DeepLearningExamples: q = g / max(1, ‖g‖/clip),
// and the moments are as above with bias correction. For tensors with weight
// decay, the direction u is scaled by the trust ratio ‖w‖/‖u‖ of that tensor (1
// if either is 0), where w are the weights before the update:
//
//	u = m̂/(√v̂ + ε) + decay·w,  w ← w − rate·ratio·u
//
// Biases and LayerNorm have ratio 1 and no decay. The first step is number 1 in
// the bias correction.
//
// # StableAdamW
//
// AdamW whose step is smaller where gradients are larger than v expects (Wortsman et
// al. 2023, arXiv 2304.13013; optimi's StableAdamW). It replaces clipping by the global
// norm. For every tensor, with or without decay, and v after the update:
//
//	rms = √mean(q²/max(v̂, ε²)),  w ← w − rate/max(1, rms)·(m̂/(√v̂ + ε) + decay·w)
//
// # Usage
//
//	c := optim.For[float32](o, step, rate, norm)
//	for _, t := range tensors {
//		optim.Update(c.Decaying(t.Decay), t.W, t.M, t.V, t.G)
//	}
//
// This is AdamW. For LAMB and StableAdamW the same call writes the direction to g. The
// norms of w and g give LAMB's trust ratio, the sums of [Excess], computed before, give
// StableAdamW's [Damping], and [Move] completes the update. All functions
// work on any part of a tensor; disjoint parts may be updated concurrently.
package optim

import (
	"math"

	"pretext/trainer"
)

// Constants are the coefficients of one update:
//
//	q = Scale·g; m ← Beta1·m + Rest1·q; v ← Beta2·v + Rest2·q²
//	u = C1·m / (√(C2·v) + Epsilon) + Decay·w
//
// Then, if Direction is set, g ← u; otherwise w ← w − Rate·u.
type Constants[T float32 | float64] struct {
	Scale        T // 1, or less if the gradients are clipped
	Beta1, Rest1 T
	Beta2, Rest2 T
	C1, C2       T // bias corrections; 1 if not used
	Epsilon      T
	Decay, Rate  T
	Direction    bool
	decay        T
}

// For returns the constants of update number step of the moments, counted from 0. norm is the
// global norm of the gradients. Decay is zero; [Constants.Decaying] sets it.
func For[T float32 | float64](o trainer.Optimizer, step int64, rate, norm float64) Constants[T] {
	c1, c2 := 1.0, 1.0
	if o.BiasCorrection {
		c1 = 1 / (1 - math.Pow(o.Beta1, float64(step+1)))
		c2 = 1 / (1 - math.Pow(o.Beta2, float64(step+1)))
	}
	return Constants[T]{
		Scale: T(Clip(o, norm)), Beta1: T(o.Beta1), Rest1: T(1 - o.Beta1), Beta2: T(o.Beta2), Rest2: T(1 - o.Beta2),
		C1: T(c1), C2: T(c2), Epsilon: T(o.Epsilon), Rate: T(rate), Direction: o.Name != trainer.AdamW, decay: T(o.WeightDecay),
	}
}

// Decaying returns the constants for a tensor with or without weight decay.
func (c Constants[T]) Decaying(on bool) Constants[T] {
	c.Decay = 0
	if on {
		c.Decay = c.decay
	}
	return c
}

// Clip returns the factor that scales gradients with this global norm down to the norm
// o.ClipNorm; 1 if the norm is smaller or o does not clip.
func Clip(o trainer.Optimizer, norm float64) float64 {
	if o.ClipNorm == 0 || norm <= o.ClipNorm {
		return 1
	}
	return o.ClipNorm / norm
}

// Update updates the moments m and v of a part of a tensor from its gradients
// g. Then it updates the weights w or, if c.Direction is set, writes the
// direction to g. All slices must have the length of g.
func Update[T float32 | float64](c Constants[T], w, m, v, g []T) {
	w, m, v = w[:len(g)], m[:len(g)], v[:len(g)]
	for i, q := range g {
		q *= c.Scale
		m[i] = c.Beta1*m[i] + c.Rest1*q
		v[i] = c.Beta2*v[i] + c.Rest2*(q*q)
		u := c.C1*m[i]/(T(math.Sqrt(float64(c.C2*v[i])))+c.Epsilon) + c.Decay*w[i]
		if c.Direction {
			g[i] = u
		} else {
			w[i] -= c.Rate * u
		}
	}
}

// TrustRatio returns LAMB's trust ratio ‖w‖/‖u‖ for a tensor with weight decay. weights is
// the sum of squares of its weights w; direction is that of its direction u.
func TrustRatio(weights, direction float64) float64 {
	if weights > 0 && direction > 0 {
		return math.Sqrt(weights) / math.Sqrt(direction)
	}
	return 1
}

// Excess returns the sum of q²/max(v̂, ε²) over a part of a tensor, where v̂ is the second
// moment after the update that follows.
func Excess[T float32 | float64](c Constants[T], v, g []T) float64 {
	v = v[:len(g)]
	floor, sum := c.Epsilon*c.Epsilon, 0.0
	for i, q := range g {
		q *= c.Scale
		q *= q
		sum += float64(q / max(c.C2*(c.Beta2*v[i]+c.Rest2*q), floor))
	}
	return sum
}

// Damping returns StableAdamW's factor of the rate for a tensor of n elements; excess is the
// sum of [Excess] over its parts.
func Damping(excess float64, n int) float64 { return 1 / max(1, math.Sqrt(excess/float64(n))) }

// Move completes an update: w ← w − rate·u. rate is the learning rate times the
// factor of the tensor.
func Move[T float32 | float64](rate T, w, u []T) {
	w = w[:len(u)]
	for i, d := range u {
		w[i] -= rate * d
	}
}

// SumSquares returns the sum of squares of x in double precision, in a fixed
// order.
func SumSquares[T float32 | float64](x []T) float64 {
	var s [4]float64
	for len(x) >= 4 {
		for i := range 4 {
			v := float64(x[i])
			s[i] += v * v
		}
		x = x[4:]
	}
	for _, v := range x {
		s[0] += float64(v) * float64(v)
	}
	return s[0] + s[1] + (s[2] + s[3])
}
