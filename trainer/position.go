package trainer

import "fmt"

// Cut divides sequences, given by their lengths, into micro-batches: greedily
// and in order, each with at most tokens tokens. Micro-batch j has the
// sequences [bounds[j], bounds[j+1]). The result depends only on the arguments,
// so it is the same for any number of ranks. A length of 0 is a hole, a
// quarantined record that keeps its position but adds no tokens. A sequence
// longer than tokens is an error.
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

// Mine reports whether micro-batch j of a step belongs to this rank.
func Mine(j, rank, size int) bool { return j%size == rank }

// Dealt returns how many of n micro-batches belong to this rank.
func Dealt(n, rank, size int) int { return (n + size - 1 - rank) / size }

// Epoch returns the epoch of a position and the index in that epoch, for epochs
// of n examples.
func Epoch(position, n int64) (epoch, index int64) { return position / n, position % n }
