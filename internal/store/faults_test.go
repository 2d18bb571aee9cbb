package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pretext/internal/dev/storetest"
	"pretext/internal/store"
)

// Requests fail before or after the server acts, so that answers to writes that
// succeeded are lost: every operation still has its result.
func TestFoldersOnABadNetwork(t *testing.T) {
	store.Quick(t)
	storetest.Run(t, func(t *testing.T) store.Folder {
		var mu sync.Mutex
		r := rand.New(rand.NewPCG(7, 7))
		fail := func(op, key string) error {
			mu.Lock()
			defer mu.Unlock()
			if r.IntN(5) == 0 {
				return fmt.Errorf("%s %s: %w", op, key, store.ErrTransient)
			}
			return nil
		}
		m := &storetest.Mem{Before: fail, After: fail}
		if strings.Contains(t.Name(), "withdrawn") {
			m.After = nil // a file whose commit had no answer may be another writer's, and stays
		}
		return newMem(t, m, "a")
	})
}

func TestAServerThatIsGoneIsANetworkError(t *testing.T) {
	store.Quick(t)
	f := newMem(t, &storetest.Mem{Before: func(string, string) error { return fmt.Errorf("connection refused: %w", store.ErrTransient) }}, "a")
	_, err := f.Open(t.Context(), "x")
	var network interface{ Network() bool }
	if !errors.As(err, &network) || !network.Network() || !strings.Contains(err.Error(), "a/x: connection refused") {
		t.Errorf("got %v, want a network error that names the object", err)
	}
}

// failingFor returns a folder with a file x in a store that answers all requests with err for a
// time.
func failingFor(t *testing.T, d time.Duration, err error) store.Folder {
	t.Helper()
	m := new(storetest.Mem)
	f := newMem(t, m, "a")
	if err := store.WriteFile(t.Context(), f, "x", []byte("text")); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	m.Before = func(string, string) error {
		if time.Since(begin) < d {
			return fmt.Errorf("slow down: %w", err)
		}
		return nil
	}
	return f
}

// A store that asks for fewer requests answers in the end. One that fails otherwise does not.
func TestABusyStoreIsAskedAgain(t *testing.T) {
	for _, c := range []struct {
		err   error
		after time.Duration
		ok    bool
	}{{store.ErrBusy, 20 * time.Minute, true}, {store.ErrBusy, 40 * time.Minute, false}, {store.ErrTransient, time.Minute, true}, {store.ErrTransient, 20 * time.Minute, false}} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			f := failingFor(t, c.after, c.err)
			_, err := store.ReadFile(t.Context(), f, "x")
			if ok := err == nil; ok != c.ok {
				t.Errorf("%v for %v: %v after %v", c.err, c.after, err, time.Since(begin))
			}
		})
	}
}

// A wait of many minutes is not a silent one, and not one of a thousand lines.
func TestALongWaitIsToldOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		store.TellWaits(func(text string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, text)
		})
		defer store.TellWaits(nil)
		f := failingFor(t, 10*time.Minute, store.ErrBusy)
		var readers sync.WaitGroup
		for range 8 {
			readers.Go(func() {
				if _, err := store.ReadFile(t.Context(), f, "x"); err != nil {
					t.Error(err)
				}
			})
		}
		readers.Wait()
		if len(told) < 8 || len(told) > 10 {
			t.Errorf("told %d times in ten minutes, want once a minute", len(told))
		}
		for _, text := range told {
			if !strings.Contains(text, "slow down") || !strings.Contains(text, "30m0s at most") {
				t.Errorf("told %q", text)
			}
		}
		told = nil
		if _, err := store.ReadFile(t.Context(), f, "x"); err != nil || len(told) != 0 {
			t.Errorf("a request that succeeds: %v, told %q", err, told)
		}
	})
}

func TestAStoreThatIgnoresConditionsIsRefused(t *testing.T) {
	for _, op := range []string{"put", "complete"} {
		m := &storetest.Mem{IgnoreConditions: op}
		f := newMem(t, m, op)
		_, err := store.Lock(f)
		var usage interface{ Usage() bool }
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), "ignores") {
			t.Errorf("%s: got %v", op, err)
		}
		if keys, uploads := m.Keys(); len(keys)+len(uploads) > 0 {
			t.Errorf("%s: the test left %q, %q", op, keys, uploads)
		}
	}
}

