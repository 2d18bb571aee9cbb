package backendtest_test

import (
	"fmt"
	"testing"

	"pretext/trainer"
	"pretext/trainer/backendtest"
	"pretext/trainer/cpu"
)

func TestTheProcessorPassesItsOwnTests(t *testing.T) {
	backendtest.Run(t, cpu.Backend{}, trainer.Float32)
}

func ExampleTolerances() {
	fmt.Println(backendtest.Tolerances(trainer.BFloat16).Gradient)
	// Output: 0.08
}
