package cuda

import (
	"fmt"
	"iter"
	"sync"

	"pretext/trainer"
)

// snapshot implements trainer.Snapshot by a copy in host memory. If the ranks divide
// the optimizer's state, only rank 0's snapshot holds the moments.
type snapshot struct {
	specs  []trainer.TensorSpec
	offset []int
	state  trainer.State

	mu     sync.Mutex
	values [3][]float32 // weights, first and second moment, flat; nil if the model has none, and once closed
}

// Snapshot implements trainer.Model. It waits for the device.
func (m *model) Snapshot() (trainer.Snapshot, error) {
	if err := m.usable(); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if m.reduced > 0 {
		return nil, fmt.Errorf("snapshot: %w", errReducing)
	}
	s := &snapshot{specs: m.layout.specs, offset: m.layout.offset, state: m.State()}
	for k := range s.values {
		p := m.values(trainer.Kind(k))
		switch {
		case p == 0:
		case m.divided(trainer.Kind(k)):
			s.values[k] = m.gathered(p)
		default:
			s.values[k] = m.appendFloat32(make([]float32, 0, m.layout.size), p, m.layout.size)
		}
	}
	if m.err != nil {
		return nil, fmt.Errorf("snapshot: %w", m.reason(m.err))
	}
	return s, nil
}

// Tensors implements trainer.Snapshot.
func (s *snapshot) Tensors(k trainer.Kind) iter.Seq2[trainer.Tensor, error] {
	return eachTensor(s.specs, k, func(i int, dst []float32) ([]float32, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if k < 0 || int(k) >= len(s.values) || s.values[k] == nil {
			return nil, fmt.Errorf("the snapshot does not keep %v", k)
		}
		return append(dst, s.values[k][s.offset[i]:][:s.specs[i].Size()]...), nil
	})
}

// State implements trainer.Snapshot.
func (s *snapshot) State() trainer.State { return s.state }

// Close implements trainer.Snapshot.
func (s *snapshot) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = [3][]float32{}
	return nil
}
