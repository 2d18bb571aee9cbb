package kernels_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pretext/trainer"
	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/sim"
	"pretext/trainer/optim"
)

// sizes are those of the tensors of a model, each with padding to a multiple of
// 64 behind it; every second one decays.
var sizes = []int{128, 5003, 64, 9000, 2}

// flatBuffer lays tensors out and cuts them into parts.
func flatBuffer() (n int, parts []kernels.Part, bounds []int32) {
	bounds = []int32{0}
	for t, size := range sizes {
		padded := (size + 63) &^ 63
		for at := 0; at < size; at += kernels.PartSize {
			parts = append(parts, kernels.Part{First: int64(n + at), N: int32(min(kernels.PartSize, size-at)), Tensor: int32(t)})
		}
		n += padded
		bounds = append(bounds, int32(len(parts)))
	}
	return n, parts, bounds
}

// padded returns random values whose padding is zero.
func (f *fixture) padded(n int, square bool) []float64 {
	x, at := make([]float64, 0, n), 0
	for _, size := range sizes {
		for range size {
			v := float64(float32(f.random.NormFloat64()))
			if square {
				v = float64(float32(v * v))
			}
			x = append(x, v)
		}
		for at += (size + 63) &^ 63; len(x) < at; {
			x = append(x, 0)
		}
	}
	return x
}

// checkUpdates takes five steps, of which the third overflows, and compares with
// trainer/optim in double precision.
func checkUpdates(f *fixture) {
	for _, c := range []struct {
		name        trainer.OptimizerName
		clip, scale float64
		growth      int
		correct     bool
	}{{trainer.AdamW, 1, 1, 0, false}, {trainer.AdamW, 0, 1024, 2, true}, {trainer.LAMB, 1, 4096, 2, true}, {trainer.StableAdamW, 0, 64, 2, true}} {
		o := trainer.DefaultOptimizer(c.name)
		o.ClipNorm, o.BiasCorrection = c.clip, c.correct
		n, list, bounds := flatBuffer()
		parts, boundsAt := numbers(f, "parts", list), numbers(f, "bounds", bounds)
		decays := make([]uint8, len(sizes))
		for t := range decays {
			decays[t] = uint8(t % 2)
		}
		decaysAt := numbers(f, "decays", decays)
		w, m, v := f.padded(n, false), make([]float64, n), make([]float64, n)
		start := slices.Clone(w)
		wAt, mAt, vAt, gAt := f.floats("w", w), f.floats("m", m), f.floats("v", v), f.floats("g", m)
		low, _ := f.elems("copy", make([]float64, n))
		sums, squares, ratios := f.outputFloats("sums", len(list)), f.outputFloats("squares", 2*len(list)), f.outputFloats("ratios", len(sizes))
		control := numbers(f, "control", []kernels.Control{{Beta1Power: 1, Beta2Power: 1, LossScale: float32(c.scale)}})
		scale, good, step, skipped := c.scale, 0, int64(0), uint32(0)
		for round := range 5 {
			rate := 0.01 / float64(round+1)
			g := f.padded(n, false)
			for i := range g[:128] { // of tiny second moments
				g[i] *= 1e-5
			}
			scaled := make([]float64, n)
			for i := range g {
				scaled[i] = g[i] * scale
			}
			if round == 2 {
				scaled[130] = math.Inf(1)
			}
			f.write(gAt, float32Bytes(scaled))
			rule := kernels.Rule{
				Beta1: float32(o.Beta1), Rest1: float32(1 - o.Beta1), Beta2: float32(o.Beta2), Rest2: float32(1 - o.Beta2), Epsilon: float32(o.Epsilon),
				Decay: float32(o.WeightDecay), Rate: float32(rate), Clip: float32(o.ClipNorm), Growth: uint32(c.growth),
			}
			if c.correct {
				rule.Correct = 1
			}
			grid := sim.Dim{X: len(list)}
			f.launch("optim", "sum_squares", grid, 256, sums, gAt, parts)
			f.launch("optim", "begin_update", sim.Dim{}, 256, control, sums, int32(len(list)), rule)
			switch c.name {
			case trainer.StableAdamW:
				f.launch("optim", "stable_direction", grid, 256, squares, wAt, mAt, vAt, gAt, decaysAt, parts, control, rule)
				f.launch("optim", "stable_ratios", sim.Dim{}, 256, ratios, squares, boundsAt, int32(len(sizes)))
				f.launch("optim", "lamb_move", grid, 256, wAt, gAt, low, ratios, parts, control, rule)
			case trainer.LAMB:
				f.launch("optim", "lamb_direction", grid, 256, squares, wAt, mAt, vAt, gAt, decaysAt, parts, control, rule)
				f.launch("optim", "lamb_ratios", sim.Dim{}, 256, ratios, squares, boundsAt, decaysAt, int32(len(sizes)))
				f.launch("optim", "lamb_move", grid, 256, wAt, gAt, low, ratios, parts, control, rule)
			default:
				f.launch("optim", "adamw", grid, 256, wAt, mAt, vAt, gAt, low, decaysAt, parts, control, rule)
			}

			if round == 2 {
				skipped, good = skipped+1, 0
				if c.growth > 0 {
					scale /= 2
				}
			} else {
				f.stepInGo(o, step, rate, w, m, v, g)
				step++
				if good++; good == c.growth {
					scale, good = 2*scale, 0
				}
			}
			state := readControl(f, control)
			if float64(state.LossScale) != scale || state.Step != uint32(step) || state.Good != uint32(good) || state.Skipped != skipped {
				f.must(fmt.Errorf("%s round %d: state %+v, want scale %v, step %d, good %d, skipped %d", c.name, round, state, scale, step, good, skipped))
			}
			if round != 2 {
				f.near("norm", []float64{float64(state.Norm)}, []float64{math.Sqrt(optim.SumSquares(g))}, 1e-6)
			}
			f.near("gradients", f.readFloats(gAt, n), make([]float64, n), 0)
		}
		got := f.readFloats(wAt, n)
		_, rounded := f.encode(got)
		f.near("copy", f.read(low, n), rounded, 0)
		moved := make([]float64, n)
		for i := range w {
			got[i] -= start[i]
			moved[i] = w[i] - start[i]
		}
		f.near("movement of the weights", got, moved, 2e-5)
		f.near("first moments", f.readFloats(mAt, n), m, 1e-6)
		f.near("second moments", f.readFloats(vAt, n), v, 1e-6)
	}
}

