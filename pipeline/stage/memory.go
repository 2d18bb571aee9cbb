package stage

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
)

// BaseMemory is the memory of a process without its tasks, in bytes, measured and rounded
// up: program, embedded runner, vocabulary, and buffers that exist as long as the
// process.
const BaseMemory = 160 << 20

// PeakMemory returns the memory that a stage needs, in bytes: [BaseMemory] plus that of
// the largest tasks that may run concurrently. tasks are the sizes of all tasks in bytes.
func PeakMemory(tasks []int64, workers int) int64 {
	largest := slices.SortedFunc(slices.Values(tasks), func(a, b int64) int { return cmp.Compare(b, a) })
	sum := int64(BaseMemory)
	for _, n := range largest[:min(max(1, workers), len(largest))] {
		sum += n
	}
	return sum
}

// A MemoryError reports that a stage needs more memory than available.
type MemoryError struct {
	Need, Have int64  // bytes
	Why        string // part of the stage that needs the memory
	Less       string // text with a further remedy, such as " or fewer --workers"
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("%s needs about %d MB, --memory allows %d MB: give more --memory%s",
		e.Why, (e.Need+999_999)/1_000_000, e.Have/1_000_000, e.Less)
}

// DoesNotFit marks the error for exit codes.
func (e *MemoryError) DoesNotFit() bool { return true }

// LimitMemory sets Go's memory limit to 7/8 of bytes, at least 64 MiB, and the frequency
// of garbage collection. The rest is for memory outside Go's heap: the program, stacks,
// and buffers in the kernel.
func LimitMemory(bytes int64) {
	debug.SetMemoryLimit(max(bytes-bytes/8, 64<<20))
	debug.SetGCPercent(gcPercent)
}

// gcPercent is how much garbage starts a collection, in percent of the live heap. 100 is
// Go's default. With 25, two workers use 5 % more CPU time, and 17 MB (extract) to 50 MB
// (examples) less memory. Near the memory limit, Go collects more often anyway.
const gcPercent = 100
