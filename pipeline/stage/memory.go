package stage

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
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
	smallHeap.Store(min(64<<20, bytes/8))
	debug.SetGCPercent(maxGCPercent)
	tune.Do(afterCollections)
}

// How much garbage starts a collection, in percent of the live heap. 100 is Go's default.
// With 25, two workers use 5 % more CPU time, and 17 MB (extract) to 50 MB (examples) less
// memory. Near the memory limit, Go collects more often anyway.
//
// Up to a heap of 64 MB the percentage is higher. A run needs more than that at some time,
// but between its stages the live heap is small, and half of the collections were there.
const (
	gcPercent    = 100
	maxGCPercent = 400 // before the first collection, too: Go makes it at 16 MB
)

var (
	smallHeap atomic.Int64 // bytes of heap below which no collection need start
	tune      sync.Once
)

// afterCollections sets the percentage after each garbage collection from now on.
func afterCollections() {
	type object struct{ _ *byte } // with a pointer, so that it does not share its memory with others
	runtime.SetFinalizer(new(object), func(*object) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		debug.SetGCPercent(percentFor(int64(live[0].Value.Uint64()), smallHeap.Load()))
		afterCollections()
	})
}

// percentFor returns the percentage for a live heap.
func percentFor(live, small int64) int {
	return int(min(max((small-live)*100/max(live, 1), gcPercent), maxGCPercent))
}
