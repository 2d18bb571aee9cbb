package pipeline

import (
	"fmt"
	"io/fs"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"pretext/internal/democorpus"
	"pretext/internal/dev/storetest"
	"pretext/internal/store"
	"pretext/pipeline/stage"
)

// The predicted number of requests is that of a store that counts them, within a fifth.
func TestPlannedRequestsAreThoseOfACountingStore(t *testing.T) {
	var text string
	err := fs.WalkDir(democorpus.Books(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".txt") {
			var b []byte
			b, err = fs.ReadFile(democorpus.Books(), name)
			text += string(b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		books, shards int
	}{{16, 4}, {64, 16}, {64, 40}, {256, 16}, {256, 128}} {
		var requests atomic.Int64
		bucket := new(storetest.Mem)
		bucket.PageSize = 1000
		bucket.Before = func(string, string) error { requests.Add(1); return nil }
		name := fmt.Sprintf("planned%d", i)
		bucket.Register(name)
		run := DefaultRunConfig("mem://" + name + "/run")
		run.VocabSize, run.Examples.DupeFactor, run.Examples.Shards, run.Memory = 2000, 1, c.shards, 1<<30
		sources, err := store.Open("mem://" + name + "/in/books")
		if err != nil {
			t.Fatal(err)
		}
		for book := range c.books {
			if err := store.WriteFile(t.Context(), sources, fmt.Sprintf("%d.txt", book), []byte(fmt.Sprint(book, text[:20_000]))); err != nil {
				t.Fatal(err)
			}
		}
		run.Sources = []Source{{KindBooks, "mem://" + name + "/in/books"}}
		config := PlanConfig{Run: run, Workers: 2, Machines: Machines{Counts: []int{2}, Cores: 1, Network: 1e9, Disk: 1e9, Latency: 0.03}}
		plan, err := PlanRun(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		cluster := 0 // requests that only a cluster makes
		for _, s := range config.scaleStages(plan) {
			cluster += clusterGets*s.Tasks + workerRequests*min(2, s.Tasks)
		}
		requests.Store(0)
		if _, err := Run(t.Context(), stage.Runner{Workers: 2}, run); err != nil {
			t.Fatal(err)
		}
		got, want := float64(requests.Load()), float64(plan.Scale[0].Requests-int64(cluster))
		t.Logf("%d books, %d shards: %.0f requests, planned %.0f", c.books, c.shards, got, want)
		if math.Abs(got-want) > got/5 {
			t.Errorf("%d books, %d shards: %.0f requests, planned %.0f", c.books, c.shards, got, want)
		}
	}
}
