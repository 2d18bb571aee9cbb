package kernels_test

import (
	"testing"

	"pretext/internal/dev/torture"
	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/sim"
)

// TestChecksHoldForEveryRounding runs all checks with 20 choices of contracted sums and, apart
// from them, 20 of errors of approximate instructions. In a plain go test the checks have one
// choice of both; see eachType.
func TestChecksHoldForEveryRounding(t *testing.T) {
	if !torture.Full() {
		t.Skip("set PRETEXT_FULL=1")
	}
	for seed := range uint64(20) {
		for _, o := range []sim.Options{{Contract: seed + 1}, {Errors: seed + 1}} {
			for i, c := range checks {
				typ := c.typ
				if i%2 == int(seed%2) && typ != kernels.F32 && c.module != "fp8" { // both types of 16 bits
					typ = map[kernels.Type]kernels.Type{kernels.BF16: kernels.F16, kernels.F16: kernels.BF16}[typ]
				}
				o.Seed = seed
				if err := newFixtureOf(typ, o).run(c.check); err != nil {
					t.Errorf("check %d of module %s in %s with %+v: %v", i, c.module, typ, o, err)
				}
			}
		}
	}
}
