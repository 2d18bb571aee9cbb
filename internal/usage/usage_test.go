//go:build unix

package usage_test

import (
	"testing"

	"pretext/internal/usage"
)

func TestWorkTakesProcessorTimeAndMemoryIsCounted(t *testing.T) {
	before := usage.CPU()
	block := make([]byte, 64<<20)
	for i := range block {
		block[i]++
	}
	if usage.CPU() <= before {
		t.Error("writing 64 MiB took no time")
	}
	if got := usage.PeakMemory(); got < int64(len(block)) {
		t.Errorf("peak of %d bytes while %d were held", got, len(block))
	}
}
