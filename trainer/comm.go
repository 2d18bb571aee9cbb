package trainer

// A Comm connects the ranks of a run: processes that each have all weights and
// compute a part of each step's micro-batches. Every method is collective: all
// ranks must make the same calls in the same order. After an error, or if a
// rank exits, the methods return errors on every rank.
//
// A Comm sends host memory. A backend with a faster connection between devices
// (NCCL) sets up that connection with one Broadcast.
type Comm interface {
	Rank() int // from 0
	Size() int // at least 1

	// AllReduce replaces x on every rank by the sum over all ranks. All ranks
	// get the same bits.
	AllReduce(x []float64) error

	// ReduceScatter sums x over the ranks. Rank r receives the sums of
	// x[bounds[r]:bounds[r+1]] in place; the rest of x is undefined. bounds has
	// Size+1 entries, from 0 to the length of x, equal on all ranks.
	ReduceScatter(x Values, bounds []int) error

	// AllGather copies x[bounds[r]:bounds[r+1]] of every rank r to all other
	// ranks, so that x is the same on all. bounds has Size+1 entries, from 0 to
	// the length of x, equal on all ranks.
	AllGather(x Values, bounds []int) error

	// Broadcast copies b from the root rank to all others. The length must be
	// the same on all ranks.
	Broadcast(b []byte, root int) error
}

// Values is a [Float32s] or a [Float64s].
type Values interface{ values() }

// Float32s are single-precision values, passed without a copy.
type Float32s []float32

// Float64s are double-precision values, passed without a copy.
type Float64s []float64

func (Float32s) values() {}
func (Float64s) values() {}

// Alone is the Comm of a run with a single rank.
type Alone struct{}

// Rank returns 0.
func (Alone) Rank() int { return 0 }

// Size returns 1.
func (Alone) Size() int { return 1 }

// AllReduce does nothing.
func (Alone) AllReduce([]float64) error { return nil }

// ReduceScatter does nothing.
func (Alone) ReduceScatter(Values, []int) error { return nil }

// AllGather does nothing.
func (Alone) AllGather(Values, []int) error { return nil }

// Broadcast does nothing.
func (Alone) Broadcast([]byte, int) error { return nil }

// OrAlone returns c, or [Alone] if c is nil.
func OrAlone(c Comm) Comm {
	if c == nil {
		return Alone{}
	}
	return c
}
