package stage

import (
	"sync"
	"time"

	"pretext/internal/usage"
)

// TaskTimes are the times of the tasks that this process ran in a stage. The rest of
// a stage's time is serial (plan and manifest), and with any number of workers a
// stage takes at least as long as its longest task.
type TaskTimes struct {
	Count          int     `json:"count"` // without tasks that an earlier run had finished
	Seconds        float64 `json:"seconds"`
	LongestSeconds float64 `json:"longest_seconds"`
	// CPU time, with one worker; 0 with more, which share the process.
	CPUSeconds        float64 `json:"cpu_seconds,omitempty"`
	LongestCPUSeconds float64 `json:"longest_cpu_seconds,omitempty"`
}

// A stopwatch adds up the times of tasks. It is safe for concurrent use.
type stopwatch struct {
	mu    sync.Mutex
	times TaskTimes
}

// start starts to measure a task and returns the function that stops.
func (w *stopwatch) start() (stop func()) {
	begun, cpu := time.Now(), usage.CPU()
	return func() {
		seconds, cpuSeconds := time.Since(begun).Seconds(), (usage.CPU() - cpu).Seconds()
		w.mu.Lock()
		defer w.mu.Unlock()
		t := &w.times
		t.Count++
		t.Seconds += seconds
		t.LongestSeconds = max(t.LongestSeconds, seconds)
		t.CPUSeconds += cpuSeconds
		t.LongestCPUSeconds = max(t.LongestCPUSeconds, cpuSeconds)
	}
}

// of returns the times for the given number of workers; nil if no task ran in this
// process.
func (w *stopwatch) of(workers int) *TaskTimes {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.times
	if t.Count == 0 {
		return nil
	}
	if workers > 1 {
		t.CPUSeconds, t.LongestCPUSeconds = 0, 0
	}
	return &t
}
