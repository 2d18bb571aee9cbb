package cpu

import (
	"errors"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/internal/bert"
)

// ranks sums gradients over the ranks that train the model together, and gathers values that
// are divided among the ranks. It holds the reduction of the step in progress.
type ranks[T kernel.Float] struct {
	comm      trainer.Comm
	train     bool
	sharded   bool // several ranks divide the optimizer's work and memory
	buckets   []bert.Bucket
	reduction *reduction[T] // of the step in progress; nil: not begun
}

func newRanks[T kernel.Float](o trainer.Options, buckets []bert.Bucket) *ranks[T] {
	r := &ranks[T]{comm: trainer.OrAlone(o.Comm), train: o.Train, buckets: buckets}
	r.sharded = o.Train && o.ShardOptimizer && r.comm.Size() > 1
	return r
}

// bounds divides a bucket evenly over the ranks, so that all links of a ring carry the same
// number of bytes: rank i's part is [First+bounds[i], First+bounds[i+1]).
func bounds(b bert.Bucket, ranks int) []int {
	list := make([]int, ranks+1)
	for i := range list {
		list[i] = b.N * i / ranks
	}
	return list
}

// own returns the part of the bucket that this rank updates, as a range of the flat buffers.
func (r *ranks[T]) own(b bert.Bucket) (lo, hi int) {
	if !r.sharded {
		return b.First, b.First + b.N
	}
	at, i := bounds(b, r.comm.Size()), r.comm.Rank()
	return b.First + at[i], b.First + at[i+1]
}

// A reduction sums the gradients of a step over the ranks, bucket by bucket, on its own
// goroutine, while backward computes the next bucket. It does not use the model's fields,
// because the model may be closed while a collective waits for a rank that failed.
type reduction[T kernel.Float] struct {
	comm    trainer.Comm
	g       []T
	buckets []bert.Bucket
	sharded bool // a part of a bucket is summed only on the rank that updates it
	ready   chan int
	done    chan error
}

// start starts a reduction of g, the flat gradients. It waits for complete buckets.
func (r *ranks[T]) start(g []T) {
	x := &reduction[T]{comm: r.comm, g: g, buckets: r.buckets, sharded: r.sharded, ready: make(chan int, len(r.buckets)), done: make(chan error, 1)}
	r.reduction = x
	go func() { x.done <- x.run() }()
}

// run sums the buckets in the order in which they become ready, which is the
// same on all ranks: from the heads to the embeddings.
func (x *reduction[T]) run() error {
	for i := range x.ready {
		b := x.buckets[i]
		g, at := values(x.g[b.First:b.First+b.N]), bounds(b, x.comm.Size())
		if err := x.comm.ReduceScatter(g, at); err != nil {
			return err
		}
		if x.sharded {
			continue
		}
		if err := x.comm.AllGather(g, at); err != nil {
			return err
		}
	}
	return nil
}

// complete passes bucket i, whose gradients this rank has computed, to the reduction in
// progress. Without a reduction it does nothing.
func (r *ranks[T]) complete(i int) {
	if r.reduction != nil {
		r.reduction.ready <- i
	}
}

// reduce ends the reduction of the step. When it returns, g, the flat gradients, has the
// sums over all ranks; if r.sharded is set, only in this rank's parts. On a rank without a
// micro-batch it first starts the reduction.
func (r *ranks[T]) reduce(g []T) error {
	if r.comm.Size() == 1 {
		return nil
	}
	if r.reduction == nil {
		r.start(g)
		for i := len(r.buckets) - 1; i >= 0; i-- {
			r.complete(i)
		}
	}
	close(r.reduction.ready)
	err := <-r.reduction.done
	r.reduction = nil
	return err
}

// errReducing is returned if gradients are used while ranks sum them.
var errReducing = errors.New("the gradients of this step are being summed over the ranks: Apply must come next")

// gather copies every rank's parts of x, a flat buffer, to all ranks.
func (r *ranks[T]) gather(x []T) error {
	for _, b := range r.buckets {
		if err := r.comm.AllGather(values(x[b.First:b.First+b.N]), bounds(b, r.comm.Size())); err != nil {
			return err
		}
	}
	return nil
}

// gatherMoments gathers a moment (Adam's m or v) whose parts are on all ranks. On rank 0 it
// returns the whole moment, flat. Other ranks return nil and need memory for one bucket only.
func (r *ranks[T]) gatherMoments(own []T) ([]T, error) {
	var whole, scratch []T
	if r.comm.Rank() == 0 {
		last := r.buckets[len(r.buckets)-1]
		whole = make([]T, last.First+last.N)
	}
	at := 0
	for _, b := range r.buckets {
		into := scratch
		if whole != nil {
			into = whole[b.First:]
		} else if len(into) < b.N {
			scratch = make([]T, b.N)
			into = scratch
		}
		into = into[:b.N]
		lo, hi := r.own(b)
		at += copy(into[lo-b.First:hi-b.First], own[at:])
		if err := r.comm.AllGather(values(into), bounds(b, r.comm.Size())); err != nil {
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
