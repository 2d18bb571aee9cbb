package kernels_test

import (
	"math"
	"slices"
	"testing"

	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/sim"
	"pretext/trainer/dropout"
)

// Hard inputs: what a trained model has and random numbers around 0 have not. Every element
// of a result is compared with its correctly rounded value.

// largeScores returns queries, keys and values of one head whose scores are about ±100:
// query r is ±3.5 times a vector of signs, and key k is sign(sequence, k) times it, plus
// small numbers, which make a softmax over several keys.
func (f *fixture) largeScores(lengths []int, sign func(sequence, k int) float64) []float64 {
	var qkv []float64
	for s, n := range lengths {
		for r := range n {
			x := f.normal(3 * headSize)
			for i := range headSize {
				direction := 1 - 2*float64(i*i/3%2)
				x[i] = 0.2*x[i] + 3.5*direction*(1-2*float64(r%2))
				x[headSize+i] = 0.2*x[headSize+i] + 3.5*direction*sign(s, r)
			}
			qkv = append(qkv, x...)
		}
	}
	return qkv
}

// hardAttention makes problems with scores of ±100: all scores of a row below −90, the
// largest score in the first tile, or in the last one, and keys that end inside a tile in
// which the sequence goes on.
func (f *fixture) hardAttention(p float64) *attention {
	lengths, visible := []int{70, 130, 3}, []int32{50, 100, 3}
	return f.attentionOf(f.largeScores(lengths, func(sequence, k int) float64 {
		if sequence == 1 && k >= 64 {
			return -1
		}
		return 1
	}), 1, p, lengths, visible)
}

func checkHardAttention(f *fixture) {
	a := f.hardAttention(0.1)
	a.holdsElements(f, f.plainAttention(a))
}

func checkHardFlash(f *fixture) {
	a := f.hardAttention(0.1)
	a.holdsElements(f, f.flashAttention(a, false))
	a.holdsElements(f, f.flashAttention(a, true))
}

// checkEnds has keys that end at places of a tile, the sequence in the same tile or in the
// next.
func (f *fixture) checkEnds(keys []int32, attend func(a *attention) attended) {
	lengths := make([]int, len(keys))
	for i, n := range keys {
		lengths[i] = int(n) + 1 + i%2*3
	}
	a := f.attention(1, 0, lengths, keys)
	a.holdsElements(f, attend(a))
}

var someEnds = []int32{1, 17, 63, 64, 65}

// allEnds returns every place of a tile, or every place beside a multiple of step.
func allEnds(step int) (keys []int32) {
	for n := range int32(65) {
		if (n+1)%int32(step) <= 1 {
			keys = append(keys, n+1)
		}
	}
	return keys
}

func (f *fixture) fasterFlash(a *attention) attended { return f.flashAttention(a, true) }

func checkEndsOfFlash(f *fixture)     { f.checkEnds(someEnds, f.fasterFlash) }
func checkEndsOfAttention(f *fixture) { f.checkEnds(someEnds[1:3], f.plainAttention) }

// entropyRow is the definition of cross entropy: the loss and the gradient of a row, with
// bounds on the errors of single precision.
func entropyRow(row []float64, label int) (loss, lossSlack float64, gradient, slack []float64) {
	top, sum := slices.Max(row), 0.0
	for _, v := range row {
		sum += math.Exp(v - top)
	}
	loss = math.Log(sum) + top - row[label]
	lossSlack = 4*u32*(math.Abs(top)+math.Abs(row[label])+math.Log(sum)) + 16*u32
	gradient, slack = make([]float64, len(row)), make([]float64, len(row))
	for j, v := range row {
		gradient[j] = math.Exp(v-top) / sum
		slack[j] = gradient[j] * (4*u32*(math.Abs(v)+math.Abs(top)) + 64*u32)
		if j == label {
			gradient[j]--
		}
		slack[j] += 4 * u32 * math.Abs(gradient[j])
	}
	return loss, lossSlack, gradient, slack
}

// checkHardEntropy has logits of ±100, as those of a trained model, rows that are all
// large or all small.
func checkHardEntropy(f *fixture) { f.hardEntropy(6, 997, 1024) }

