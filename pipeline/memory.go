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

// scratch returns how many bytes of examples each worker may hold in memory. If the tasks
// do not fit into c.Memory bytes, the error is a [*stage.MemoryError]. wide reports
// whether ids take four bytes.
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
