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
		s.position = append(s.position, positionOf(i))
	}
	s.cuAt, s.posAt = numbers(f, "cu", s.cu), numbers(f, "position", s.position)
	s.rows = kernels.Rows{Sequence: numbers(f, "sequence", s.row), Cu: s.cuAt, Position: s.posAt, N: int32(len(s.row))}
	return s
}

// positionOf returns the global position of sequence i.
func positionOf(i int) int64 { return int64(i)*7 + 1<<33 }

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

// unstored replaces what norm_forward does not store: the runs of xhat that can be computed
// from y stay what the buffer held.
func (o *normOutput) unstored(gain, bias []float64) {
	for i := range o.hat {
		if c := i % len(gain) / 16 * 16; invertible(gain[c:c+16], bias[c:c+16]) {
			o.hat[i], o.slackHat[i] = untouched, 0
		}
	}
}

// untouched is in elements that a kernel must neither use nor replace.
const untouched = -96

// invertible reports whether the standardized values of a run can be computed from y.
func invertible(gain, bias []float64) bool {
	for i, g := range gain {
		if math.Abs(g) < 0x1p-6 || math.Abs(bias[i]) > 4*math.Abs(g) {
			return false
		}
	}
	return true
}

// affine returns gains and biases of a LayerNorm as trained models have them, with some runs
// of which a gain is 0 or small, alone or beside its bias.
func (f *fixture) affine(h int) (gainAt uint64, gain []float64, biasAt uint64, bias []float64) {
	gain, bias = f.normal(h), f.normal(h)
	for i := range h {
		gain[i], bias[i] = 1+0.2*gain[i], 0.5*bias[i]
	}
	gain[17], bias[17] = 0, 0.5
	gain[34], bias[34] = 0x1p-7, 0
	gain[49], bias[49] = -0x1p-6, -0x1p-4 // exactly at both limits
	if h > 64 {
		gain[h-1], bias[h-1] = -0.25, 1.5
	}
	gainAt, gain = f.elems("gain", gain)
	biasAt, bias = f.elems("bias", bias)
	return gainAt, gain, biasAt, bias
}

// filled returns n equal values.
func filled(n int, v float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = v
	}
	return x
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
		gainAt, gain, biasAt, bias := f.affine(h)
		beforeAt, before := f.elems("before", f.normal(h))
		residualAt, residual := f.elems("residual", f.normal(len(s.row)*h))
		if !c.before {
			beforeAt, before = 0, make([]float64, h)
		}
		if !c.residual {
			residualAt, residual = 0, make([]float64, len(residual))
		}
		y, inverse := f.output("y", n*h), f.outputFloats("inverse", n)
		xhat, _ := f.elems("xhat", filled(n*h, untouched))
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
		want.unstored(gain, bias)
		want.holds(f, f.read(y, n*h), f.read(xhat, n*h), f.readFloats(inverse, n))
		evaluated := f.output("y without xhat", n*h)
		f.launch("norm", "norm_forward", sim.Dim{X: blocks(n, 4)}, 128, evaluated, uint64(0), inverse, xAt, beforeAt, residualAt, gainAt, biasAt, rows, d, int32(h), float32(eps))
		f.near("y without xhat", f.read(evaluated, n*h), f.read(y, n*h), 0)

		b := normBackward{fixture: f, s: s, rows: rows, of: of, h: h, mask: m, drop: d}
		b.check()
	}
}

// A normBackward checks norm_backward on rows of a batch.
type normBackward struct {
	*fixture
	s     *sequences
	rows  kernels.Rows
	of    []int // row of the batch of each row
	h     int
	mask  dropout.Mask
	drop  kernels.Dropout
	scale []float64 // 1/σ

	inverse, gainAt, biasAt, yAt, hatAt, dyAt uint64

	gain, dy, hat, size []float64 // size: bounds of the terms of xhat, of which each has a rounding
}

// check gives the kernel y, and xhat only where that cannot be computed from y; then xhat alone.
func (b *normBackward) check() {
	n, h := len(b.of), b.h
	var bias []float64
	b.gainAt, b.gain, b.biasAt, bias = b.affine(h)
	b.dyAt, b.dy = b.elems("dy", b.normal(n*h))
	b.scale = make([]float64, n)
	for i := range b.scale {
		b.scale[i] = float64(float32(0.5 + b.random.Float64()))
	}
	b.inverse = b.floats("inverse", b.scale)
	hat := b.normal(n * h)
	y := slices.Clone(hat)
	for i := range y {
		if c := i % h / 16 * 16; invertible(b.gain[c:c+16], bias[c:c+16]) {
			y[i], hat[i] = hat[i]*b.gain[i%h]+bias[i%h], untouched
		} else {
			y[i] = untouched
		}
	}
	b.hatAt, b.hat = b.elems("xhat", hat)
	b.yAt, y = b.elems("y", y)
	b.size = absolutes(b.hat)
	for i, v := range b.hat {
		if v == untouched {
			g, c := b.gain[i%h], bias[i%h]
			b.hat[i] = (y[i] - c) / g
			b.size[i] = (math.Abs(y[i])+math.Abs(c))/math.Abs(g) + math.Abs(b.hat[i])
		}
	}
	b.launched(b.yAt, true)
	b.hatAt, b.hat = b.elems("whole xhat", b.normal(n*h))
	b.size = absolutes(b.hat)
	b.launched(0, true)
	b.launched(0, false)
}

