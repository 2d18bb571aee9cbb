package trainer

import "fmt"

// Cut divides sequences, given by their lengths, into micro-batches: greedily
// and in order, each of at most tokens tokens. It returns the bounds: cut j is
// lengths[bounds[j]:bounds[j+1]]. The cuts depend on nothing else, so they are
// the same for any number of ranks. A length of 0 is a hole (a quarantined
// record that keeps its position) and weighs nothing. A sequence longer than
// tokens is an error.
func Cut(lengths []int32, tokens int) ([]int, error) {
	bounds := []int{0}
	sum := 0
	for i, n := range lengths {
		if n < 0 || int(n) > tokens {
			return nil, fmt.Errorf("cut micro-batches of %d tokens: sequence %d has %d", tokens, i, n)
		}
		if sum+int(n) > tokens {
			bounds, sum = append(bounds, i), 0
		}
		sum += int(n)
	}
	if len(lengths) > 0 {
		bounds = append(bounds, len(lengths))
	}
	return bounds, nil
}

// Mine reports whether micro-batch j of a step belongs to a rank.
func Mine(j, rank, size int) bool { return j%size == rank }

// Epoch splits a position into its epoch and the index in it, for n examples an
// epoch.
func Epoch(position, n int64) (epoch, index int64) { return position / n, position % n }