func TestALockThatIsNotRenewedIsTakenOver(t *testing.T) {
	m := new(storetest.Mem)
	stopped, other := newMem(t, m, "a"), newMem(t, m, "a")
	var wake error
	err := store.Hold(stopped, func() error {
		if _, err := store.Lock(other); !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), "in 60 seconds") {
			t.Errorf("at once: %v", err)
		}
		m.Shift = 2 * time.Minute // without a renewal
		unlock, err := store.Lock(other)
		if err != nil {
			t.Fatalf("after two minutes: %v", err)
		}
		defer unlock()
		store.Lapse(stopped, 2*time.Minute)
		wake = store.WriteFile(t.Context(), stopped, "x", nil)
		return wake
	})
	if !errors.Is(wake, store.ErrLocked) || !errors.Is(err, store.ErrLocked) {
		t.Errorf("the holder that woke: %v, then %v", wake, err)
	}
	if keys, _ := m.Keys(); len(keys) > 0 {
		t.Errorf("the folder holds %q", keys)
	}
}

func TestTheAgeOfALockIsThatOfTheOldest(t *testing.T) {
	m := new(storetest.Mem)
	f, other := newMem(t, m, "a"), newMem(t, m, "b")
	if age, held := store.LeaseAge(); held {
		t.Fatalf("before: %v", age)
	}
	err := store.Hold(f, func() error {
		if age, held := store.LeaseAge(); !held || age > time.Minute/2 {
			t.Errorf("a new lock: %v, %v", age, held)
		}
		store.Lapse(f, time.Minute/2)
		return store.Hold(other, func() error {
			if age, held := store.LeaseAge(); !held || age < time.Minute/2 || age > 2*time.Minute {
				t.Errorf("with one that was not renewed: %v, %v", age, held)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if age, held := store.LeaseAge(); held {
		t.Errorf("after: %v", age)
	}
}

// A run that was stopped while another one came, worked and went is as one whose lock
// another process holds.
func TestALockThatWasTakenOverAndReleasedIsLost(t *testing.T) {
	m := new(storetest.Mem)
	stopped, other := newMem(t, m, "a"), newMem(t, m, "a")
	err := store.Hold(stopped, func() error {
		m.Shift = 2 * time.Minute
		if err := store.Hold(other, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		store.Lapse(stopped, 2*time.Minute)
		return store.WriteFile(t.Context(), stopped, "x", nil)
	})
	if !errors.Is(err, store.ErrLocked) || strings.Count(err.Error(), "this run was stopped") != 1 {
		t.Errorf("got %v, want one error that matches %v", err, store.ErrLocked)
	}
	if keys, _ := m.Keys(); len(keys) > 0 {
		t.Errorf("the folder holds %q", keys)
	}
}

func TestSweepCancelsUploads(t *testing.T) {
	m := new(storetest.Mem)
	f := newMem(t, m, "a")
	w, err := f.Create(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 9<<20)); err != nil { // and the process is killed
		t.Fatal(err)
	}
	if _, uploads := m.Keys(); !slices.Equal(uploads, []string{"a/x"}) {
		t.Fatalf("uploads %q", uploads)
	}
	if err := store.Sweep(f); err != nil {
		t.Fatal(err)
	}
	if keys, uploads := m.Keys(); len(keys)+len(uploads) > 0 {
		t.Errorf("left: %q, %q", keys, uploads)
	}
}

// A writer that is aborted because the run was canceled removes its upload, even
// if the server fails for some seconds.
func TestAnAbortOutlivesItsContextAndAServerThatFailsForSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down time.Time
		m := &storetest.Mem{Before: func(op, key string) error {
			if time.Now().Before(down) {
				return fmt.Errorf("%s %s: %w", op, key, store.ErrTransient)
			}
			return nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		w, err := newMem(t, m, "a").Create(ctx, "x")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, 9<<20)); err != nil {
			t.Fatal(err)
		}
		if keys, uploads := m.Keys(); len(keys) != 1 || len(uploads) != 1 {
			t.Fatalf("before: %q, %q", keys, uploads)
		}
		down = time.Now().Add(8 * time.Second)
		cancel()
		w.Abort()
		if keys, uploads := m.Keys(); len(keys)+len(uploads) > 0 {
			t.Errorf("left: %q, %q", keys, uploads)
		}
	})
}

// A long sequential read makes few requests.
func TestSequentialReadsMakeFewRequests(t *testing.T) {
	gets := 0
	m := &storetest.Mem{After: func(op, _ string) error {
		if op == "get" {
			gets++
		}
		return nil
	}}
	f := newMem(t, m, "a")
	const size = 64 << 20
	if err := store.WriteFile(t.Context(), f, "x", make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	file, err := f.Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p := make([]byte, 64<<10)
	for off := int64(0); off < size; off += int64(len(p)) {
		if _, err := file.ReadAt(p, off); err != nil {
			t.Fatal(err)
		}
	}
	if want := size / (4 << 20); gets > want {
		t.Errorf("%d requests for %d MiB, want at most %d", gets, size>>20, want)
	}
}
