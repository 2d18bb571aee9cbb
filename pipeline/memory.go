package pipeline

import (
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// Memory of the examples stage.
const (
	taskMemory  = sharding.TaskMemory
	minScratch  = sharding.MinScratch
	maxScratch  = 48 << 20 // maximum bytes for examples; with the default options shards need less, so that peak memory does not depend on the size of the text
	textPerByte = sharding.TextPerByte
)

// scratch returns the limit, in bytes, of the examples that each worker holds in memory. If
// the largest tasks that may run at once need more than c.Memory bytes, the error is a
// [*stage.MemoryError]. wide must be set if token ids take four bytes instead of two.
func (c ExamplesConfig) scratch(shards []sharding.ShardSize, wide bool, workers int) (int64, error) {
	tasks := make([]int64, len(shards))
	for i, s := range shards {
		tasks[i] = s.Memory(wide)
	}
	workers = min(max(1, workers), len(tasks))
	need := stage.PeakMemory(tasks, workers)
	if need > c.Memory {
		return 0, &stage.MemoryError{Need: need, Have: c.Memory, Why: "making examples", Less: ", fewer --workers or more --shards"}
	}
	return min(maxScratch, minScratch+(c.Memory-need)/int64(workers)/2), nil
}
