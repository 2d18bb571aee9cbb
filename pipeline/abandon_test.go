package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A simulation of many tasks takes minutes; a signal ends it at once.
func TestAPlanEndsWhenItsContextDoes(t *testing.T) {
	book := filepath.Join(t.TempDir(), "crawl.txt")
	f, err := os.Create(book)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(1<<40), f.Close()); err != nil { // a plan reads the size alone
		t.Fatal(err)
	}
	c := PlanConfig{Run: DefaultRunConfig(t.TempDir()), Workers: 1, Machines: Machines{Counts: []int{1, 2, 4, 8, 16, 32}, Cores: 16, Network: 1e9, Disk: 1e9, Latency: 0.03, Seed: 1}}
	c.Run.Sources = []Source{{KindBooks, book}}
	c.Run.Examples.Shards = 200_000
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err = PlanRun(ctx, c)
	if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > time.Second {
		t.Errorf("after %v: %v, want the end of the context within a second", took, err)
	}
}
