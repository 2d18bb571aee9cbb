package stage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"pretext/internal/dev/storetest"
	"pretext/internal/store"
	"pretext/sharding"
)

// A doneWorker is a worker whose tasks others have done.
type doneWorker struct{ Worker }

func (doneWorker) SideCars(task int, _ func(any) error) ([]string, error) {
	return []string{fmt.Sprintf("done-%05d.json", task)}, nil
}

// stores counts the stores of this file's tests, whose names must differ when a test is
// repeated.
var stores atomic.Int64

// The helpers of a large cluster list the directory of a stage a few times, not once each: a
// listing of a hundred thousand shards is three hundred requests.
func TestHelpersOfALargeClusterListRarely(t *testing.T) {
	const helpers, tasks = 400, 50
	for _, peers := range []int{2, helpers} {
		var lists atomic.Int64
		name := fmt.Sprintf("looks%d", stores.Add(1))
		m := &storetest.Mem{PageSize: 1000, Before: func(op, key string) error {
			if op == "list" && key == "out/" {
				lists.Add(1)
			}
			return nil
		}}
		m.Register(name)
		folder, err := store.Open("mem://" + name + "/out")
		if err != nil {
			t.Fatal(err)
		}
		plans := folder.Folder(sharding.PlanFolder)
		var list bytes.Buffer
		if _, err := sharding.WriteTasks(t.Context(), &list, Tasks(make([]struct{}, tasks))); err != nil {
			t.Fatal(err)
		}
		if err := store.WriteFile(t.Context(), plans, sharding.TasksName, list.Bytes()); err != nil {
			t.Fatal(err)
		}
		for i := range tasks {
			if err := store.WriteFile(t.Context(), folder, fmt.Sprintf("done-%05d.json", i), []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for range helpers {
			wg.Go(func() {
				fn := &taskFn{Limits: Limits{Workers: 2, Peers: peers}, Spec: Spec{Out: folder.String()}, worker: doneWorker{}}
				fn.pool = newPool[[]Result](t.Context(), newJob(t.Context(), 2, new(Meter)))
				if err := fn.help(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		claims, err := names(t.Context(), plans)
		if err != nil {
			t.Fatal(err)
		}
		n := lists.Load()
		t.Logf("%d peers: %d listings by %d helpers", peers, n, helpers)
		if few := peers > lookers; few != claims[allDone] || few && (n == 0 || n > helpers/4) || !few && n < helpers {
			t.Errorf("%d peers: %d listings by %d helpers, marked: %v", peers, n, helpers, claims[allDone])
		}
		spec := Spec{Out: folder.String()}
		if err := spec.removeClaims(t.Context()); err != nil {
			t.Fatal(err)
		}
		if claims, err = names(t.Context(), plans); err != nil || claims[allDone] {
			t.Errorf("the mark is left: %v, %v", claims, err)
		}
	}
}

// A helper of a stage that has ended leaves no mark.
func TestALateHelperLeavesNoMark(t *testing.T) {
	folder, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var list bytes.Buffer
	if _, err := sharding.WriteTasks(t.Context(), &list, Tasks(make([]struct{}, 1))); err != nil {
		t.Fatal(err)
	}
	if err := store.WriteFile(t.Context(), folder.Folder(sharding.PlanFolder), sharding.TasksName, list.Bytes()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"done-00000.json", sharding.ManifestName} {
		if err := store.WriteFile(t.Context(), folder, name, json.RawMessage("{}")); err != nil {
			t.Fatal(err)
		}
	}
	j := newJob(t.Context(), 2, new(Meter))
	if _, err := newHelper(t.Context(), folder, &j.hands, doneWorker{}, Limits{Workers: 2, Peers: 1000}); err != nil {
		t.Fatal(err)
	}
	if claims, err := names(t.Context(), folder.Folder(sharding.PlanFolder)); err != nil || claims[allDone] {
		t.Errorf("%v, %v", claims, err)
	}
}
