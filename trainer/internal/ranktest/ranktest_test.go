package ranktest_test

import (
	"fmt"

	"pretext/trainer"
	"pretext/trainer/internal/ranktest"
)

func Example() {
	sums := make([]float64, 3)
	ranktest.Run(3, func(comm trainer.Comm) {
		x := []float64{float64(comm.Rank() + 1)}
		if err := comm.AllReduce(x); err != nil {
			fmt.Println(err)
		}
		sums[comm.Rank()] = x[0]
	})
	fmt.Println(sums)
	// Output: [6 6 6]
}