// checkManyParts has more parts, and more tensors, than a block has threads.
func checkManyParts(f *fixture) {
	const n, tensors = 1900, 300
	sums, squares := f.normal(n), f.normal(2*n)
	total := 0.0
	for i := range sums {
		sums[i] = float64(float32(math.Abs(sums[i])))
		total += sums[i]
	}
	for i := range squares {
		squares[i] = float64(float32(math.Abs(squares[i])))
	}
	control := numbers(f, "control", []kernels.Control{{Beta1Power: 1, Beta2Power: 1, LossScale: 1}})
	f.launch("optim", "begin_update", sim.Dim{}, 256, control, f.floats("sums", sums), int32(n), kernels.Rule{})
	f.near("norm", []float64{float64(readControl(f, control).Norm)}, []float64{math.Sqrt(total)}, 1e-7)

	bounds, decays, want := []int32{0}, make([]uint8, tensors), make([]float64, tensors)
	for t := range tensors {
		decays[t] = uint8(t % 3 % 2)
		bounds = append(bounds, bounds[t]+int32(1+t%11))
	}
	bounds[tensors] = n
	for t := range want {
		w, u := 0.0, 0.0
		for i := bounds[t]; i < bounds[t+1]; i++ {
			w, u = w+squares[2*i], u+squares[2*i+1]
		}
		want[t] = 1
		if decays[t] != 0 {
			want[t] = math.Sqrt(w) / math.Sqrt(u)
		}
	}
	ratios := f.outputFloats("ratios", tensors)
	f.launch("optim", "lamb_ratios", sim.Dim{X: blocks(tensors, 256)}, 256, ratios, f.floats("squares", squares), numbers(f, "bounds", bounds), numbers(f, "decays", decays), int32(tensors))
	f.near("ratios", f.readFloats(ratios, tensors), want, 1e-6)

	// A part of an excess above 1, and of one below.
	for i := range squares {
		if i%2 == 1 {
			squares[i] = float64(1 + i%7)
		} else {
			squares[i] *= 8
		}
	}
	for t := range want {
		excess, elements := 0.0, 0.0
		for i := bounds[t]; i < bounds[t+1]; i++ {
			excess, elements = excess+squares[2*i], elements+squares[2*i+1]
		}
		want[t] = optim.Damping(excess, int(elements))
	}
	f.launch("optim", "stable_ratios", sim.Dim{X: blocks(tensors, 256)}, 256, ratios, f.floats("squares", squares), numbers(f, "bounds", bounds), int32(tensors))
	f.near("damping", f.readFloats(ratios, tensors), want, 1e-6)
}

// stepInGo is a step of trainer/optim.
func (f *fixture) stepInGo(o trainer.Optimizer, step int64, rate float64, w, m, v, g []float64) {
	rule := optim.For[float64](o, step, rate, math.Sqrt(optim.SumSquares(g)))
	at := 0
	for t, size := range sizes {
		lo, hi := at, at+size
		at += (size + 63) &^ 63
		decays := t%2 == 1
		u := slices.Clone(g[lo:hi])
		excess := optim.Excess(rule, v[lo:hi], u)
		optim.Update(rule.Decaying(decays), w[lo:hi], m[lo:hi], v[lo:hi], u)
		if o.Name == trainer.LAMB {
			ratio := 1.0
			if decays {
				ratio = optim.TrustRatio(optim.SumSquares(w[lo:hi]), optim.SumSquares(u))
			}
			optim.Move(rate*ratio, w[lo:hi], u)
		}
		if o.Name == trainer.StableAdamW {
			optim.Move(rate*optim.Damping(excess, size), w[lo:hi], u)
		}
	}
}

func float32Bytes(x []float64) []byte {
	y := make([]any, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return kernels.Pack(y...)
}

func readControl(f *fixture, p uint64) kernels.Control { return readAs[kernels.Control](f, p, 1)[0] }

func TestManyParts(t *testing.T) { eachType(t, kernels.BF16, checkManyParts) }
func TestUpdates(t *testing.T)   { eachType(t, kernels.BF16, checkUpdates) }