func (f *fixture) hardEntropy(rows, classes, stride int) {
	const coef, scale = 0.4, 64
	shift := []float64{0, 100, -100, 90, -95, 40} // of all logits of a row
	logits, labels := f.normal(rows*stride), make([]int32, rows)
	for i := range logits {
		r, j := i/stride, i%stride
		logits[i] = 3*logits[i] + shift[r%len(shift)]
		if j%50 == r { // a few stand out, and a few are hopeless
			logits[i] += 12
		} else if j%50 == 7 && r%2 == 0 {
			logits[i] -= 100
		}
	}
	for r := range labels {
		labels[r] = f.random.Int32N(int32(classes))
	}
	labels[1] = 1 // of those that stand out
	xAt, x := f.elems("logits", logits)
	biasAt, bias := f.elems("bias", f.normal(stride))
	loss, hit, best := f.outputFloats("loss", rows), f.outputFloats("hit", rows), f.room("best", 4*rows)
	scaleAt := f.floats("scale", []float64{scale})
	f.launch("loss", "cross_entropy", sim.Dim{X: rows}, 256, xAt, biasAt, numbers(f, "labels", labels), uint64(0), scaleAt, loss, hit, best, int32(classes), int32(stride), float32(coef), int32(1))

	wantLoss, lossSlack, want, slack := make([]float64, rows), make([]float64, rows), make([]float64, len(x)), make([]float64, len(x))
	factor := float64(float32(coef) * scale)
	for r, label := range labels {
		row := make([]float64, classes)
		for j := range row {
			row[j] = x[r*stride+j] + bias[j]
		}
		var g, off []float64
		wantLoss[r], lossSlack[r], g, off = entropyRow(row, int(label))
		for j := range row {
			want[r*stride+j], slack[r*stride+j] = factor*g[j], factor*off[j]
		}
	}
	f.withinFloats("loss", f.readFloats(loss, rows), wantLoss, lossSlack)
	f.within("gradient", f.read(xAt, len(x)), want, slack)
}

// hardRows are rows on which a LayerNorm loses digits: of tiny variance, all equal, far from
// 0, with one value that is much larger than the others, and all 0.
func (f *fixture) hardRows(h int) []float64 {
	x := f.normal(6 * h)
	for i := range h {
		x[i] *= 1e-4
		x[h+i] = 3
		x[2*h+i] = x[2*h+i]*0.05 + 20
		x[3*h+i] *= 100
		x[4*h+i] = 0
	}
	x[3*h+5] = 6000
	return x
}

func checkHardNorm(f *fixture) {
	for _, h := range []int{64, 768} {
		x := f.hardRows(h)
		n := len(x) / h
		rows := f.sequences(4, n-4).rows
		_, none := masks(0, dropout.At(dropout.FeedForward, 0))
		xAt, x := f.elems("x", x)
		gainAt, gain, biasAt, bias := f.affine(h)
		y, inverse := f.output("y", n*h), f.outputFloats("inverse", n)
		xhat, _ := f.elems("xhat", filled(n*h, untouched))
		f.launch("norm", "norm_forward", sim.Dim{X: blocks(n, 4)}, 128, y, xhat, inverse, xAt, uint64(0), uint64(0), gainAt, biasAt, rows, none, int32(h), float32(eps))
		var want normOutput
		for i := range n {
			want.add(x[i*h:(i+1)*h], absolutes(x[i*h:(i+1)*h]), gain, bias)
		}
		want.unstored(gain, bias)
		want.holds(f, f.read(y, n*h), f.read(xhat, n*h), f.readFloats(inverse, n))
	}
}

func TestHardAttention(t *testing.T) { eachType(t, kernels.F16, checkHardAttention) }
func TestHardFlash(t *testing.T) {
	inTypes(t, kernels.F16, []kernels.Type{kernels.BF16, kernels.F16}, checkHardFlash)
}
func TestEndsOfAttention(t *testing.T) {
	eachType(t, kernels.F32, func(f *fixture) {
		checkEndsOfAttention(f)
		if all() {
			f.checkEnds(allEnds(8), f.plainAttention)
		}
	})
}
func TestEndsOfFlash(t *testing.T) {
	inTypes(t, kernels.BF16, []kernels.Type{kernels.BF16, kernels.F16}, func(f *fixture) {
		checkEndsOfFlash(f)
		if all() {
			f.checkEnds(allEnds(1), f.fasterFlash)
		}
	})
}
func TestHardCrossEntropy(t *testing.T) {
	eachType(t, kernels.BF16, func(f *fixture) {
		checkHardEntropy(f)
		if all() {
			f.hardEntropy(2, 30522, 30528) // the vocabulary of BERT
		}
	})
}
func TestHardNorm(t *testing.T) { eachType(t, kernels.BF16, checkHardNorm) }
