package store

import (
	"testing"
	"time"
)

// Quick makes retries short until the end of a test.
func Quick(t *testing.T) {
	old := patience
	t.Cleanup(func() { patience = old })
	patience.first, patience.longest, patience.total, patience.unreached = time.Millisecond, time.Millisecond, time.Second, 50*time.Millisecond
}

// Lapse makes the locks that are held look as if they were not renewed for d, as
// after the process was stopped.
func Lapse(folder Folder, d time.Duration) {
	l := folder.(*objects).lease
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = l.renewed.Add(-d)
}
