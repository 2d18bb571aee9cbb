package stage

import (
	"testing"
	"time"

	"pretext/extract/parallel"
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
	if got.LongestChainSeconds != got.LongestSeconds || got.LongestChainCPUSeconds != got.LongestCPUSeconds {
		t.Errorf("tasks that nothing divided: got %+v", got)
	}
	if got := w.of(2); got.LongestChainSeconds != 0 || got.CPUSeconds != 0 || got.LongestCPUSeconds != 0 || got.Seconds == 0 {
		t.Errorf("two workers share the processor time: got %+v", got)
	}
}

// A task whose team did most of it is as long as what is left, or as the reading of its
// stream.
func TestTheChainOfATaskIsWhatItsTeamCannotShare(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		spent    parallel.Spent
		min, max float64
	}{
		{parallel.Spent{}, 0.020, 10},
		{parallel.Spent{Jobs: 19 * ms}, 0.001, 9.99},
		{parallel.Spent{Jobs: 5 * ms, Ahead: 15 * ms}, 0.015, 9.99},
		{parallel.Spent{Jobs: 20 * ms, Ahead: 40 * ms}, 0.040, 9.99},
	} {
		var w stopwatch
		stop := w.start()
		time.Sleep(20 * ms)
		w.divide(test.spent)
		stop()
		got := w.of(1)
		want := max(test.spent.Ahead.Seconds(), got.LongestSeconds-test.spent.Jobs.Seconds()-test.spent.Ahead.Seconds())
		if c := got.LongestChainSeconds; c < test.min || c > test.max || c != want {
			t.Errorf("%+v: got a chain of %v s in %v s, want %v", test.spent, c, got.LongestSeconds, want)
		}
	}
}
