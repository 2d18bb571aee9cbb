package pipeline

import (
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// Memory of the examples stage.
const (
	taskMemory  = sharding.TaskMemory
	minScratch  = sharding.MinScratch
	maxScratch  = 48 << 20 // maximum; more than a shard needs with the default options, so the peak does not depend on the size of the text
	textPerByte = sharding.TextPerByte
)

// scratch returns the bytes of examples that each of the workers may hold in memory,
// or a [*stage.MemoryError] if the tasks do not fit into c.Memory bytes. wide reports
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
