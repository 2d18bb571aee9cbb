package kernels_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/sim"
)

func checkCrossEntropy(f *fixture) {
	for _, c := range []struct {
		rows, classes, stride int
		weighted, gradient    bool
	}{{7, 1003, 1024, true, true}, {4, 2, 64, false, true}, {3, 300, 320, true, false}, {2, 256, 256, false, true}, {2, 1280, 1280, true, true}} {
		const coef, scale = 0.37, 1024
		logits := f.normal(c.rows * c.stride)
		for i := range logits {
			logits[i] *= 3
		}
		labels, weights := make([]int32, c.rows), make([]float64, c.rows)
		for r := range labels {
			labels[r], weights[r] = f.random.Int32N(int32(c.classes)), float64(float32(0.5+f.random.Float64()))
			for j := c.classes; j < c.stride; j++ {
				logits[r*c.stride+j] = 50 // padding must not count
			}
		}
		labels[1], weights[2%c.rows] = -1, 0
		bias := f.normal(c.stride)
		for j := range bias {
			bias[j] = math.Round(bias[j]) // ties below are exact
		}
		// In row 0 the label's logit is the largest, and a later one is equal to it.
		labels[0] = 0
		for j := range c.classes {
			logits[j] = min(logits[j], 9-bias[j])
		}
		logits[0], logits[c.classes-1] = 12-bias[0], 12-bias[c.classes-1]
		xAt, x := f.elems("logits", logits)
		biasAt, bias := f.elems("bias", bias)
		weightsAt, scaleAt := f.floats("weights", weights), f.floats("scale", []float64{scale})
		factor := coef * scale
		if !c.weighted {
			weightsAt, scaleAt, factor = 0, 0, coef
			for r := range weights {
				weights[r] = 1
			}
		}
		gradient := int32(0)
		if c.gradient {
			gradient = 1
		}
		loss, hit, labelsAt := f.outputFloats("loss", c.rows), f.outputFloats("hit", c.rows), numbers(f, "labels", labels)
		best := f.room("best", 4*c.rows)
		if !c.gradient {
			best = 0
		}
		f.launch("loss", "cross_entropy", sim.Dim{X: c.rows}, 256, xAt, biasAt, labelsAt, weightsAt, scaleAt, loss, hit, best, int32(c.classes), int32(c.stride), float32(coef), gradient)

		wantLoss, wantHit, want := make([]float64, c.rows), make([]float64, c.rows), make([]float64, len(x))
		lossSlack, slack := make([]float64, c.rows), make([]float64, len(x))
		var sums [3]float64
		wantBest := make([]int32, c.rows)
		for r, label := range labels {
			if label < 0 {
				wantBest[r] = -1
				continue
			}
			row, top := make([]float64, c.classes), 0
			for j := range row {
				row[j] = x[r*c.stride+j] + bias[j]
				if row[j] > row[top] {
					top = j
				}
			}
			var g, off []float64
			wantLoss[r], lossSlack[r], g, off = entropyRow(row, int(label))
			wantBest[r] = int32(top)
			if top == int(label) {
				wantHit[r] = 1
			}
			for j := range row {
				want[r*c.stride+j], slack[r*c.stride+j] = factor*weights[r]*g[j], factor*weights[r]*off[j]
			}
			sums[0] += weights[r] * wantLoss[r]
			sums[1] += weights[r]
			sums[2] += weights[r] * wantHit[r]
		}
		f.withinFloats("loss", f.readFloats(loss, c.rows), wantLoss, lossSlack)
		f.near("hit", f.readFloats(hit, c.rows), wantHit, 0)
		if best != 0 {
			if got := readAs[int32](f, best, c.rows); !slices.Equal(got, wantBest) {
				f.must(fmt.Errorf("best is %v, want %v", got, wantBest))
			}
		}
		if wantHit[0] != 1 {
			panic("BUG: the label of row 0 is not the largest")
		}
		if c.gradient {
			f.within("gradient", f.read(xAt, len(x)), want, slack)
		} else {
			f.near("logits", f.read(xAt, len(x)), x, 0)
		}
		total := numbers(f, "sums", []float64{1, 2, 3})
		f.launch("loss", "sum_losses", sim.Dim{}, 256, total, loss, hit, weightsAt, labelsAt, int32(c.rows))
		f.near("sums", readAs[float64](f, total, 3), []float64{1 + sums[0], 2 + sums[1], 3 + sums[2]}, 1e-6)
	}
}

// tied returns normal values of which several are the largest, some of them in the threads
// of one warp and some in others.
func (f *fixture) tied(n int) []float64 {
	x := f.normal(n)
	for _, i := range []int{6, 7, 1481, 1482, 1483, 1485, 1545, 1993, 1999} { // place 700 of the last sequence is 1480 and 1481
		if i < n {
			x[i] = 5
		}
	}
	return x
}

