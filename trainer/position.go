package trainer

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sort"
)

// Cut divides sequences, given by their lengths, into micro-batches of
// consecutive sequences. Micro-batch j has the sequences [bounds[j],
// bounds[j+1]), where bounds is the result.
//
//   - Each micro-batch has at least one sequence and at most tokens tokens. A
//     sequence longer than tokens is an error.
//   - The number of micro-batches is the smallest possible multiple of
//     multiple, but at most one for each sequence.
//   - The largest micro-batch is as small as possible, and the borders are
//     close to those of equal parts.
//
// The result depends only on the arguments, so it is the same for any number of
// ranks.
func Cut(lengths []int32, tokens, multiple int) ([]int, error) {
	if multiple < 1 {
		return nil, fmt.Errorf("cut micro-batches: multiple %d: must be at least 1", multiple)
	}
	sums := make([]int64, len(lengths)+1) // tokens before each sequence
	longest := int32(0)
	for i, n := range lengths {
		if n < 0 || int(n) > tokens {
			return nil, fmt.Errorf("cut micro-batches of %d tokens: sequence %d has %d", tokens, i, n)
		}
		longest, sums[i+1] = max(longest, n), sums[i]+int64(n)
	}
	if len(lengths) == 0 {
		return []int{0}, nil
	}
	n := len(greedy(sums, int64(tokens))) - 1
	n = (n + multiple - 1) / multiple * multiple
	n = min(n, len(lengths))
	// The smallest capacity at which n micro-batches suffice.
	low := max(int64(longest), (sums[len(lengths)]+int64(n)-1)/int64(n))
	capacity := low + int64(sort.Search(tokens-int(low), func(extra int) bool { return len(greedy(sums, low+int64(extra)))-1 <= n }))
	return even(sums, capacity, n), nil
}

// greedy returns the bounds of micro-batches of at most capacity tokens, each
// as long as possible. Their number is the smallest possible. sums[i] is the
// number of tokens before sequence i.
func greedy(sums []int64, capacity int64) (bounds []int) {
	bounds = append(bounds, 0)
	last := len(sums) - 1
	for at := 0; at < last; {
		at = reach(sums, at, capacity)
		bounds = append(bounds, at)
	}
	return bounds
}

// reach returns the end of the longest micro-batch of at most capacity tokens
// that begins at sequence from.
func reach(sums []int64, from int, capacity int64) int {
	return from + sort.Search(len(sums)-1-from, func(i int) bool { return sums[from+i+1]-sums[from] > capacity })
}

// even cuts sequences into n micro-batches of at most capacity tokens and at
// least one sequence. Each border is as close as possible to the point that
// divides the tokens equally.
func even(sums []int64, capacity int64, n int) []int {
	last := len(sums) - 1
	least := make([]int, n+1) // least[j] is the smallest border j such that n-j micro-batches can hold the sequences after it
	least[n] = last
	for j := n - 1; j > 0; j-- {
		least[j] = sort.Search(least[j+1], func(i int) bool { return sums[least[j+1]]-sums[i] <= capacity })
	}
	bounds := make([]int, n+1)
	for j := 1; j <= n; j++ {
		from := max(least[j], bounds[j-1]+1)
		to := min(reach(sums, bounds[j-1], capacity), last-(n-j))
		target := func(i int) int64 { return int64(n)*sums[i] - int64(j)*sums[last] } // n times the number of tokens by which border i is after the point of equal division
		at := from + sort.Search(to-from, func(i int) bool { return target(from+i) >= 0 })
		if at > from && -target(at-1) <= target(at) {
			at--
		}
		bounds[j] = at
	}
	return bounds
}

// Epoch converts a position to an epoch and an index in it. n is the number of
// examples in an epoch.
func Epoch(position, n int64) (epoch, index int64) { return position / n, position % n }

// Permutation returns a random permutation of the numbers below n (Fisher-Yates).
// The order does not depend on the Go version: the generator is ChaCha8, whose
// output is specified (C2SP, chacha8rand), and a random number below i+1 is the
// upper half of the product of i+1 and a 64-bit draw. The bias is below 2^-32.
func Permutation(key [32]byte, n int) []int32 {
	perm := make([]int32, n)
	for i := range perm {
		perm[i] = int32(i)
	}
	rng := rand.NewChaCha8(key)
	for i := n - 1; i > 0; i-- {
		j, _ := bits.Mul64(rng.Uint64(), uint64(i+1))
		perm[i], perm[j] = perm[j], perm[i]
	}
	return perm
}
