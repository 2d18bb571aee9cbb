package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/torture"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

func TestARunThatIsCancelledAnywhereLeavesNothingOpenAndGoesOn(t *testing.T) {
	random := torture.Random(t)
	c := faultConfig(t, fastDir(t))
	r := stage.Runner{Workers: 2}
	first := c
	first.Out = filepath.Join(c.Out, "first")
	run(t, r, first) // what a first job leaves for the next ones, of Beam and of Go, is no leak
	whole := tree(t, first.Out)
	points := len(record(t, c.Out, func() error {
		again := c
		again.Out = filepath.Join(c.Out, "counted")
		_, err := Run(t.Context(), r, again)
		return err
	}))
	cancelled := 0
	for range torture.Times(t, "PRETEXT_SIGNALS", 8, 500) {
		at := random.Int64N(int64(points))
		out := filepath.Join(c.Out, "cancelled")
		disturbed := c
		disturbed.Out = out
		files, goroutines := filesOpen(), goroutineIDs()
		err := cancelAt(at, func(ctx context.Context) error {
			_, err := Run(ctx, r, disturbed)
			return err
		})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled at step %d: got %v", at, err)
		}
		if err != nil {
			cancelled++
		}
		noTemporary(t, "cancelled", out)
		for _, stage := range []string{sharding.DocumentsFolder, VocabFolder, sharding.ShardsFolder} {
			manifestHolds(t, "cancelled", filepath.Join(out, stage))
		}
		if left := leaked(goroutines); left != "" {
			t.Fatalf("cancelled at step %d: goroutines go on:\n%s", at, left)
		}
		if more := openedSince(files); len(more) > 0 {
			t.Fatalf("cancelled at step %d: files are left open: %q", at, more)
		}
		run(t, r, disturbed)
		if diff := cmp.Diff(whole, tree(t, out)); diff != "" {
			t.Fatalf("cancelled at step %d, then run: %s", at, diff)
		}
		os.RemoveAll(out)
	}
	if cancelled == 0 {
		t.Error("no run was cancelled before its end")
	}
}

// cancelAt calls do with a context that is cancelled after step operations on
// files.
func cancelAt(step int64, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var steps atomic.Int64
	defer store.Intercept(func(store.Step, string) error {
		if steps.Add(1) > step {
			cancel()
		}
		return nil
	})()
	return do(ctx)
}

// openedSince returns what is open and was not before, after it has had seconds to
// close.
func openedSince(before []string) (more []string) {
	for range 500 {
		left := slices.Clone(before)
		more = nil
		for _, target := range filesOpen() {
			if i := slices.Index(left, target); i >= 0 {
				left = slices.Delete(left, i, i+1)
			} else {
				more = append(more, target)
			}
		}
		if len(more) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return more
}

// filesOpen returns the files that the process has open, except those that the
// runtime opens once; nil if the system does not report them.
func filesOpen() (targets []string) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if err != nil || strings.HasPrefix(target, "anon_inode:") || strings.HasSuffix(target, "/fd") {
			continue // the last is the folder that is being read
		}
		targets = append(targets, target)
	}
	slices.Sort(targets)
	return targets
}

// goroutines returns the stacks of all goroutines by their first line's number.
func goroutines() map[string]string {
	buf := make([]byte, 4<<20)
	buf = buf[:runtime.Stack(buf, true)]
	stacks := map[string]string{}
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		id, _, _ := strings.Cut(strings.TrimPrefix(stack, "goroutine "), " ")
		stacks[id] = stack
	}
	return stacks
}

func goroutineIDs() map[string]bool {
	ids := map[string]bool{}
	for id := range goroutines() {
		ids[id] = true
	}
	return ids
}

// leaked returns the stacks of goroutines that were not there before, when they
// have had seconds to end.
func leaked(before map[string]bool) string {
	var stacks []string
	for range 1000 {
		stacks = nil
		for id, stack := range goroutines() {
			if !before[id] {
				stacks = append(stacks, stack)
			}
		}
		if len(stacks) == 0 {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return strings.Join(stacks, "\n\n")
}
