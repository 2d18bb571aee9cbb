package stage

import (
	"testing"
	"time"
)

func TestTaskTimesAreAddedUp(t *testing.T) {
	var w stopwatch
	if got := w.of(1); got != nil {
		t.Errorf("before the first task: got %+v", got)
	}
	for _, pause := range []time.Duration{20 * time.Millisecond, 5 * time.Millisecond} {
		stop := w.start()
		for begun := time.Now(); time.Since(begun) < pause; {
			continue // uses the processor
		}
		stop()
	}
	got := w.of(1)
	if got.Count != 2 || got.Seconds < 0.025 || got.LongestSeconds < 0.020 || got.LongestSeconds >= got.Seconds {
		t.Errorf("got %+v", got)
	}
	if got.CPUSeconds <= 0 || got.LongestCPUSeconds > got.CPUSeconds {
		t.Errorf("one worker: got %+v", got)
	}
	if got := w.of(2); got.CPUSeconds != 0 || got.LongestCPUSeconds != 0 || got.Seconds == 0 {
		t.Errorf("two workers share the processor time: got %+v", got)
	}
}
