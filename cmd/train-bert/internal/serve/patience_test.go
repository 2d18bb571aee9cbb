package serve

import (
	"testing"
	"time"
)

// The queue is in the order of turns, so the oldest job may stand anywhere.
func TestTheOldestJobSaysHowLongABatchWaits(t *testing.T) {
	now := time.Now()
	b := &Batcher{o: Limits{MaxWait: time.Hour, Tokens: 100}}
	if got := b.patience(); got != time.Hour {
		t.Errorf("an empty queue waits %v", got)
	}
	for _, age := range []time.Duration{5, 30, 10} {
		b.queue = append(b.queue, &work{since: now.Add(-age * time.Minute)})
	}
	if got := b.patience(); got > 30*time.Minute || got < 29*time.Minute {
		t.Errorf("waits %v, want half an hour", got)
	}
	b.tokens = 100
	if got := b.patience(); got != 0 {
		t.Errorf("a full batch waits %v", got)
	}
	b.tokens, b.stopped = 0, true
	if got := b.patience(); got != 0 {
		t.Errorf("a batch that is the last waits %v", got)
	}
}