// launched runs the kernel and compares its results, with or without dx.
func (b *normBackward) launched(yAt uint64, before bool) {
	const parts = 2
	n, h, sums := len(b.of), b.h, 2
	dz, dx := b.output("dz", n*h), uint64(0)
	if before {
		dx, sums = b.output("dx", n*h), 3
	}
	start := b.normal(sums * h)
	sum, part := b.floats("sums", start), b.outputFloats("part", parts*sums*h)
	b.launch("norm", "norm_backward", sim.Dim{X: parts}, 128, dz, dx, part, b.dyAt, yAt, b.hatAt, b.inverse, b.gainAt, b.biasAt, b.rows, b.drop, int32(h))
	b.launch("elementwise", "add_parts", sim.Dim{X: blocks(sums*h, 32)}, 256, sum, part, int32(parts), int32(sums*h))

	wantZ, slack := b.inputGrad()
	b.within("dz", b.read(dz, n*h), wantZ, slack)
	slackSum := roundings(8, start)
	add := func(kind, i int, v, off float64) {
		start[kind*h+i%h] += v
		slackSum[kind*h+i%h] += off + 8*u32*math.Abs(v)
	}
	if before {
		wantX, slackX := slices.Clone(wantZ), slices.Clone(slack)
		for i, r := range b.of {
			b.s.drop(b.mask, wantX[i*h:(i+1)*h], r, h, dropout.Site(b.drop.Site))
			b.s.drop(b.mask, slackX[i*h:(i+1)*h], r, h, dropout.Site(b.drop.Site))
		}
		b.within("dx", b.read(dx, n*h), wantX, slackX)
		for i, v := range wantX {
			add(0, i, v, slackX[i])
		}
	}
	for i, v := range b.dy {
		add(sums-2, i, v*b.hat[i], 4*u32*math.Abs(v)*b.size[i])
		add(sums-1, i, v, 0)
	}
	b.withinFloats("sums of a LayerNorm", b.readFloats(sum, sums*h), start, slackSum)
}

// inputGrad returns dz in double precision, and bounds on its errors.
func (b *normBackward) inputGrad() (dz, slack []float64) {
	n, h := len(b.of), b.h
	dz, slack = make([]float64, n*h), make([]float64, n*h)
	for i := range n {
		sum, dot, size := 0.0, 0.0, 0.0 // size: of the terms of sum and dot
		for j := range h {
			g := b.dy[i*h+j] * b.gain[j]
			sum += g / float64(h)
			dot += g * b.hat[i*h+j] / float64(h)
			size += math.Abs(g) * (1 + b.size[i*h+j]) / float64(h)
		}
		for j := range h {
			g := b.dy[i*h+j] * b.gain[j]
			dz[i*h+j] = (g - sum - b.hat[i*h+j]*dot) * b.scale[i]
			slack[i*h+j] = 16 * u32 * (math.Abs(g) + (1+b.size[i*h+j])*size) * b.scale[i]
		}
	}
	return dz, slack
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
		for _, hats := range []uint64{0, xhat} { // evaluation keeps none
			f.launch("norm", "embed_forward", sim.Dim{X: blocks(n, 4)}, 128, y, hats, inverse, wordAt, placeAt, kindAt, numbers(f, "ids", id), numbers(f, "places", at), numbers(f, "kinds", of), gainAt, biasAt, s.rows, d, int32(h), float32(eps))
		}
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
	selected := []int32{5, 0, 4}
	for i, h := range []int{768, 1024, 64} {
		pooled := i == 1
		rows, site := s.rows, dropout.At(dropout.Pooled, 0)
		n := len(s.row)
		if pooled {
			n, rows.Cu, rows.N = 2, 0, 2
		} else if i == 2 {
			n, rows.N, rows.Selected = len(selected), int32(len(selected)), numbers(f, "selected", selected)
		}
		m, d := masks(0.5, site)
		xAt, x := f.elems("x", f.normal(n*h))
		y := f.output("y", n*h)
		f.launch("norm", "dropout_rows", sim.Dim{X: blocks(n, 4)}, 128, y, xAt, rows, d, int32(h))
		for i := range n {
			switch row := x[i*h : (i+1)*h]; {
			case pooled:
				dropout.Hidden(m, row, s.position[i], site, 0)
			case rows.Selected != 0:
				s.drop(m, row, int(selected[i]), h, site)
			default:
				s.drop(m, row, i, h, site)
			}
		}
		f.within("dropped", f.read(y, n*h), x, roundings(1, x))
	}
}

func TestNorm(t *testing.T)          { eachType(t, kernels.F16, checkNorm) }
func TestEmbedding(t *testing.T)     { eachType(t, kernels.BF16, checkEmbed) }
func TestDropoutOfRows(t *testing.T) { eachType(t, kernels.F32, checkDropout) }
