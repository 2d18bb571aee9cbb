package cuda

import "pretext/trainer/cuda/device"

// grouped assigns rows of a matrix to target rows of a table, to which they are
// added in a fixed order. Example: the gradients of all tokens with the same word ID
// are added to one row of the word embedding. One thread adds all rows of a target
// (add_rows in kernels/elementwise.cu), which is slow for a frequent target, one with
// many rows. So the rows of a frequent target are divided into pieces; each piece is
// summed first, then the sums are added.
type grouped struct {
	whole    runs       // the targets that are not frequent
	pieces   runs       // pieces of frequent targets; runs.target holds the piece's number
	frequent []frequent // ascending by target
}

// runs are the arguments of add_rows: row target[i] of a table gets the rows
// order[bounds[i]] to order[bounds[i+1]-1].
type runs struct {
	n                     int
	target, bounds, order device.Pointer
}

// A frequent is a target with more rows than one piece may have. Its pieces are
// numbered first to first+pieces-1.
type frequent struct{ target, first, pieces int }

// A grouper groups the rows of a gradient by their targets, the rows of the table to which
// they are added, by a counting sort. It reuses its slices from call to call.
type grouper struct{ start, target, bounds, order []int32 }

// group writes row numbers grouped by target to s and returns their addresses.
// list[i] is the target of row i, below limit. A target with more than max rows is
// frequent: it is divided into pieces of max rows.
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

// wholes assigns a range of g.order to each target with up to max rows. g.start has the
// number of rows of each target. wholes replaces this number by the start of the range; for
// a frequent target it negates the number. It returns the end of the last range.
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

// divide assigns a range of g.order to each frequent target, which has a negative value in
// g.start. The ranges begin at index at. divide returns the frequent targets with their
// pieces of up to max rows.
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
