package kernels_test

import (
	"math"
	"slices"
	"testing"

	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/sim"
)

func gelu(x float64, tanh bool) (y, slope float64) {
	if tanh {
		const c = 0.7978845608028654
		t := math.Tanh(c * (x + 0.044715*x*x*x))
		return 0.5 * x * (1 + t), 0.5*(1+t) + 0.5*x*(1-t*t)*c*(1+3*0.044715*x*x)
	}
	phi := 0.5 * (1 + math.Erf(x/math.Sqrt2))
	return x * phi, phi + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
}

// wide returns normal values and some far out, where activations saturate.
func (f *fixture) wide(n int) []float64 {
	x := f.normal(n)
	for i := range x {
		x[i] *= 2
	}
	copy(x, []float64{0, 9, -9, 30, -30, 1e-4, -5.3})
	return x
}

func checkActivations(f *fixture) {
	for _, size := range [][2]int{{3, 256}, {5, 4}, {9, 192}} {
		for form, tanh := range []bool{false, true} {
			rows, width := size[0], size[1]
			n := rows * width
			grid := sim.Dim{X: blocks(n, 1024)}
			uAt, u := f.elems("u", f.wide(n))
			biasAt, bias := f.elems("bias", f.normal(width))
			g := f.output("g", n)
			f.launch("elementwise", "gelu_forward", grid, 256, g, uAt, biasAt, int64(n), int32(width), int32(form))
			want, slope, slack, slopeSlack := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range u {
				u[i] += bias[i%width]
			}
			f.within("u", f.read(uAt, n), u, roundings(1, u))
			u = f.read(uAt, n) // ties may have been rounded from another sum
			for i := range u {
				want[i], slope[i] = gelu(u[i], tanh)
				slack[i] = 8 * u32 * (math.Abs(u[i]) + math.Abs(want[i]))
			}
			f.within("gelu", f.read(g, n), want, slack)
			again := f.output("g again", n)
			f.launch("elementwise", "gelu_again", grid, 256, again, uAt, int64(n), int32(form))
			f.near("gelu again", f.read(again, n), f.read(g, n), 0)
			dAt, d := f.elems("du", f.normal(n))
			f.launch("elementwise", "gelu_backward", grid, 256, dAt, uAt, int64(n), int32(form))
			for i := range d {
				slopeSlack[i] = 16 * u32 * math.Abs(d[i]) * (1 + u[i]*u[i])
				d[i] *= slope[i]
			}
			f.within("gelu'", f.read(dAt, n), d, slopeSlack)
		}
	}
}

func checkElements(f *fixture) {
	const rows, width = 31, 68 // three blocks
	n, grid := rows*width, sim.Dim{X: blocks(rows*width, 1024)}
	biasAt, bias := f.elems("bias", f.normal(width))
	each := func(x []float64, g func(i int, v float64) float64) []float64 {
		x = slices.Clone(x)
		for i, v := range x {
			x[i] = g(i, v)
		}
		return x
	}
	xAt, x := f.elems("x", f.wide(n))
	f.launch("elementwise", "add_bias", grid, 256, xAt, biasAt, int64(n), int32(width))
	want := each(x, func(i int, v float64) float64 { return v + bias[i%width] })
	f.within("x + bias", f.read(xAt, n), want, roundings(1, want))

	xAt, x = f.elems("x", f.wide(n))
	f.launch("elementwise", "tanh_forward", grid, 256, xAt, biasAt, int64(n), int32(width))
	want = each(x, func(i int, v float64) float64 { return math.Tanh(v + bias[i%width]) })
	f.within("tanh", f.read(xAt, n), want, roundings(8, want))

	y := f.read(xAt, n)
	dAt, d := f.elems("dx", f.normal(n))
	f.launch("elementwise", "tanh_backward", grid, 256, dAt, xAt, int64(n))
	f.within("tanh'", f.read(dAt, n), each(d, func(i int, v float64) float64 { return v * (1 - y[i]*y[i]) }), roundings(4, d))

	xAt, x = f.elems("x", f.wide(n))
	yAt, y := f.elems("y", f.wide(n))
	f.launch("elementwise", "add", grid, 256, xAt, yAt, int64(n))
	want = each(x, func(i int, v float64) float64 { return v + y[i] })
	f.within("sum", f.read(xAt, n), want, roundings(1, want))

	exact := f.wide(n)
	masters, low, back := f.floats("masters", exact), f.output("low", n), f.outputFloats("back", n)
	f.launch("elementwise", "round_down", grid, 256, low, masters, int64(n))
	_, rounded := f.encode(f.readFloats(masters, n))
	f.near("rounded", f.read(low, n), rounded, 0)
	f.launch("elementwise", "widen", grid, 256, back, low, int64(n))
	f.near("widened", f.readFloats(back, n), rounded, 0)
}

