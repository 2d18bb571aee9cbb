package cpu

import (
	"errors"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
)

// A bucket is a range of the flat buffers whose gradients are complete at the
// same moment of a backward pass: those of the heads, of one encoder layer, or
// of the embeddings. Ranks sum gradients one bucket at a time.
type bucket struct {
	lo, hi int
	bounds []int // rank r owns [lo+bounds[r], lo+bounds[r+1])
}

// own returns the part of the bucket that a rank owns, as a range of the flat
// buffers.
func (b bucket) own(rank int) (lo, hi int) { return b.lo + b.bounds[rank], b.lo + b.bounds[rank+1] }

// bucketsOf divides the flat buffer into buckets: the embeddings, each layer,
// the heads. A bucket's index is 1 + trainer.TensorSpec.Layer of its tensors.
// Each bucket is divided evenly over the ranks, so that all links of a ring
// carry the same number of bytes.
func (l *layout) bucketsOf(ranks int) []bucket {
	var list []bucket
	for _, t := range l.flat {
		if l.specs[t].Layer+1 == len(list) {
			list = append(list, bucket{lo: l.offset[t]})
		}
		list[len(list)-1].hi = l.offset[t] + l.specs[t].Size()
	}
	for i := range list {
		b := &list[i]
		for r := range ranks + 1 {
			b.bounds = append(b.bounds, (b.hi-b.lo)*r/ranks)
		}
	}
	return list
}

// A reduction sums the gradients of a step over the ranks, bucket by bucket, on
// a goroutine of its own, while backward computes the next bucket. It has its
// own references, because the model may be closed while a collective waits for
// a rank that failed.
type reduction[T kernel.Float] struct {
	comm    trainer.Comm
	g       []T
	buckets []bucket
	sharded bool // sum each bucket on the ranks that own its parts only
	ready   chan int
	done    chan error
}

// startReduction starts a reduction that waits for buckets.
func (m *model[T]) startReduction() {
	r := &reduction[T]{comm: m.comm, g: m.g, buckets: m.buckets, sharded: m.sharded, ready: make(chan int, len(m.buckets)), done: make(chan error, 1)}
	m.reduction = r
	go func() { r.done <- r.run() }()
}

// run sums the buckets in the order in which they become ready, which is the
// same on all ranks: from the heads to the embeddings.
func (r *reduction[T]) run() error {
	for i := range r.ready {
		b := r.buckets[i]
		g := values(r.g[b.lo:b.hi])
		if err := r.comm.ReduceScatter(g, b.bounds); err != nil {
			return err
		}
		if r.sharded {
			continue
		}
		if err := r.comm.AllGather(g, b.bounds); err != nil {
			return err
		}
	}
	return nil
}

// complete tells the reduction in progress, if there is one, that this rank has
// all gradients of bucket i.
func (m *model[T]) complete(i int) {
	if m.reduction != nil {
		m.reduction.ready <- i
	}
}

// reduce ends the reduction of the step: when it returns, m.g has the sums of
// all ranks, with m.sharded in this rank's parts only. A rank without a
// micro-batch starts the reduction here.
func (m *model[T]) reduce() error {
	if m.comm.Size() == 1 {
		return nil
	}
	if m.reduction == nil {
		m.startReduction()
		for i := len(m.buckets) - 1; i >= 0; i-- {
			m.complete(i)
		}
	}
	close(m.reduction.ready)
	err := <-m.reduction.done
	m.reduction = nil
	return err
}

// errReducing is returned if gradients are used while ranks sum them.
var errReducing = errors.New("the gradients of this step are being summed over the ranks: Apply must come next")

// gather copies every rank's parts of x, a flat buffer, to all ranks.
func (m *model[T]) gather(x []T) error {
	for _, b := range m.buckets {
		if err := m.comm.AllGather(values(x[b.lo:b.hi]), b.bounds); err != nil {
			return err
		}
	}
	return nil
}

// gatherMoments returns a whole moment, flat, of which each rank has its parts.
// Ranks other than 0 need memory for one bucket only and return nil.
func (m *model[T]) gatherMoments(own []T) ([]T, error) {
	var whole, scratch []T
	if m.comm.Rank() == 0 {
		whole = make([]T, m.layout.size)
	}
	at := 0
	for _, b := range m.buckets {
		into := scratch
		if whole != nil {
			into = whole[b.lo:b.hi]
		} else if len(into) < b.hi-b.lo {
			scratch = make([]T, b.hi-b.lo)
			into = scratch
		}
		into = into[:b.hi-b.lo]
		lo, hi := b.own(m.comm.Rank())
		at += copy(into[lo-b.lo:hi-b.lo], own[at:])
		if err := m.comm.AllGather(values(into), b.bounds); err != nil {
			return nil, err
		}
	}
	return whole, nil
}

// values returns x as the argument of a trainer.Comm.
func values[T kernel.Float](x []T) trainer.Values {
	switch x := any(x).(type) {
	case []float32:
		return trainer.Float32s(x)
	case []float64:
		return trainer.Float64s(x)
	}
	panic("BUG: no such element type")
}
