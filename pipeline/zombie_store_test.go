package pipeline

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/storetest"
	"pretext/sharding"
)

// The requests before which a worker of a folder in an object store is stopped. A
// file appears there with one request.
var storeStops = []struct{ what, op, suffix string }{
	{"before the fence of the data", "get", sharding.PlanName},
	{"before commit, data", "put", "-00000.jsonl.zst"},
	{"before commit, side-car", "put", "-00000.json"},
	{"before commit, manifest", "put", sharding.ManifestName},
}

// zombieIn starts a worker of plan A in a bucket and stops it before a request.
// after, if not nil, sees every later request.
func zombieIn(t *testing.T, op, suffix string, after func(op, key string)) (z *zombie, s *stopped, bucket *storetest.Mem, out string) {
	t.Helper()
	bucket = new(storetest.Mem)
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == ',' {
			return '-'
		}
		return r
	}, t.Name())
	bucket.Register(name)
	out = "mem://" + name + "/documents"
	z = newZombie(t, out)
	s = z.startAndStop(t, func(before func(string) bool) (restore func()) {
		bucket.Before = func(o, key string) error {
			if o == op && strings.HasSuffix(key, suffix) && before(key) {
				return nil
			}
			if after != nil {
				after(o, key)
			}
			return nil
		}
		return func() {}
	})
	return z, s, bucket, out
}

// As TestAWorkerThatWakesUpChangesNothing, in an object store.
func TestAWorkerOfAnObjectStoreThatWakesUpChangesNothing(t *testing.T) {
	for _, at := range storeStops {
		t.Run(strings.ReplaceAll(at.what, " ", "-"), func(t *testing.T) {
			z, s, bucket, out := zombieIn(t, at.op, at.suffix, nil)
			z.takeOver(t)
			keys, _ := bucket.Keys()
			if err := z.wake(s); err == nil {
				t.Error("the stopped worker finished its task in the folder of another plan")
			}
			z.check(t, out)
			after, uploads := bucket.Keys()
			if diff := cmp.Diff(keys, after); diff != "" || len(uploads) > 0 {
				t.Errorf("incomplete uploads: %v; the objects changed (-before +after):\n%s", uploads, diff)
			}
		})
	}
}

// As TestAWorkerThatWakesUpFirstIsReplaced, in an object store: the worker wakes
// when the first worker of plan B reads its task.
func TestAWorkerOfAnObjectStoreThatWakesUpFirstIsReplaced(t *testing.T) {
	for _, at := range storeStops {
		t.Run(strings.ReplaceAll(at.what, " ", "-"), func(t *testing.T) {
			var z *zombie
			var s *stopped
			var out string
			var began, other atomic.Bool
			woken := make(chan error, 1)
			z, s, _, out = zombieIn(t, at.op, at.suffix, func(op, key string) {
				if other.Load() && op == "get" && strings.HasSuffix(key, "/plan/"+sharding.TasksName) && began.CompareAndSwap(false, true) {
					woken <- z.wake(s)
				}
			})
			other.Store(true)
			z.takeOver(t)
			if err := <-woken; err == nil {
				t.Error("the stopped worker finished its task in the folder of another plan")
			}
			z.check(t, out)
		})
	}
}
