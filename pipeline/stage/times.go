package stage

import (
	"sync"
	"time"

	"pretext/extract/parallel"
	"pretext/internal/usage"
)

// TaskTimes are the durations of the tasks that this process ran in a stage. The rest of
// a stage's time is serial (plan and manifest). With any number of workers, a stage takes
// at least as long as its longest task.
type TaskTimes struct {
	Count          int     `json:"count"` // number of tasks, with those that an earlier run has finished
	Seconds        float64 `json:"seconds"`
	LongestSeconds float64 `json:"longest_seconds"`
	// CPU time, with one worker. With more workers, which share the process, it is 0.
	CPUSeconds        float64 `json:"cpu_seconds,omitempty"`
	LongestCPUSeconds float64 `json:"longest_cpu_seconds,omitempty"`
	// Chains are the parts of tasks that one worker must do one after the other, with any
	// number of workers: a task without the jobs of its team, or the reading of its stream
	// if that takes longer. They are measured with one worker; with more they are 0.
	LongestChainSeconds    float64 `json:"longest_chain_seconds,omitempty"`
	LongestChainCPUSeconds float64 `json:"longest_chain_cpu_seconds,omitempty"`
}

// A stopwatch adds up the times of tasks. It is safe for concurrent use.
type stopwatch struct {
	mu    sync.Mutex
	times TaskTimes
	spent parallel.Spent // by the team of the task that is running
}

// divide adds what the jobs of the running task's team took.
func (w *stopwatch) divide(spent parallel.Spent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spent = spent
}

// chain returns the longest part of a task that one worker does alone. whole is the time
// of the task; jobs and ahead are those of its team.
func chain(whole float64, jobs, ahead time.Duration) float64 {
	return max(ahead.Seconds(), whole-jobs.Seconds()-ahead.Seconds())
}

// start starts the measurement of a task and returns a function that ends it.
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
		t.LongestChainSeconds = max(t.LongestChainSeconds, chain(seconds, w.spent.Jobs, w.spent.Ahead))
		t.LongestChainCPUSeconds = max(t.LongestChainCPUSeconds, chain(cpuSeconds, w.spent.JobsCPU, w.spent.AheadCPU))
		w.spent = parallel.Spent{}
	}
}

// of returns the times. workers is the number of workers. It returns nil if no task ran
// in this process.
func (w *stopwatch) of(workers int) *TaskTimes {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.times
	if t.Count == 0 {
		return nil
	}
	if workers > 1 {
		t.CPUSeconds, t.LongestCPUSeconds, t.LongestChainSeconds, t.LongestChainCPUSeconds = 0, 0, 0, 0
	}
	return &t
}
