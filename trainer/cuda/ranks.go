package cuda

import (
	"errors"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
)

// ranks sums gradients over the ranks that train the model together, and gathers values that
// are divided among the ranks. It holds the exchange between their devices, and the progress
// of this step's sums.
type ranks struct {
	*staging
	comm     trainer.Comm
	params   *parameters
	slices   []slice        // for each bucket, the slice that this rank updates
	exchange exchange       // between the ranks' devices; nil for a single rank
	gathered device.Pointer // float32 (ranks, layout.gather): a piece of the ranks' moments
	final    bool           // the current pass is that of the step's last micro-batch on this rank
	reduced  int            // buckets of this step that ranks have begun to sum
}

// request requests the buffer through which moments are gathered.
func (r *ranks) request(q *requests) {
	if l := &r.params.layout; q.train && l.sharded {
		q.floats("gathered", &r.gathered, l.ranks*l.gather)
	}
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
	for _, b := range l.Buckets {
		s := slice{first: b.First, n: b.N, moments: moments}
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

// complete is called when the backward pass has queued all gradients of bucket i. In the
// last micro-batch of a step it starts to sum the bucket over the ranks, while the rest of
// the pass runs.
func (r *ranks) complete(i int) {
	if !r.final || r.exchange == nil || !r.exchange.overlaps() {
		return
	}
	if i != len(r.params.layout.Buckets)-1-r.reduced {
		panic("BUG: buckets are complete in another order")
	}
	r.reduceNext()
}

// reduceNext sums the gradients of the next bucket over the ranks, in the order from the
// heads to the embeddings. If the optimizer's state is divided, each rank gets only the sums
// of its slice.
func (r *ranks) reduceNext() {
	i := len(r.params.layout.Buckets) - 1 - r.reduced
	r.reduced++
	b, s := r.params.layout.Buckets[i], r.slices[i]
	c := device.Collective{Kind: device.AllReduce, Send: r.params.g.Add(4 * b.First), N: b.N}
	if r.params.layout.sharded {
		c.Kind, c.N = device.ReduceScatter, s.n
	}
	c.Receive = r.params.g.Add(4 * s.first)
	r.exchange.collect(c)
}

// reduce sums the remaining buckets, which complete did not sum: on a rank without a
// micro-batch, all buckets. It makes the main stream wait for the sums.
func (r *ranks) reduce() {
	if r.exchange == nil {
		return
	}
	for r.reduced < len(r.params.layout.Buckets) {
		r.reduceNext()
	}
	r.exchange.join()
	r.reduced = 0
}

// share adds up n float32 values over the ranks. Each value is zero on all ranks but
// one.
func (r *ranks) share(p device.Pointer, n int) {
	r.exchange.collect(device.Collective{Kind: device.AllReduce, Send: p, Receive: p, N: n})
	r.exchange.join()
}

// gatherWeights copies each rank's slices of the weights to all ranks.
func (r *ranks) gatherWeights() {
	var list []device.Collective
	for i, b := range r.params.layout.Buckets {
		s := r.slices[i]
		list = append(list, device.Collective{Kind: device.AllGather, Send: r.params.w.Add(4 * s.first), Receive: r.params.w.Add(4 * b.First), N: s.n})
	}
	r.exchange.collect(list...)
	r.exchange.join()
	r.params.round(r.queue)
}

// gatherMoment gathers a moment from all ranks; p has this rank's slices. All ranks must call
// it. It returns the whole moment on rank 0, and nil on other ranks.
func (r *ranks) gatherMoment(p device.Pointer) []float32 {
	var all []float32
	if r.comm.Rank() == 0 {
		all = make([]float32, r.params.layout.Size)
	}
	for i, b := range r.params.layout.Buckets {
		s := r.slices[i]
		for at := 0; at < s.n && r.err == nil; at += r.params.layout.gather {
			n := min(r.params.layout.gather, s.n-at)
			r.exchange.collect(device.Collective{Kind: device.AllGather, Send: p.Add(4 * (s.moments + at)), Receive: r.gathered, N: n})
			r.exchange.join()
			for k := 0; k < r.params.layout.ranks && all != nil; k++ {
				to := b.First + k*s.n + at
				r.appendFloat32(all[to:to], r.gathered.Add(4*k*n), n)
			}
		}
	}
	r.sync() // also on other ranks, whose next operation may wait for rank 0
	return all
}
