// Package ranktest runs goroutines as the ranks of a run, for tests.
//
//	ranktest.Run(3, func(comm trainer.Comm) { … })
package ranktest

import (
	"errors"
	"math"
	"sync"

	"pretext/trainer"
)

// group is the state that the ranks of a test share.
type group struct {
	size    int
	mu      sync.Mutex
	cond    *sync.Cond
	arrived int
	round   int
	gone    int // ranks that have returned
	inputs  [][]float64
	bytes   []byte
}

// member is one rank's Comm. Ranks are goroutines.
type member struct {
	*group
	rank int
}

// errGone is returned on the other ranks if a rank returns early.
var errGone = errors.New("a rank has exited")

// Run runs f on n ranks at once and returns when all are done. Parts of a
// buffer that a collective leaves undefined become NaN. If f returns on a rank
// while others wait for it, their collectives return an error.
func Run(n int, f func(trainer.Comm)) {
	g := &group{size: n, inputs: make([][]float64, n)}
	g.cond = sync.NewCond(&g.mu)
	var wg sync.WaitGroup
	for r := range n {
		wg.Go(func() {
			defer g.leave() // also after t.FailNow
			f(member{g, r})
		})
	}
	wg.Wait()
}

// leave is called when a rank returns.
func (g *group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone++
	g.cond.Broadcast()
}

// wait blocks until all ranks have called it. It returns errGone if the function of a rank
// returns before that.
func (m member) wait() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	round := m.round
	if m.arrived++; m.arrived == m.size {
		m.arrived, m.round = 0, round+1
		m.cond.Broadcast()
	}
	for m.round == round {
		if m.gone > 0 {
			return errGone
		}
		m.cond.Wait()
	}
	return nil
}

// Rank implements trainer.Comm.
func (m member) Rank() int { return m.rank }

// Size implements trainer.Comm.
func (m member) Size() int { return m.size }

// exchange passes x to all other ranks and calls f with the values of all ranks.
func (m member) exchange(x []float64, f func(all [][]float64)) error {
	m.inputs[m.rank] = append([]float64{}, x...)
	if err := m.wait(); err != nil {
		return err
	}
	f(m.inputs)
	return m.wait()
}

// AllReduce implements trainer.Comm.
func (m member) AllReduce(x []float64) error {
	return m.exchange(x, func(all [][]float64) {
		for i := range x {
			x[i] = 0
			for _, v := range all {
				x[i] += v[i]
			}
		}
	})
}

// ReduceScatter implements trainer.Comm.
func (m member) ReduceScatter(v trainer.Values, bounds []int) error {
	switch x := v.(type) {
	case trainer.Float64s:
		return reduceScatter(m, x, bounds)
	case trainer.Float32s:
		return reduceScatter(m, x, bounds)
	}
	panic("BUG: no such values")
}

func reduceScatter[T float32 | float64](m member, x []T, bounds []int) error {
	return m.exchange(widen(x), func(all [][]float64) {
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
		return allGather(m, x, bounds)
	case trainer.Float32s:
		return allGather(m, x, bounds)
	}
	panic("BUG: no such values")
}

func allGather[T float32 | float64](m member, x []T, bounds []int) error {
	return m.exchange(widen(x), func(all [][]float64) {
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
	if err := m.wait(); err != nil {
		return err
	}
	copy(b, m.bytes)
	return m.wait()
}
