package pyrandom_test

import (
	"fmt"

	"pretext/internal/pyrandom"
)

func Example() {
	rng := pyrandom.New(12345) // random.Random(12345)
	fmt.Println(rng.Float64())
	fmt.Println(rng.RandInt(1, 100))
	words := []string{"a", "b", "c", "d", "e"}
	pyrandom.Shuffle(rng, words)
	fmt.Println(words)
	// Output:
	// 0.41661987254534116
	// 2
	// [d b a e c]
}
