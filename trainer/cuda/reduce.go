package cuda

import (
	"errors"

	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
)

// A bucket is a range of the flat buffers whose gradients are complete at the same
// moment of a backward pass: those of the embeddings, of an encoder layer, or of the
// heads. Ranks sum gradients one bucket at a time. With layout.sharded each rank owns
// one of ranks equal parts of each bucket.
type bucket struct {
	first, n int // elements; n is a multiple of 64 × ranks
}

// A slice is the part of a bucket that this rank updates: all of it, unless the
// optimizer's state is divided over the ranks.
type slice struct {
	first, n int // elements of the flat buffers
	moments  int // index of the first element in the moments, which hold only slices
	part     int // first unit of the optimizer's work, in layout.parts
	parts    int // number of such units
}

// slices returns this rank's slice of each bucket.
func (l *layout) slices(rank int, parts []kernels.Part) []slice {
	var all []slice
	moments, next := 0, 0
	for _, b := range l.buckets {
		s := slice{first: b.first, n: b.n, moments: moments}
		if l.sharded {
			s.n /= l.ranks
			s.first += rank * s.n
		}
		for next < len(parts) && int(parts[next].First) < s.first {
			next++
		}
		s.part = next
		for next < len(parts) && int(parts[next].First) < s.first+s.n {
			next++
		}
		s.parts = next - s.part
		moments += s.n
		all = append(all, s)
	}
	return all
}

// errReducing is returned if gradients are used while ranks sum them.
var errReducing = errors.New("the gradients of this step are being summed over the ranks: Apply must come next")

// complete is called when the backward pass has queued all gradients of a bucket. In
// the last micro-batch of a step it begins to sum them over the ranks, beside the
// rest of the pass.
func (m *model) complete(i int) {
	if !m.final || m.exchange == nil || !m.exchange.overlaps() {
		return
	}
	if i != len(m.layout.buckets)-1-m.reduced {
		panic("BUG: buckets are complete in another order")
	}
	m.reduceNext()
}

// reduceNext sums the gradients of the next bucket over the ranks, from the heads to
// the embeddings. With a divided optimizer each rank gets the sums of its slice.
func (m *model) reduceNext() {
	i := len(m.layout.buckets) - 1 - m.reduced
	m.reduced++
	b, s := m.layout.buckets[i], m.slices[i]
	c := device.Collective{Kind: device.AllReduce, Send: m.b.g.Add(4 * b.first), N: b.n}
	if m.layout.sharded {
		c.Kind, c.N = device.ReduceScatter, s.n
	}
	c.Receive = m.b.g.Add(4 * s.first)
	m.exchange.collect(c)
}

// reduce sums those buckets over the ranks that complete did not: all of them on a
// rank without a micro-batch. The main stream then waits for the sums.
func (m *model) reduce() {
	if m.exchange == nil {
		return
	}
	for m.reduced < len(m.layout.buckets) {
		m.reduceNext()
	}
	m.exchange.join()
	m.reduced = 0
}

// share adds up n float32 values over the ranks. Each value is zero on all ranks but
// one.
func (m *model) share(p device.Pointer, n int) {
	m.exchange.collect(device.Collective{Kind: device.AllReduce, Send: p, Receive: p, N: n})
	m.exchange.join()
}

// gatherWeights copies each rank's slices of the weights to all ranks.
func (m *model) gatherWeights() {
	var list []device.Collective
	for i, b := range m.layout.buckets {
		s := m.slices[i]
		list = append(list, device.Collective{Kind: device.AllGather, Send: m.b.w.Add(4 * s.first), Receive: m.b.w.Add(4 * b.first), N: s.n})
	}
	m.exchange.collect(list...)
	m.exchange.join()
	if m.b.copy != m.b.w {
		m.each("round_down", m.layout.size, m.b.copy, m.b.w, int64(m.layout.size))
	}
}

// gathered returns a moment of all ranks, which p holds this rank's slices of. Rank 0
// gets the values; the others take part and get nil.
func (m *model) gathered(p device.Pointer) []float32 {
	var all []float32
	if m.comm.Rank() == 0 {
		all = make([]float32, m.layout.size)
	}
	for i, b := range m.layout.buckets {
		s := m.slices[i]
		for at := 0; at < s.n && m.err == nil; at += m.layout.gather {
			n := min(m.layout.gather, s.n-at)
			m.exchange.collect(device.Collective{Kind: device.AllGather, Send: p.Add(4 * (s.moments + at)), Receive: m.b.gathered, N: n})
			m.exchange.join()
			for r := 0; r < m.layout.ranks && all != nil; r++ {
				to := b.first + r*s.n + at
				m.appendFloat32(all[to:to], m.b.gathered.Add(4*r*n), n)
			}
		}
	}
	m.sync() // also on the other ranks: what they do next may wait for rank 0
	return all
}
