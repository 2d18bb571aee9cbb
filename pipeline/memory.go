package pipeline

import (
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// Memory of the examples stage, measured on real runs and rounded up. Peak memory
// is bounded as docs/internals.md describes: the sum of shard + largest document
// over the tasks that may run concurrently.
const (
	taskMemory  = 16 << 20 // bytes of a task's word cache, block buffers and output buffers
	minScratch  = 8 << 20  // minimum bytes of examples that a task may hold in memory
	maxScratch  = 48 << 20 // maximum; more than a shard has at the defaults, so the peak is equal for any size of the text
	textPerByte = 2        // bytes of ids and sentence marks per byte of text, for vocabularies below 65,537 entries
)

// scratch returns the bytes of examples that each of the workers may hold in
// memory, or a [*stage.MemoryError] if the tasks do not fit into c.Memory bytes.
// wide means that ids take four bytes.
func (c ExamplesConfig) scratch(shards []sharding.ShardSize, wide bool, workers int) (int64, error) {
	perByte := int64(textPerByte)
	if wide {
		perByte *= 2
	}
	tasks := make([]int64, len(shards))
	for i, s := range shards {
		// The largest document is held as a compressed frame, as JSON and as text.
		tasks[i] = taskMemory + minScratch + s.TextBytes*perByte + 3*s.LargestBlock
	}
	workers = min(max(1, workers), len(tasks))
	need := stage.PeakMemory(tasks, workers)
	if need > c.Memory {
		return 0, &stage.MemoryError{Need: need, Have: c.Memory, Why: "making examples", Less: ", fewer --workers or more --shards"}
	}
	return min(maxScratch, minScratch+(c.Memory-need)/int64(workers)/2), nil
}
