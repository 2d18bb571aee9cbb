package kernels_test

import (
	"math"
	"testing"

	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/sim"
	"pretext/trainer/dropout"
)

// A table of rotary positions has angles that no power of a base makes, so that a wrong index
// shows.
func (f *fixture) angles(places int) (at uint64, cosines, sines []float64) {
	table := make([]float32, 0, places*headSize)
	for range places * headSize / 2 {
		sin, cos := math.Sincos(6 * f.random.Float64())
		table = append(table, float32(cos), float32(sin))
		cosines, sines = append(cosines, float64(float32(cos))), append(sines, float64(float32(sin)))
	}
	return numbers(f, "table", table), cosines, sines
}

// checkRotate turns queries and keys by the places of their tokens, and back.
func checkRotate(f *fixture) {
	for _, heads := range []int{1, 3} {
		for back := range 2 {
			s := f.sequences(5, 1, 7)
			n := len(s.row)
			table, cosines, sines := f.angles(7)
			xAt, x := f.elems("x", f.normal(n*3*heads*headSize))
			f.launch("modern", "rotate", sim.Dim{X: blocks(n*heads*headSize, 512)}, 128, xAt, table, s.rows, int32(heads), int32(back))
			want, slack := make([]float64, len(x)), make([]float64, len(x))
			copy(want, x)
			for i := range x {
				token, in := i/(3*heads*headSize), i%headSize
				if i/(heads*headSize)%3 == 2 || in >= headSize/2 {
					continue // values stay; the second of a pair comes with the first
				}
				j := i + headSize/2
				place := (token-int(s.cu[s.row[token]]))*headSize/2 + in
				c, z := cosines[place], sines[place]*float64(1-2*back)
				want[i], want[j] = x[i]*c-x[j]*z, x[j]*c+x[i]*z
				slack[i], slack[j] = 2*u32*(math.Abs(x[i]*c)+math.Abs(x[j]*z)), 2*u32*(math.Abs(x[j]*c)+math.Abs(x[i]*z))
			}
			f.within("turned", f.read(xAt, len(x)), want, slack)
		}
	}
}

// checkGated holds the gated activation, forward and backward in place, with widths of which
// rows begin within a block of dropout.
func checkGated(f *fixture) {
	for _, c := range []struct {
		width int
		p     float64
		tanh  bool
	}{{8, 0, false}, {24, 0.3, true}, {264, 0.1, false}} {
		s := f.sequences(4, 1, 3)
		n, w, site := len(s.row), c.width, dropout.At(dropout.FeedForward, 3)
		m, d := masks(c.p, site)
		uAt, u := f.elems("u", f.normal(2*n*w))
		g, form, grid := f.output("g", n*w), int32(0), sim.Dim{X: blocks(n*w, 512)}
		if c.tanh {
			form = 1
		}
		dgAt, dg := f.elems("dg", f.normal(n*w))
		f.launch("modern", "geglu_forward", grid, 128, g, uAt, s.rows, d, int32(w), form)
		f.launch("modern", "geglu_backward", grid, 128, uAt, dgAt, s.rows, d, int32(w), form)

		want, slack := make([]float64, n*w), make([]float64, n*w)
		du, off := make([]float64, 2*n*w), make([]float64, 2*n*w)
		for r := range n {
			keep := make([]float64, w)
			for j := range keep {
				keep[j] = 1
			}
			s.drop(m, keep, r, w, site)
			for j := range w {
				i, first, second := r*w+j, 2*r*w+j, 2*r*w+w+j
				y, slope := activation(u[first], c.tanh)
				want[i] = y * u[second] * keep[j]
				slack[i] = 64 * u32 * (math.Abs(u[first]) + 1) * math.Abs(u[second]) * keep[j]
				by := dg[i] * keep[j]
				du[first], du[second] = by*u[second]*slope, by*y
				off[first], off[second] = 64*u32*math.Abs(by*u[second]), 64*u32*math.Abs(by)*(math.Abs(u[first])+1)
			}
		}
		f.within("g", f.read(g, n*w), want, slack)
		f.within("g again", f.read(dgAt, n*w), want, slack)
		f.within("du", f.read(uAt, 2*n*w), du, off)
	}
}

