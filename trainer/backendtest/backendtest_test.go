package backendtest_test

import (
	"fmt"
	"testing"

	"pretext/internal/dev/torture"
	"pretext/trainer"
	"pretext/trainer/backendtest"
	"pretext/trainer/cpu"
)

func TestTheProcessorPassesItsOwnTests(t *testing.T) {
	backendtest.Suite{Backend: cpu.Backend{}, Precision: trainer.Float32, Small: !torture.Full()}.Run(t)
}

func ExampleTolerances() {
	fmt.Println(backendtest.Tolerances(trainer.BFloat16).Gradient)
	// Output: 0.08
}
