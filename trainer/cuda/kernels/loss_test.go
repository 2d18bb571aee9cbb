package kernels_test

import (
	"math"
	"testing"

	"pretext/trainer/cuda/sim"
)

func checkCrossEntropy(f *fixture) {
	for _, c := range []struct {
		rows, classes, stride int
		weighted, gradient    bool
	}{{7, 1003, 1024, true, true}, {4, 2, 64, false, true}, {3, 300, 320, true, false}, {2, 256, 256, false, true}} {
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
		labels[1] = -1
		bias := f.normal(c.stride)
		for j := range bias {
			bias[j] = math.Round(bias[j]) // ties below are exact
		}
		// In row 0 the label's logit is the largest, and a later one is equal to it.
		labels[0] = 0
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
		f.launch("loss", "cross_entropy", sim.Dim{X: c.rows}, 256, xAt, biasAt, labelsAt, weightsAt, scaleAt, loss, hit, int32(c.classes), int32(c.stride), float32(coef), gradient)

		wantLoss, wantHit, want := make([]float64, c.rows), make([]float64, c.rows), make([]float64, len(x))
		var sums [3]float64
		for r, label := range labels {
			if label < 0 {
				continue
			}
			row := make([]float64, c.classes)
			best, sum := 0, 0.0
			for j := range row {
				row[j] = x[r*c.stride+j] + bias[j]
				if row[j] > row[best] {
					best = j
				}
			}
			for _, v := range row {
				sum += math.Exp(v - row[best])
			}
			wantLoss[r] = math.Log(sum) + row[best] - row[label]
			if best == int(label) {
				wantHit[r] = 1
			}
			for j, v := range row {
				p := math.Exp(v-row[best]) / sum
				if j == int(label) {
					p--
				}
				want[r*c.stride+j] = factor * weights[r] * p
			}
			sums[0] += weights[r] * wantLoss[r]
			sums[1] += weights[r]
			sums[2] += weights[r] * wantHit[r]
		}
		f.near("loss", f.readFloats(loss, c.rows), wantLoss, 1e-6)
		f.near("hit", f.readFloats(hit, c.rows), wantHit, 0)
		if wantHit[0] != 1 {
			panic("BUG: the label of row 0 is not the largest")
		}
		if c.gradient {
			f.near("gradient", f.read(xAt, len(x)), want, 2*f.precision())
		} else {
			f.near("logits", f.read(xAt, len(x)), x, 0)
		}
		total := numbers(f, "sums", []float64{1, 2, 3})
		f.launch("loss", "sum_losses", sim.Dim{}, 256, total, loss, hit, weightsAt, labelsAt, int32(c.rows))
		f.near("sums", readAs[float64](f, total, 3), []float64{1 + sums[0], 2 + sums[1], 3 + sums[2]}, 1e-6)
	}
}

func TestCrossEntropy(t *testing.T) { eachType(t, checkCrossEntropy) }