// activation returns GELU and its derivative.
func activation(x float64, tanh bool) (y, slope float64) {
	if !tanh {
		p := (1 + math.Erf(x/math.Sqrt2)) / 2
		return x * p, p + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
	}
	const root = 0.7978845608028654
	t := math.Tanh(root * (x + 0.044715*x*x*x))
	return x * (1 + t) / 2, (1+t)/2 + x/2*(1-t*t)*root*(1+3*0.044715*x*x)
}

// gradientOf returns the gradient of LayerNorm's input, given that of its output times the
// gain.
func gradientOf(g, hat []float64, inverse float64) []float64 {
	mean, dot := 0.0, 0.0
	for i, v := range g {
		mean += v / float64(len(g))
		dot += v * hat[i] / float64(len(g))
	}
	out := make([]float64, len(g))
	for i, v := range g {
		out[i] = (v - mean - hat[i]*dot) * inverse
	}
	return out
}

// A streamCase says which operands of the kernels of the stream are there.
type streamCase struct {
	h                int
	p                float64
	stream, selected bool
}

// checkStream holds the addition to the stream with its LayerNorm, forward and backward: in
// place, with selected rows, and without a stream.
func checkStream(f *fixture) {
	for _, c := range []streamCase{{64, 0, false, false}, {192, 0.5, true, false}, {1024, 0.1, true, true}} {
		f.stream(c)
	}
}

func (f *fixture) stream(c streamCase) {
	s := f.sequences(4, 1, 4)
	n, h, site := len(s.row), c.h, dropout.At(dropout.AttentionOutput, 1)
	m, d := masks(c.p, site)
	of := make([]int32, n) // row of the stream
	for i := range of {
		of[i] = int32(i)
		if c.selected {
			of[i] = int32(i * 5 % 11)
		}
	}
	xAt, x := f.elems("x", f.normal(n*h))
	gainAt, gain := f.elems("gain", f.normal(h))
	before := f.normal(11 * h)
	for i, v := range before {
		before[i] = float64(float32(v))
	}
	from, to, index := uint64(0), uint64(0), uint64(0)
	if c.stream {
		from = f.floats("stream", before)
		to = from
	} else {
		before = make([]float64, len(before))
	}
	if c.selected {
		to, index = f.outputFloats("narrow", n*h), numbers(f, "index", of)
	}
	y, xhat, inverse := f.output("y", n*h), f.output("xhat", n*h), f.outputFloats("inverse", n)
	f.launch("modern", "stream_forward", sim.Dim{X: blocks(n, 4)}, 128, f.output("y alone", n*h), uint64(0), inverse, uint64(0), xAt, uint64(0), uint64(0), gainAt, s.rows, d, int32(h), float32(eps))
	f.launch("modern", "stream_forward", sim.Dim{X: blocks(n, 4)}, 128, y, xhat, inverse, to, xAt, from, index, gainAt, s.rows, d, int32(h), float32(eps))
	var want normOutput
	var sum, sumSlack []float64
	for i := range n {
		row, size := append([]float64(nil), x[i*h:(i+1)*h]...), make([]float64, h)
		s.drop(m, row, i, h, site)
		for j := range row {
			old := before[int(of[i])*h+j]
			size[j] = math.Abs(row[j]) + math.Abs(old)
			row[j] += old
			sum, sumSlack = append(sum, row[j]), append(sumSlack, 2*u32*size[j])
		}
		want.add(row, size, gain, make([]float64, h))
	}
	want.holds(f, f.read(y, n*h), f.read(xhat, n*h), f.readFloats(inverse, n))
	if to != 0 {
		f.withinFloats("stream", f.readFloats(to, n*h), sum, sumSlack)
	}
	f.streamGrad(c, s, xhat, inverse, gainAt, gain)
}

