package kernels_test

import (
	"math"
	"slices"
	"testing"

	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/sim"
	"pretext/trainer/dropout"
)

// sequences are a batch's: lengths, first rows, global positions, and the
// sequence of every row.
type sequences struct {
	cu       []int32
	position []int64
	row      []int32
	rows     kernels.Rows
	cuAt     uint64
	posAt    uint64
}

func (f *fixture) sequences(lengths ...int) *sequences {
	s := &sequences{cu: []int32{0}}
	for i, n := range lengths {
		for range n {
			s.row = append(s.row, int32(i))
		}
		s.cu = append(s.cu, int32(len(s.row)))
		s.position = append(s.position, int64(i)*7+1<<33)
	}
	s.cuAt, s.posAt = numbers(f, "cu", s.cu), numbers(f, "position", s.position)
	s.rows = kernels.Rows{Sequence: numbers(f, "sequence", s.row), Cu: s.cuAt, Position: s.posAt, N: int32(len(s.row))}
	return s
}

// drop drops row `row` of the batch, of width h.
func (s *sequences) drop(m dropout.Mask, x []float64, row, h int, site dropout.Site) {
	q := s.row[row]
	dropout.Hidden(m, x, s.position[q], site, (row-int(s.cu[q]))*h)
}

const (
	seed = 0x1234_5678_9abc_def0
	eps  = 1e-5
)

// masks returns a mask and the argument for it.
func masks(p float64, site dropout.Site) (dropout.Mask, kernels.Dropout) {
	if p == 0 {
		return dropout.None(), kernels.Dropout{Keep: 256, Scale: 1}
	}
	m := dropout.New(seed, p)
	return m, kernels.Dropout{Seed: seed, Site: uint32(site), Keep: uint32(math.Round(256 / m.Scale())), Scale: float32(m.Scale())}
}

// normalize returns LayerNorm without its parameters, and 1/σ.
func normalize(x []float64) ([]float64, float64) {
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	inverse := 1 / math.Sqrt(variance+eps)
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = (v - mean) * inverse
	}
	return out, inverse
}

// A normOutput is what a LayerNorm computes, by rows, with bounds on the errors of single
// precision.
type normOutput struct{ y, hat, inverse, slackY, slackHat, slackInverse []float64 }

// add appends a row. size has the sums of the absolute terms of every x.
func (o *normOutput) add(x, size, gain, bias []float64) {
	hat, inverse := normalize(x)
	mean := 0.0
	for _, v := range size {
		mean += v / float64(len(x))
	}
	offMean := 8 * u32 * mean
	relative := 16*u32 + 2*offMean*offMean*inverse*inverse
	for i, v := range hat {
		off := inverse*(offMean+4*u32*size[i]) + relative*math.Abs(v)
		o.slackHat = append(o.slackHat, off)
		o.y = append(o.y, v*gain[i]+bias[i])
		o.slackY = append(o.slackY, math.Abs(gain[i])*off+4*u32*(math.Abs(v*gain[i])+math.Abs(bias[i])))
	}
	o.hat, o.inverse, o.slackInverse = append(o.hat, hat...), append(o.inverse, inverse), append(o.slackInverse, inverse*relative)
}

func (o *normOutput) holds(f *fixture, y, hat, inverse []float64) {
	f.withinFloats("1/σ", inverse, o.inverse, o.slackInverse)
	f.within("xhat", hat, o.hat, o.slackHat)
	f.within("y", y, o.y, o.slackY)
}

func checkNorm(f *fixture) {
	for _, c := range []struct {
		h                int
		p                float64
		before, residual bool
		selected         bool
	}{
		{64, 0, false, false, false}, {128, 0.1, true, true, false}, {192, 0.5, true, true, true}, {768, 0, true, false, false}, {1024, 0.1, true, true, true},
	} {
		s := f.sequences(5, 1, 3)
		rows, of := s.rows, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
		if c.selected {
			of = []int{8, 0, 5, 5, 3}
			list := make([]int32, len(of))
			for i, r := range of {
				list[i] = int32(r)
			}
			rows.Selected, rows.N = numbers(f, "selected", list), int32(len(of))
		}
		n, h, site := len(of), c.h, dropout.At(dropout.FeedForward, 3)
		m, d := masks(c.p, site)
		xAt, x := f.elems("x", f.normal(n*h))
		gainAt, gain := f.elems("gain", f.normal(h))
		biasAt, bias := f.elems("bias", f.normal(h))
		beforeAt, before := f.elems("before", f.normal(h))
		residualAt, residual := f.elems("residual", f.normal(len(s.row)*h))
		if !c.before {
			beforeAt, before = 0, make([]float64, h)
		}
		if !c.residual {
			residualAt, residual = 0, make([]float64, len(residual))
		}
		y, xhat, inverse := f.output("y", n*h), f.output("xhat", n*h), f.outputFloats("inverse", n)
		f.launch("norm", "norm_forward", sim.Dim{X: blocks(n, 4)}, 128, y, xhat, inverse, xAt, beforeAt, residualAt, gainAt, biasAt, rows, d, int32(h), float32(eps))

		var want normOutput
		for i, r := range of {
			row, size := make([]float64, h), make([]float64, h)
			for j := range row {
				row[j], size[j] = x[i*h+j]+before[j], math.Abs(x[i*h+j])+math.Abs(before[j])
			}
			s.drop(m, row, r, h, site)
			s.drop(m, size, r, h, site)
			for j := range row {
				row[j] += residual[r*h+j]
				size[j] += math.Abs(residual[r*h+j])
			}
			want.add(row, size, gain, bias)
		}
		want.holds(f, f.read(y, n*h), f.read(xhat, n*h), f.readFloats(inverse, n))

		f.normBackward(s, rows, of, h, m, d, gainAt, gain)
	}
}

