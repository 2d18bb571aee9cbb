package cpu

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
)

// snapshot implements trainer.Snapshot by copy on write: it shares the model's
// buffers until the model is about to change them.
type snapshot[T kernel.Float] struct {
	layout *layout
	state  trainer.State
	closed chan struct{}

	gathered bool // the moments are not the model's, but copies, whole on rank 0 and nil on other ranks

	mu     sync.Mutex // for values, which the model's goroutine replaces
	values [3][]T     // weights, first and second moment; nil if the model has none, and once closed
}

// Snapshot implements trainer.Model.
func (m *model[T]) Snapshot() (trainer.Snapshot, error) {
	if m.closed {
		return nil, fmt.Errorf("snapshot: %w", ErrClosed)
	}
	if m.reduction != nil {
		return nil, fmt.Errorf("snapshot: %w", errReducing)
	}
	s := &snapshot[T]{layout: &m.layout, state: m.State(), closed: make(chan struct{}), gathered: m.sharded, values: [3][]T{m.w, m.m, m.v}}
	if m.sharded {
		for i, own := range [][]T{m.m, m.v} {
			var err error
			if s.values[1+i], err = m.gatherMoments(own); err != nil {
				return nil, fmt.Errorf("snapshot: gather moments: %w", err)
			}
		}
	}
	m.shared = append(m.shared, s)
	return s, nil
}

// unshare must be called before w, m or v change. It copies them for every open
// snapshot, or waits until it is closed if the process's memory limit
// (GOMEMLIMIT) has no room for the copy.
func (m *model[T]) unshare() {
	for _, s := range m.shared {
		if !s.isClosed() && !roomFor[T](s.shares()*m.layout.size) {
			<-s.closed
		}
		s.copy()
	}
	m.shared = nil
}

func (s *snapshot[T]) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

func (s *snapshot[T]) copy() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.shares() {
		s.values[i] = slices.Clone(s.values[i])
	}
}

// shares returns how many of the values the snapshot shares with the model.
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
	return eachTensor(s.layout, k, func(dst []float32, lo, hi int) []float32 {
		s.mu.Lock()
		defer s.mu.Unlock()
		if k < trainer.Weights || k > trainer.SecondMoment || s.values[k] == nil {
			return nil
		}
		return appendFloat32(dst, s.values[k][lo:hi])
	})
}

// State implements trainer.Snapshot.
func (s *snapshot[T]) State() trainer.State {
	c := s.state
	c.Plans = maps.Clone(c.Plans)
	return c
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
