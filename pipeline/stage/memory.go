package stage

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
)

// BaseMemory is the memory in bytes of a process without its tasks, measured and
// rounded up: program, embedded runner, vocabulary, and buffers that live as long
// as the process.
const BaseMemory = 160 << 20

// PeakMemory returns the memory in bytes that a stage needs if its tasks need the
// given bytes each: [BaseMemory] and the largest tasks that may run concurrently.
func PeakMemory(tasks []int64, workers int) int64 {
	largest := slices.SortedFunc(slices.Values(tasks), func(a, b int64) int { return cmp.Compare(b, a) })
	sum := int64(BaseMemory)
	for _, n := range largest[:min(max(1, workers), len(largest))] {
		sum += n
	}
	return sum
}

// A MemoryError reports that a stage needs more memory than it may use.
type MemoryError struct {
	Need, Have int64  // bytes
	Why        string // part of the stage that needs the memory
	Less       string // another remedy: " or fewer --workers"
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("%s needs about %d MB, --memory allows %d MB: give more --memory%s",
		e.Why, (e.Need+999_999)/1_000_000, e.Have/1_000_000, e.Less)
}

// DoesNotFit marks the error for exit codes.
func (e *MemoryError) DoesNotFit() bool { return true }

// LimitMemory sets Go's memory limit to 7/8 of bytes, at least 64 MiB, and how
// often garbage is collected. The rest is for memory outside Go's heap: the
// program, stacks, buffers of the kernel.
func LimitMemory(bytes int64) {
	debug.SetMemoryLimit(max(bytes-bytes/8, 64<<20))
	debug.SetGCPercent(gcPercent)
}

// gcPercent is the garbage, in percent of the live heap, at which a collection
// starts. 100 is Go's default. With 25, two workers take 5 % more CPU time and 17
// (extract) to 50 MB (examples) less memory. Near the memory limit Go collects more
// often by itself.
const gcPercent = 100