// streamGrad holds the backward pass of stream, given what the forward pass stored.
func (f *fixture) streamGrad(c streamCase, s *sequences, xhat, inverse, gainAt uint64, gain []float64) {
	n, h, site := len(s.row), c.h, dropout.At(dropout.AttentionOutput, 1)
	m, d := masks(c.p, site)
	hat, scale := f.read(xhat, n*h), f.readFloats(inverse, n)
	dyAt, dy := f.elems("dy", f.normal(n*h))
	ds := f.normal(n * h)
	for i, v := range ds {
		ds[i] = float64(float32(v))
	}
	from, dx := uint64(0), f.output("dx", n*h)
	to := from
	if c.stream {
		from = f.floats("ds", ds)
		to = from
	} else {
		ds = make([]float64, n*h)
	}
	f.launch("modern", "stream_backward", sim.Dim{X: blocks(n, 4)}, 128, to, dx, dyAt, from, xhat, inverse, gainAt, s.rows, d, int32(h))
	var want, slack, dropped, droppedSlack []float64
	for i := range n {
		g, size := make([]float64, h), 0.0
		for j := range g {
			g[j] = dy[i*h+j] * gain[j]
			size += math.Abs(g[j]) / float64(h)
		}
		row, off := gradientOf(g, hat[i*h:(i+1)*h], scale[i]), make([]float64, h)
		for j := range row {
			off[j] = 16*u32*scale[i]*(math.Abs(g[j])+size*(1+4*math.Abs(hat[i*h+j]))) + 2*u32*math.Abs(ds[i*h+j])
			row[j] += ds[i*h+j]
		}
		want, slack = append(want, row...), append(slack, off...)
		row, off = append([]float64(nil), row...), append([]float64(nil), off...)
		s.drop(m, row, i, h, site)
		s.drop(m, off, i, h, site)
		dropped, droppedSlack = append(dropped, row...), append(droppedSlack, off...)
	}
	f.within("dx", f.read(dx, n*h), dropped, droppedSlack)
	if !c.stream {
		return
	}
	f.withinFloats("ds", f.readFloats(to, n*h), want, slack)

	// Half of the rows go to rows of a larger matrix.
	index := []int32{6, 0, 3}
	wide := make([]float64, 8*h)
	wideAt := f.floats("wide", wide)
	f.launch("modern", "spread_stream", sim.Dim{X: blocks(len(index)*h, 512)}, 128, wideAt, to, numbers(f, "index", index), int32(len(index)), int32(h))
	rows := f.readFloats(to, n*h)
	for i, r := range index {
		copy(wide[int(r)*h:], rows[i*h:(i+1)*h])
	}
	f.near("spread rows", f.readFloats(wideAt, len(wide)), wide, 0)
}