func (f *fixture) normBackward(s *sequences, rows kernels.Rows, of []int, h int, m dropout.Mask, d kernels.Dropout, gainAt uint64, gain []float64) {
	n := len(of)
	dyAt, dy := f.elems("dy", f.normal(n*h))
	hatAt, hat := f.elems("xhat", f.normal(n*h))
	scales := make([]float64, n)
	for i := range scales {
		scales[i] = float64(float32(0.5 + f.random.Float64()))
	}
	dz, dx := f.output("dz", n*h), f.output("dx", n*h)
	inverse := f.floats("inverse", scales)
	f.launch("norm", "norm_backward", sim.Dim{X: blocks(n, 4)}, 128, dz, dx, dyAt, hatAt, inverse, gainAt, rows, d, int32(h))
	wantZ, slack := make([]float64, n*h), make([]float64, n*h)
	for i := range n {
		sum, dot, size := 0.0, 0.0, 0.0 // size: of the terms of sum and dot
		for j := range h {
			g := dy[i*h+j] * gain[j]
			sum += g / float64(h)
			dot += g * hat[i*h+j] / float64(h)
			size += math.Abs(g) * (1 + math.Abs(hat[i*h+j])) / float64(h)
		}
		for j := range h {
			g := dy[i*h+j] * gain[j]
			wantZ[i*h+j] = (g - sum - hat[i*h+j]*dot) * scales[i]
			slack[i*h+j] = 16 * u32 * (math.Abs(g) + (1+math.Abs(hat[i*h+j]))*size) * scales[i]
		}
	}
	f.within("dz", f.read(dz, n*h), wantZ, slack)
	wantX, slackX := slices.Clone(wantZ), slices.Clone(slack)
	for i, r := range of {
		s.drop(m, wantX[i*h:(i+1)*h], r, h, dropout.Site(d.Site))
		s.drop(m, slackX[i*h:(i+1)*h], r, h, dropout.Site(d.Site))
	}
	f.within("dx", f.read(dx, n*h), wantX, slackX)

	again := f.output("dz again", n*h)
	f.launch("norm", "norm_backward", sim.Dim{X: blocks(n, 4)}, 128, again, uint64(0), dyAt, hatAt, inverse, gainAt, rows, d, int32(h))
	f.near("dz alone", f.read(again, n*h), f.read(dz, n*h), 0)
}

func checkEmbed(f *fixture) {
	for _, h := range []int{128, 192, 1024} {
		const vocabulary, places, kinds = 53, 16, 2
		s := f.sequences(7, 2, 6)
		n, site := len(s.row), dropout.At(dropout.Embeddings, 0)
		m, d := masks(0.1, site)
		wordAt, word := f.elems("word", f.normal(vocabulary*h))
		placeAt, place := f.elems("place", f.normal(places*h))
		kindAt, kind := f.elems("kind", f.normal(kinds*h))
		gainAt, gain := f.elems("gain", f.normal(h))
		biasAt, bias := f.elems("bias", f.normal(h))
		id, at, of := make([]int32, n), make([]int32, n), make([]int32, n)
		for i := range id {
			id[i], at[i], of[i] = f.random.Int32N(vocabulary), int32(i)-s.cu[s.row[i]], f.random.Int32N(kinds)
		}
		y, xhat, inverse := f.output("y", n*h), f.output("xhat", n*h), f.outputFloats("inverse", n)
		f.launch("norm", "embed_forward", sim.Dim{X: blocks(n, 4)}, 128, y, xhat, inverse, wordAt, placeAt, kindAt, numbers(f, "ids", id), numbers(f, "places", at), numbers(f, "kinds", of), gainAt, biasAt, s.rows, d, int32(h), float32(eps))
		var want normOutput
		for i := range n {
			row, size := make([]float64, h), make([]float64, h)
			for j := range row {
				for _, v := range []float64{word[int(id[i])*h+j], place[int(at[i])*h+j], kind[int(of[i])*h+j]} {
					row[j] += v
					size[j] += math.Abs(v)
				}
			}
			want.add(row, size, gain, bias)
			s.drop(m, want.y[i*h:], i, h, site)
			s.drop(m, want.slackY[i*h:], i, h, site)
		}
		want.holds(f, f.read(y, n*h), f.read(xhat, n*h), f.readFloats(inverse, n))
	}
}

func checkDropout(f *fixture) {
	s := f.sequences(3, 4)
	for i, h := range []int{192, 1024} {
		pooled := i == 1
		rows, site := s.rows, dropout.At(dropout.Pooled, 0)
		n := len(s.row)
		if pooled {
			n, rows.Cu, rows.N = 2, 0, 2
		}
		m, d := masks(0.5, site)
		xAt, x := f.elems("x", f.normal(n*h))
		y := f.output("y", n*h)
		f.launch("norm", "dropout_rows", sim.Dim{X: blocks(n, 4)}, 128, y, xAt, rows, d, int32(h))
		for i := range n {
			if pooled {
				dropout.Hidden(m, x[i*h:(i+1)*h], s.position[i], site, 0)
			} else {
				s.drop(m, x[i*h:(i+1)*h], i, h, site)
			}
		}
		f.within("dropped", f.read(y, n*h), x, roundings(1, x))
	}
}

func TestNorm(t *testing.T)          { eachType(t, kernels.F16, checkNorm) }
func TestEmbedding(t *testing.T)     { eachType(t, kernels.BF16, checkEmbed) }
func TestDropoutOfRows(t *testing.T) { eachType(t, kernels.F32, checkDropout) }
