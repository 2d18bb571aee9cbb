package cuda

import "pretext/trainer/cuda/device"

// grouped lists rows by their target, for sums in a fixed order. A thread adds up
// the rows of one target (add_rows in kernels/elementwise.cu), which would take
// long for a target with many rows. So those of a frequent target are divided
// into pieces, which are summed first.
type grouped struct {
	whole    runs       // of the other targets
	pieces   runs       // targets are the numbers of the pieces
	frequent []frequent // by target
}

// runs are the arguments of add_rows: row target[i] of a table gets the rows
// order[bounds[i]] to order[bounds[i+1]-1].
type runs struct {
	n                     int
	target, bounds, order device.Pointer
}

// A frequent target has several pieces.
type frequent struct{ target, first, pieces int }

// A grouper groups rows by counting. It keeps its memory.
type grouper struct{ start, target, bounds, order []int32 }

// group returns the rows of list, whose values are below limit, grouped by value.
// A value with more than max rows is frequent.
func (g *grouper) group(s *slot, list []int32, limit, max int) grouped {
	g.start = resize(g.start, limit)
	clear(g.start)
	for _, v := range list {
		g.start[v]++
	}
	var d grouped
	at := g.wholes(max)
	d.whole = runs{n: len(g.target), target: put(s, g.target), bounds: put(s, append(g.bounds, at))}
	d.frequent = g.divide(at, max)
	if len(d.frequent) > 0 {
		d.pieces = runs{n: len(g.target), target: put(s, g.target), bounds: put(s, append(g.bounds, int32(len(list))))}
	}
	g.order = resize(g.order, len(list))
	for i, v := range list {
		g.order[g.start[v]] = int32(i)
		g.start[v]++
	}
	d.whole.order = put(s, g.order)
	d.pieces.order = d.whole.order
	return d
}

// wholes replaces the counts in g.start of up to max rows by their places in
// g.order, and those of more by minus the count. It returns the rows placed.
func (g *grouper) wholes(max int) (at int32) {
	g.target, g.bounds = g.target[:0], g.bounds[:0]
	for v, n := range g.start {
		switch {
		case n == 0:
		case int(n) <= max:
			g.target, g.bounds = append(g.target, int32(v)), append(g.bounds, at)
			g.start[v] = at
			at += n
		default:
			g.start[v] = -n
		}
	}
	return at
}

// divide replaces the negative counts in g.start by places from at on, and
// divides them into pieces.
func (g *grouper) divide(at int32, max int) (all []frequent) {
	g.target, g.bounds = g.target[:0], g.bounds[:0]
	for v, n := range g.start {
		if n >= 0 {
			continue
		}
		f := frequent{target: v, first: len(g.target)}
		g.start[v] = at
		for end := at - n; at < end; at += min(int32(max), end-at) {
			g.target, g.bounds = append(g.target, int32(len(g.target))), append(g.bounds, at)
		}
		f.pieces = len(g.target) - f.first
		all = append(all, f)
	}
	return all
}

// addRows adds rows of x to rows of a table, both H wide, in a fixed order.
func (m *model) addRows(kernel string, table, x device.Pointer, g grouped) {
	m.addRuns(kernel, table, x, g.whole)
	if len(g.frequent) == 0 {
		return
	}
	row := 4 * m.c.HiddenSize
	m.clear(m.b.pieces, g.pieces.n*row)
	m.addRuns(kernel, m.b.pieces, x, g.pieces)
	for _, f := range g.frequent {
		m.addParts(table.Add(f.target*row), m.b.pieces.Add(f.first*row), f.pieces, m.c.HiddenSize)
	}
}

func (m *model) addRuns(kernel string, table, x device.Pointer, r runs) {
	h := m.c.HiddenSize
	for first := 0; first < r.n; first += maxGridYZ {
		grid := device.Dim{X: blocks(h, 256), Y: min(maxGridYZ, r.n-first)}
		m.launch(kernel, grid, table, x, r.target.Add(4*first), r.bounds.Add(4*first), r.order, int32(h))
	}
}