// checkWords holds the embedding, forward and backward.
func checkWords(f *fixture) {
	for _, c := range []struct {
		h int
		p float64
	}{{64, 0}, {768, 0.1}} {
		s := f.sequences(3, 1, 5)
		n, h, site := len(s.row), c.h, dropout.At(dropout.Embeddings, 0)
		m, d := masks(c.p, site)
		wordAt, word := f.elems("word", f.normal(10*h))
		gainAt, gain := f.elems("gain", f.normal(h))
		ids := make([]int32, n)
		for i := range ids {
			ids[i] = int32(i * 7 % 10)
		}
		y, xhat, inverse, stream := f.output("y", n*h), f.output("xhat", n*h), f.outputFloats("inverse", n), f.outputFloats("stream", n*h)
		grid := sim.Dim{X: blocks(n, 4)}
		f.launch("modern", "words_forward", grid, 128, y, xhat, inverse, stream, wordAt, numbers(f, "ids", ids), gainAt, s.rows, d, int32(h), float32(eps))
		f.launch("modern", "words_forward", grid, 128, f.output("y alone", n*h), uint64(0), f.outputFloats("inverse alone", n), f.outputFloats("stream alone", n*h), wordAt, numbers(f, "ids", ids), gainAt, s.rows, d, int32(h), float32(eps))
		var want normOutput
		for i, id := range ids {
			row := word[int(id)*h : int(id+1)*h]
			want.add(row, absolutes(row), gain, make([]float64, h))
			s.drop(m, want.y[i*h:], i, h, site)
			s.drop(m, want.slackY[i*h:], i, h, site)
		}
		want.holds(f, f.read(y, n*h), f.read(xhat, n*h), f.readFloats(inverse, n))
		f.withinFloats("stream", f.readFloats(stream, n*h), want.y, want.slackY)

		ds, hat, scale := f.normal(n*h), f.read(xhat, n*h), f.readFloats(inverse, n)
		dxAt, dx := f.elems("dx", f.normal(n*h))
		for i, v := range ds {
			ds[i] = float64(float32(v))
		}
		dz, dy := f.output("dz", n*h), f.output("dy", n*h)
		f.launch("modern", "words_backward", grid, 128, dz, dy, f.floats("ds", ds), dxAt, xhat, inverse, gainAt, s.rows, d, int32(h))
		var sum, sumSlack, out, slack []float64
		for i := range n {
			row, g, size := make([]float64, h), make([]float64, h), 0.0
			for j := range row {
				row[j] = ds[i*h+j] + dx[i*h+j]
			}
			s.drop(m, row, i, h, site)
			for j := range g {
				g[j] = row[j] * gain[j]
				size += math.Abs(g[j]) / float64(h)
			}
			sum, sumSlack = append(sum, row...), append(sumSlack, roundings(4, row)...)
			out = append(out, gradientOf(g, hat[i*h:(i+1)*h], scale[i])...)
			for j := range g {
				slack = append(slack, 16*u32*scale[i]*(math.Abs(g[j])+size*(1+4*math.Abs(hat[i*h+j]))))
			}
		}
		f.within("dy", f.read(dy, n*h), sum, sumSlack)
		f.within("dz", f.read(dz, n*h), out, slack)
	}
}

// checkMeans holds the means of the rows of sequences and their gradient: of no row of the
// padding behind the sequences.
func checkMeans(f *fixture) {
	for _, width := range []int{64, 192} {
		s := f.sequences(3, 1, 7, 2)
		n, sequences := len(s.row), 3
		xAt, x := f.elems("x", f.normal(n*width))
		y := f.output("y", sequences*width)
		f.launch("modern", "mean_rows", sim.Dim{X: blocks(width, 128), Y: sequences}, 128, y, xAt, s.cuAt, int32(width))
		dyAt, dy := f.elems("dy", f.normal(sequences*width))
		before := f.normal(n * width)
		dxAt, dx := f.elems("dx", before)
		f.launch("modern", "mean_rows_backward", sim.Dim{X: blocks(n*width, 512)}, 128, dxAt, dyAt, s.rows, int32(sequences), int32(width))
		want, slack := make([]float64, sequences*width), make([]float64, sequences*width)
		off := make([]float64, n*width)
		for r := range n {
			q := int(s.row[r])
			if q == sequences {
				continue
			}
			count := float64(s.cu[q+1] - s.cu[q])
			for j := range width {
				want[q*width+j] += x[r*width+j] / count
				slack[q*width+j] += (count + 1) * u32 * math.Abs(x[r*width+j]) / count
				dx[r*width+j] = dy[q*width+j] / count
				off[r*width+j] = 2 * u32 * math.Abs(dy[q*width+j])
			}
		}
		f.within("means", f.read(y, sequences*width), want, slack)
		f.within("dx", f.read(dxAt, n*width), dx, off)
	}
}

func TestRotate(t *testing.T) { eachType(t, kernels.BF16, checkRotate) }
func TestGated(t *testing.T)  { eachType(t, kernels.F32, checkGated) }
func TestStream(t *testing.T) { eachType(t, kernels.F32, checkStream) }
func TestWords(t *testing.T)  { eachType(t, kernels.F32, checkWords) }
func TestMeans(t *testing.T)  { eachType(t, kernels.F16, checkMeans) }
