package cpu

import (
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

// onRanks runs f on n ranks at once.
func onRanks(n int, f func(trainer.Comm)) {
	g := &group{size: n, inputs: make([][]float64, n)}
	g.cond = sync.NewCond(&g.mu)
	var wg sync.WaitGroup
	for r := range n {
		wg.Go(func() { f(member{g, r}) })
	}
	wg.Wait()
}

// wait blocks until all ranks have come.
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

func (m member) Rank() int { return m.rank }
func (m member) Size() int { return m.size }

// exchange gives f everybody's values.
func (m member) exchange(x []float64, f func(all [][]float64)) {
	m.inputs[m.rank] = append([]float64{}, x...)
	m.wait()
	f(m.inputs)
	m.wait()
}

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

func (m member) ReduceScatter(v trainer.Values, bounds []int) error {
	x := v.(trainer.Float64s)
	m.exchange(x, func(all [][]float64) {
		for i := range x {
			x[i] = -12345 // undefined outside the own part
		}
		for i := bounds[m.rank]; i < bounds[m.rank+1]; i++ {
			x[i] = 0
			for _, v := range all {
				x[i] += v[i]
			}
		}
	})
	return nil
}

func (m member) AllGather(v trainer.Values, bounds []int) error {
	x := v.(trainer.Float64s)
	m.exchange(x, func(all [][]float64) {
		for r, v := range all {
			copy(x[bounds[r]:bounds[r+1]], v[bounds[r]:bounds[r+1]])
		}
	})
	return nil
}

func (m member) Broadcast(b []byte, root int) error {
	if m.rank == root {
		m.bytes = append([]byte{}, b...)
	}
	m.wait()
	copy(b, m.bytes)
	m.wait()
	return nil
}
