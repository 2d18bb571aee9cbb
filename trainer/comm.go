package trainer

// A Comm joins the ranks of a run: processes that each hold the whole weights
// and a share of a step's micro-batches. Every call is collective: all ranks
// make the same calls in the same order. After an error, or when a rank ends
// early, the Comm of every rank returns errors.
//
// It moves host memory. A device that has a faster way between its like (NCCL)
// uses Broadcast once to set that up.
type Comm interface {
	Rank() int // from 0
	Size() int // at least 1

	// AllReduce replaces x on every rank by the sum over ranks; all ranks get
	// the same bits.
	AllReduce(x []float64) error

	// ReduceScatter sums x over the ranks. Rank r receives the sums of
	// x[bounds[r]:bounds[r+1]] in place; the rest of x is left undefined.
	// Bounds has Size+1 entries from 0 to the length of x, and is the same on
	// all ranks.
	ReduceScatter(x Values, bounds []int) error

	// AllGather is its inverse: every rank gives its own part of x and
	// receives all others.
	AllGather(x Values, bounds []int) error

	// Broadcast copies b from the root rank to all others; its length is the
	// same everywhere.
	Broadcast(b []byte, root int) error
}

// Values is a [Float32s] or a [Float64s].
type Values interface{ values() }

// Float32s are values of single precision, without a copy.
type Float32s []float32

// Float64s are values of double precision, without a copy.
type Float64s []float64

func (Float32s) values() {}
func (Float64s) values() {}

// Alone is the Comm of a run with one rank.
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
