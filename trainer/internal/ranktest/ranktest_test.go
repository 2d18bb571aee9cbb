package ranktest_test

import (
	"fmt"
	"testing"

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

func TestARankThatReturnsEarlyEndsTheOthers(t *testing.T) {
	ranktest.Run(2, func(comm trainer.Comm) {
		if comm.Rank() == 1 {
			return
		}
		if err := comm.AllReduce([]float64{1}); err == nil {
			t.Error("a sum over a rank that has exited")
		}
	})
}