func absolutes(x []float64) []float64 {
	x = slices.Clone(x)
	for i, v := range x {
		x[i] = math.Abs(v)
	}
	return x
}

func checkColumnSums(f *fixture) {
	for _, c := range []struct{ rows, width, parts int }{{1, 64, 1}, {37, 300, 5}, {37, 328, 5}, {5, 768, 8}, {100, 2, 3}, {5, 12, 8}, {90, 64, 2}, {5, 9, 2}, {140, 16, 70}} {
		n := c.rows * c.width
		xAt, x := f.elems("x", f.normal(n))
		yAt, y := f.elems("y", f.normal(n))
		for _, product := range []bool{false, true} {
			start := f.normal(c.width)
			sum, part := f.floats("sum", start), f.outputFloats("part", c.parts*c.width)
			other := uint64(0)
			if product {
				other = yAt
			}
			f.launch("elementwise", "column_sums", sim.Dim{X: blocks(c.width, 256), Y: c.parts}, 256, part, xAt, other, int32(c.rows), int32(c.width))
			f.launch("elementwise", "add_parts", sim.Dim{X: blocks(c.width, 32)}, 256, sum, part, int32(c.parts), int32(c.width))
			size := absolutes(start)
			for i := range x {
				v := x[i]
				if product {
					v *= y[i]
				}
				start[i%c.width] += v
				size[i%c.width] += math.Abs(v)
			}
			f.withinFloats("column sums", f.readFloats(sum, c.width), start, roundings(8, size))
		}
	}
}

func checkRowsMoved(f *fixture) {
	const width, from, to = 300, 9, 6 // two blocks
	xAt, x := f.elems("x", f.normal(from*width))
	index := []int32{3, 3, 8, 0, 7}
	y := f.output("y", len(index)*width)
	f.launch("elementwise", "gather_rows", sim.Dim{X: blocks(len(index)*width, 1024)}, 256, y, xAt, numbers(f, "index", index), int32(len(index)), int32(width))
	var want []float64
	for _, i := range index {
		want = append(want, x[int(i)*width:(int(i)+1)*width]...)
	}
	f.near("gathered", f.read(y, len(index)*width), want, 0)

	// Rows 0, 4, 4 and 8 go to row 5 of the table, 1 to row 0, none to row 2.
	target, bounds, order := numbers(f, "target", []int32{5, 0, 2}), numbers(f, "bounds", []int32{0, 4, 5, 5}), numbers(f, "order", []int32{0, 4, 4, 8, 1})
	moved := map[int][]int{5: {0, 4, 4, 8}, 0: {1}}
	table := f.normal(to * width)
	floatsAt := f.floats("table", table)
	elemsAt, elems := f.elems("table", table)
	table = f.readFloats(floatsAt, to*width)
	size := absolutes(table)
	for row, list := range moved {
		for _, r := range list {
			for j := range width {
				table[row*width+j] += x[r*width+j]
				elems[row*width+j] += x[r*width+j]
				size[row*width+j] += math.Abs(x[r*width+j])
			}
		}
	}
	grid := sim.Dim{X: blocks(width, 256), Y: 3}
	f.launch("elementwise", "add_rows_f32", grid, 256, floatsAt, xAt, target, bounds, order, int32(width))
	f.withinFloats("rows added", f.readFloats(floatsAt, to*width), table, roundings(4, size))
	f.launch("elementwise", "add_rows_elem", grid, 256, elemsAt, xAt, target, bounds, order, int32(width))
	f.within("rows added", f.read(elemsAt, to*width), elems, roundings(4, size))
}

func TestActivations(t *testing.T)   { eachType(t, kernels.F16, checkActivations) }
func TestElementwise(t *testing.T)   { eachType(t, kernels.BF16, checkElements) }
func TestSumsOfColumns(t *testing.T) { eachType(t, kernels.F32, checkColumnSums) }
func TestRowsMoved(t *testing.T)     { eachType(t, kernels.F16, checkRowsMoved) }
