// Package ranktest runs goroutines as the ranks of a run, for tests.
//
//	ranktest.Run(3, func(comm trainer.Comm) { … })
package ranktest

import (
	"math"
	"sync"

	"pretext/trainer"
)

// group is the shared side of the ranks of a test.
type group struct {
	size    int
	mu      sync.Mutex
	cond    *sync.Cond
	arrived int
	round   int
	inputs  [][]float64
	bytes   []byte
}

// member is a Comm between goroutines.
type member struct {
	*group
	rank int
}

// Run runs f on n ranks at once and returns when all are done. Parts of a
// buffer that a collective leaves undefined become NaN.
func Run(n int, f func(trainer.Comm)) {
	g := &group{size: n, inputs: make([][]float64, n)}
	g.cond = sync.NewCond(&g.mu)
	var wg sync.WaitGroup
	for r := range n {
		wg.Go(func() { f(member{g, r}) })
	}
	wg.Wait()
}

// wait blocks until all ranks have called it.
func (m member) wait() {
	m.mu.Lock()
	defer m.mu.Unlock()
	round := m.round
	if m.arrived++; m.arrived == m.size {
		m.arrived, m.round = 0, round+1
		m.cond.Broadcast()
	}
	for m.round == round {
		m.cond.Wait()
	}
}

// Rank implements trainer.Comm.
func (m member) Rank() int { return m.rank }

// Size implements trainer.Comm.
func (m member) Size() int { return m.size }

// exchange calls f with the values of all ranks.
func (m member) exchange(x []float64, f func(all [][]float64)) {
	m.inputs[m.rank] = append([]float64{}, x...)
	m.wait()
	f(m.inputs)
	m.wait()
}

// AllReduce implements trainer.Comm.
func (m member) AllReduce(x []float64) error {
	m.exchange(x, func(all [][]float64) {
		for i := range x {
			x[i] = 0
			for _, v := range all {
				x[i] += v[i]
			}
		}
	})
	return nil
}

// ReduceScatter implements trainer.Comm.
func (m member) ReduceScatter(v trainer.Values, bounds []int) error {
	switch x := v.(type) {
	case trainer.Float64s:
		reduceScatter(m, x, bounds)
	case trainer.Float32s:
		reduceScatter(m, x, bounds)
	}
	return nil
}

func reduceScatter[T float32 | float64](m member, x []T, bounds []int) {
	m.exchange(widen(x), func(all [][]float64) {
		for i := range x {
			x[i] = T(math.NaN())
		}
		for i := bounds[m.rank]; i < bounds[m.rank+1]; i++ {
			x[i] = 0
			for _, v := range all {
				x[i] += T(v[i])
			}
		}
	})
}

func widen[T float32 | float64](x []T) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// AllGather implements trainer.Comm.
func (m member) AllGather(v trainer.Values, bounds []int) error {
	switch x := v.(type) {
	case trainer.Float64s:
		allGather(m, x, bounds)
	case trainer.Float32s:
		allGather(m, x, bounds)
	}
	return nil
}

func allGather[T float32 | float64](m member, x []T, bounds []int) {
	m.exchange(widen(x), func(all [][]float64) {
		for r, v := range all {
			for i := bounds[r]; i < bounds[r+1]; i++ {
				x[i] = T(v[i])
			}
		}
	})
}

// Broadcast implements trainer.Comm.
func (m member) Broadcast(b []byte, root int) error {
	if m.rank == root {
		m.bytes = append([]byte{}, b...)
	}
	m.wait()
	copy(b, m.bytes)
	m.wait()
	return nil
}
