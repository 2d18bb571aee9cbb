package pipeline

import (
	"cmp"
	"pretext/sharding"
	"runtime/debug"
	"slices"

	"pretext/pipeline/stage"
)

// What the examples stage takes, measured on real runs and rounded up. The
// parts are those of the bound in ARCHITECTURE.md: the sum over the tasks that
// may be at work together of shard + largest document.
const (
	baseMemory  = 160 << 20 // program, embedded runner, vocabulary, buffers that live as long as the process
	taskMemory  = 16 << 20  // word cache, block buffers and output buffers of a task
	minScratch  = 8 << 20   // instances that a task holds in memory at least
	maxScratch  = 48 << 20  // … and at most: less than a shard's at the defaults, so that peaks are the same however many shards there are
	textPerByte = 2         // bytes of ids and sentence marks for a byte of text, vocabulary below 65,537 entries
)

// A taskSize is what the memory of a task depends on, in bytes of text.
type taskSize struct {
	shard    int64
	document int64 // the largest block, which is one document where it is large at all
}

func sizeOf(l sharding.BlockList) (s taskSize) {
	for _, f := range l {
		for _, b := range f.Blocks {
			s.shard += b.TextBytes
			s.document = max(s.document, b.TextBytes)
		}
	}
	return s
}

// exampleMemory is what the memory of the examples stage depends on.
type exampleMemory struct {
	sizes []taskSize // of the tasks
	wide  bool       // ids take four bytes
}

// scratch returns the bytes of instances that each of the workers may hold, or a
// [MemoryError] when the tasks do not fit.
func (m exampleMemory) scratch(have int64, workers int) (scratch int64, err error) {
	perByte := int64(textPerByte)
	if m.wide {
		perByte *= 2
	}
	tasks := make([]int64, len(m.sizes))
	for i, s := range m.sizes {
		// A document passes through as a compressed frame, JSON and text at once.
		tasks[i] = taskMemory + minScratch + s.shard*perByte + 3*s.document
	}
	workers = min(max(1, workers), len(tasks))
	need := int64(baseMemory) + mostAtWork(tasks, workers)
	if need > have {
		return 0, &stage.MemoryError{Need: need, Have: have, Why: "making examples", Less: ", fewer --workers or more --shards"}
	}
	return min(maxScratch, minScratch+(have-need)/int64(workers)/2), nil
}

// mostAtWork is the most that tasks can take that are at work at a time.
func mostAtWork(tasks []int64, workers int) (sum int64) {
	slices.SortFunc(tasks, func(a, b int64) int { return cmp.Compare(b, a) })
	for _, n := range tasks[:min(max(1, workers), len(tasks))] {
		sum += n
	}
	return sum
}

// LimitMemory tells Go's collector how much the process may use, so that it
// works harder near the limit instead of letting garbage add up. What is not
// Go's heap (the program's own pages, stacks, the kernel's buffers) is left
// room.
func LimitMemory(bytes int64) {
	debug.SetMemoryLimit(max(bytes-bytes/8, 64<<20))
	debug.SetGCPercent(gcPercent)
}

// gcPercent is how much garbage may stand beside what is in use before it is
// collected. What is in use is few large buffers without pointers, which cost
// little to look through, so the collector may come often and peaks stay low.
const gcPercent = 25