// checkSumsOfLosses adds up more rows than a block has threads.
func checkSumsOfLosses(f *fixture) {
	const n = 1900
	loss, weights, hits, labels := f.normal(n), f.normal(n), make([]float64, n), make([]int32, n)
	want := []float64{1, 2, 3}
	for i := range n {
		loss[i], weights[i] = float64(float32(loss[i])), float64(float32(math.Abs(weights[i])))
		hits[i], labels[i] = float64(i%3%2), int32(i%5)-1
		if labels[i] >= 0 {
			want[0] += weights[i] * loss[i]
			want[1] += weights[i]
			want[2] += weights[i] * hits[i]
		}
	}
	sums := numbers(f, "sums", []float64{1, 2, 3})
	f.launch("loss", "sum_losses", sim.Dim{}, 256, sums, f.floats("loss", loss), f.floats("hit", hits), f.floats("weights", weights), numbers(f, "labels", labels), int32(n))
	f.near("sums", readAs[float64](f, sums, 3), want, 1e-12)
}

func checkSpans(f *fixture) {
	const coef = 0.25
	// The last sequence takes more rounds of a block's threads than NVRTC unrolls.
	const tokens = 40 + 1300
	cu, labels := []int32{0, 1, 40, tokens}, []int32{0, 38, -1, -1, 3, 700}
	cuAt, labelsAt := numbers(f, "cu", cu), numbers(f, "labels", labels)
	for gradient := range int32(3) { // the last without a loss scale
		xAt, x := f.elems("logits", f.tied(2*tokens))
		biasAt, bias := f.elems("bias", []float64{-9, -12}) // all logits are negative
		scaleAt, scale := f.floats("scale", []float64{8}), 8.0
		if gradient == 2 {
			gradient, scaleAt, scale = 1, 0, 1
		}
		loss, hit := f.outputFloats("loss", 6), f.outputFloats("hit", 6)
		f.launch("loss", "span_entropy", sim.Dim{X: 3, Y: 2}, 256, xAt, biasAt, cuAt, labelsAt, scaleAt, loss, hit, float32(coef), gradient)
		want, wantLoss, wantHit := slices.Clone(x), make([]float64, 6), make([]float64, 6)
		slack, lossSlack := make([]float64, len(x)), make([]float64, 6)
		for end := range 2 {
			for s := range 3 {
				label, first, n := int(labels[3*end+s]), int(cu[s]), int(cu[s+1]-cu[s])
				row, g, off, top := make([]float64, n), make([]float64, n), make([]float64, n), 0
				for i := range row {
					row[i] = x[2*(first+i)+end] + bias[end]
					if row[i] > row[top] {
						top = i
					}
				}
				if label >= 0 {
					wantLoss[3*end+s], lossSlack[3*end+s], g, off = entropyRow(row, label)
					if top == label {
						wantHit[3*end+s] = 1
					}
				}
				for i := range row {
					if gradient == 1 {
						want[2*(first+i)+end], slack[2*(first+i)+end] = coef*scale*g[i], coef*scale*off[i]
					}
				}
			}
		}
		f.withinFloats("loss", f.readFloats(loss, 6), wantLoss, lossSlack)
		f.near("hit", f.readFloats(hit, 6), wantHit, 0)
		f.within("logits", f.read(xAt, len(x)), want, slack)
	}
}

func checkRegression(f *fixture) {
	const n, coef = 300, 0.5
	targets := f.normal(n)
	for i := range targets {
		targets[i] = float64(float32(targets[i]))
	}
	targets[7] = math.NaN()
	for gradient := range int32(3) { // the last with a loss scale
		scaleAt, scale := uint64(0), 1.0
		if gradient == 2 {
			scaleAt, scale = f.floats("scale", []float64{64}), 64
		}
		xAt, x := f.elems("scores", f.normal(n))
		biasAt, bias := f.elems("bias", f.normal(1))
		loss := f.outputFloats("loss", n)
		f.launch("loss", "squared_error", sim.Dim{X: blocks(n, 256)}, 256, xAt, biasAt, f.floats("targets", targets), scaleAt, loss, int32(n), float32(coef), gradient)
		want, wantLoss, slack, lossSlack := slices.Clone(x), make([]float64, n), make([]float64, n), make([]float64, n)
		for i, target := range targets {
			d, off := x[i]+bias[0]-target, 3*u32*(math.Abs(x[i])+math.Abs(bias[0])+math.Abs(target))
			if i == 7 {
				d, off = 0, 0
			}
			wantLoss[i], lossSlack[i] = d*d, 2*math.Abs(d)*off+off*off
			if gradient > 0 {
				want[i], slack[i] = 2*coef*scale*d, 2*coef*scale*off
			}
		}
		f.withinFloats("loss", f.readFloats(loss, n), wantLoss, lossSlack)
		f.within("scores", f.read(xAt, n), want, slack)
	}
}

func TestSumsOfLosses(t *testing.T) { eachType(t, kernels.BF16, checkSumsOfLosses) }

func TestSpans(t *testing.T)      { eachType(t, kernels.BF16, checkSpans) }
func TestRegression(t *testing.T) { eachType(t, kernels.F16, checkRegression) }

func TestCrossEntropy(t *testing.T) { eachType(t, kernels.F32, checkCrossEntropy) }
