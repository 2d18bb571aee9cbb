package cpu

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/internal/bert"
)

// transfer copies weights, moments and gradients out of the parameters and into them, as
// tensors with names.
type transfer[T kernel.Float] struct {
	params *parameters[T]
	ranks  *ranks[T]
}

// errMissing is returned for values that this rank does not have: they are on other ranks,
// not complete yet, or do not exist.
var errMissing = errors.New("this rank does not have them")

// tensors implements Model.Tensors.
func (t *transfer[T]) tensors(k trainer.Kind) iter.Seq2[trainer.Tensor, error] {
	l := &t.params.layout
	return l.Tensors(k, func(dst []float32, i int) ([]float32, error) {
		src := t.params.values(k)
		if len(src) != l.Size || k == trainer.Gradients && t.ranks.reduction != nil { // this rank has only its parts, or sums that are not complete
			return nil, errMissing
		}
		return appendFloat32(dst, src[l.Offset[i]:l.Offset[i]+l.Specs[i].Size()]), nil
	})
}

func appendFloat32[T kernel.Float](dst []float32, src []T) []float32 {
	for _, v := range src {
		dst = append(dst, float32(v))
	}
	return dst
}

// load implements Model.Load. If the ranks divide the moments, it stores only this rank's
// parts of them.
func (t *transfer[T]) load(k trainer.Kind, tensors iter.Seq2[trainer.Tensor, error]) (trainer.LoadReport, error) {
	p := t.params
	dst := p.values(k)
	if dst == nil {
		return trainer.LoadReport{}, errors.New("the model does not keep them")
	}
	p.unshare()
	return p.layout.Load(tensors, func(i int, data []float32) {
		offset := p.layout.Offset[i]
		if k == trainer.Weights || k == trainer.Gradients {
			for j, v := range data {
				dst[offset+j] = T(v)
			}
			return
		}
		for _, part := range p.parts {
			if part.tensor != i {
				continue
			}
			for j, v := range data[part.lo-offset : part.hi-offset] {
				dst[part.at+j] = T(v)
			}
		}
	})
}

// snapshot implements trainer.Snapshot by copy on write: it shares the model's
// buffers until the model is about to change them.
type snapshot[T kernel.Float] struct {
	layout *bert.Layout
	state  trainer.State
	closed chan struct{}

	gathered bool // the moments are gathered copies: complete on rank 0, nil on other ranks

	mu     sync.Mutex // for values, which the model's goroutine replaces
	values [3][]T     // weights, first and second moments; nil if the model has none, and after Close
}

// snapshot implements Model.Snapshot.
func (t *transfer[T]) snapshot(state trainer.State) (*snapshot[T], error) {
	if t.ranks.reduction != nil {
		return nil, errReducing
	}
	p := t.params
	s := &snapshot[T]{layout: &p.layout, state: state, closed: make(chan struct{}), gathered: t.ranks.sharded, values: [3][]T{p.w, p.m, p.v}}
	if s.gathered {
		for i, own := range [][]T{p.m, p.v} {
			var err error
			if s.values[1+i], err = t.ranks.gatherMoments(own); err != nil {
				return nil, fmt.Errorf("gather moments: %w", err)
			}
		}
	}
	p.shared = append(p.shared, s)
	return s, nil
}

// unshare must be called before w, m or v change. It gives every open snapshot its own copy.
// If the process's memory limit (GOMEMLIMIT) has no room for a copy, it waits until the
// snapshot is closed.
func (p *parameters[T]) unshare() {
	for _, s := range p.shared {
		if !roomFor[T](s.shares() * p.layout.Size) {
			<-s.closed
		}
		s.copy()
	}
	p.shared = nil
}

func (s *snapshot[T]) copy() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.shares() {
		s.values[i] = slices.Clone(s.values[i])
	}
}

// shares returns the number of buffers in s.values that the snapshot shares with the model.
func (s *snapshot[T]) shares() int {
	if s.gathered {
		return 1
	}
	return len(s.values)
}

// roomFor reports whether n more values fit under the limit that GOMEMLIMIT
// sets.
func roomFor[T kernel.Float](n int) bool {
	limit := debug.SetMemoryLimit(-1) // a negative limit changes nothing
	if limit == math.MaxInt64 {
		return true
	}
	used := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(used)
	size := 4
	if _, double := any(T(0)).(float64); double {
		size = 8
	}
	return int64(used[0].Value.Uint64()-used[1].Value.Uint64())+int64(size)*int64(n) <= limit
}

// Tensors implements trainer.Snapshot.
func (s *snapshot[T]) Tensors(k trainer.Kind) iter.Seq2[trainer.Tensor, error] {
	return s.layout.Tensors(k, func(dst []float32, i int) ([]float32, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if k < trainer.Weights || k > trainer.SecondMoment || s.values[k] == nil {
			return nil, errMissing
		}
		lo := s.layout.Offset[i]
		return appendFloat32(dst, s.values[k][lo:lo+s.layout.Specs[i].Size()]), nil
	})
}

// State implements trainer.Snapshot.
func (s *snapshot[T]) State() trainer.State {
	return cloned(s.state)
}

// Close implements trainer.Snapshot.
func (s *snapshot[T]) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values[trainer.Weights] != nil {
		s.values = [3][]T{}
		close(s.closed)
	}
	return nil
}
