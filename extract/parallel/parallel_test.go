package parallel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// slotsFor returns the slots of a process that may run n tasks at once and runs one.
func slotsFor(n int) chan struct{} {
	slots := make(chan struct{}, n)
	slots <- struct{}{}
	return slots
}

func TestEachJobRunsOnce(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 5} {
		var slots chan struct{}
		if workers > 0 {
			slots = slotsFor(workers)
		}
		team := NewTeam(slots)
		if team.Alone() != (workers <= 1) {
			t.Errorf("%d workers: alone is %v", workers, team.Alone())
		}
		var runs, running, most atomic.Int64
		var jobs []*Job
		work := func() {
			n := running.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			runtime.Gosched()
			running.Add(-1)
			runs.Add(1)
		}
		for i := range 1000 {
			start := team.Start
			if i%3 == 0 {
				start = team.StartFirst
			}
			if jobs = append(jobs, start(work)); len(jobs) > 10 {
				team.Wait(jobs[0])
				if !team.Done(jobs[0]) {
					t.Fatal("a job that was waited for is not done")
				}
				jobs = jobs[1:]
			}
		}
		for _, j := range jobs {
			team.Wait(j)
		}
		team.End()
		if runs.Load() != 1000 || most.Load() > int64(max(1, workers)) {
			t.Errorf("%d workers: %d runs, up to %d at once", workers, runs.Load(), most.Load())
		}
		if workers > 0 && len(slots) != 1 {
			t.Errorf("%d workers: %d slots are taken after the end", workers, len(slots))
		}
	}
}

// A task that waits for a slot gets that of a helper after the helper's job.
func TestATaskGoesBeforeHelpers(t *testing.T) {
	slots := slotsFor(2)
	team := NewTeam(slots)
	begun, leave := make(chan struct{}), make(chan struct{})
	first := team.Start(func() { close(begun); <-leave })
	<-begun
	var others atomic.Int64
	for range 5 {
		team.Start(func() { others.Add(1) })
	}
	got := make(chan struct{})
	go func() { slots <- struct{}{}; close(got) }()
	for range 100 { // until the task waits
		time.Sleep(100 * time.Microsecond)
	}
	close(leave)
	<-got
	team.Wait(first)
	for team.Helped() {
		runtime.Gosched()
	}
	if n := others.Load(); n != 0 {
		t.Errorf("helpers ran %d jobs while a task waited", n)
	}
	team.End()
}

func TestAPanicOfAHelperIsThatOfTheTask(t *testing.T) {
	for _, workers := range []int{1, 2} {
		team := NewTeam(slotsFor(workers))
		job := team.Start(func() { panic("the reason") })
		value := func() (value any) {
			defer func() { value = recover() }()
			team.Wait(job)
			return nil
		}()
		if !strings.Contains(fmt.Sprint(value), "the reason") {
			t.Errorf("%d workers: got panic %v", workers, value)
		}
		team.End()
	}
}

func TestEndDropsWaitingJobsAndWaitsForTheOthers(t *testing.T) {
	team := NewTeam(slotsFor(2))
	begun, leave := make(chan struct{}), make(chan struct{})
	var left atomic.Bool
	team.Start(func() { close(begun); <-leave; time.Sleep(time.Millisecond); left.Store(true) })
	<-begun
	team.Start(func() { t.Error("a job that was dropped ran") })
	go func() {
		for waiting := 1; waiting > 0; { // until End has dropped the job
			time.Sleep(time.Millisecond)
			team.mu.Lock()
			waiting = len(team.later)
			team.mu.Unlock()
		}
		close(leave)
	}()
	team.End()
	if !left.Load() {
		t.Error("End did not wait for a job that had begun")
	}
}

func TestAheadReadsTheSameBytes(t *testing.T) {
	const size = 5<<20 + 17
	want := make([]byte, size)
	rand.NewChaCha8([32]byte{1}).Read(want)
	broken := errors.New("broken")
	for _, workers := range []int{0, 1, 2, 3} {
		for name, end := range map[string]error{"whole": io.EOF, "broken": broken, "cut": io.ErrUnexpectedEOF} {
			for shape, of := range map[string]func(io.Reader) io.Reader{"as it is": func(r io.Reader) io.Reader { return r }, "half": iotest.HalfReader, "error with bytes": iotest.DataErrReader} {
				var slots chan struct{}
				if workers > 0 {
					slots = slotsFor(workers)
				}
				team := NewTeam(slots)
				src := io.Reader(bytes.NewReader(want))
				if end != io.EOF {
					src = io.MultiReader(src, iotest.ErrReader(end))
				}
				a := team.NewAhead(of(src))
				var got []byte
				var err error
				p := make([]byte, 100_000)
				for err == nil {
					var n int
					n, err = a.Read(p[:1+len(got)%len(p)])
					got = append(got, p[:n]...)
					if len(got)%7 == 0 {
						team.Start(runtime.Gosched)
					}
				}
				if !bytes.Equal(got, want) || err != end {
					t.Errorf("%d workers, %s, %s: got %d bytes and %v, want %d and %v", workers, name, shape, len(got), err, size, end)
				}
				if _, again := a.Read(p); again != end {
					t.Errorf("%d workers, %s, %s: got %v after the end, want %v", workers, name, shape, again, end)
				}
				a.Close()
				team.End()
			}
		}
	}
}

// endless counts how many bytes were read from it.
type endless struct{ n atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.n.Add(int64(len(p)))
	return len(p), nil
}

func TestAheadHoldsLittle(t *testing.T) {
	for workers, most := range map[int]int64{1: aheadBytes, 2: aheadBuffers * aheadBytes} {
		team := NewTeam(slotsFor(workers))
		src := new(endless)
		a := team.NewAhead(src)
		p := make([]byte, aheadBytes)
		for i := range int64(20) {
			if n, err := a.Read(p); n < aheadBytes || err != nil {
				t.Fatal(n, err)
			}
			for team.Helped() {
				runtime.Gosched()
			}
			if n := src.n.Load() - i*aheadBytes; n > most {
				t.Fatalf("%d workers: %d bytes were read ahead, want at most %d", workers, n, most)
			}
		}
		a.Close()
		if _, err := a.Read(make([]byte, 1)); err != errClosed {
			t.Errorf("after Close: got %v", err)
		}
		team.End()
	}
}

// A source must not be closed while a helper reads it.
func TestCloseWaitsForAHelper(t *testing.T) {
	team := NewTeam(slotsFor(2))
	in, out := io.Pipe()
	a := team.NewAhead(in)
	first := make(chan struct{})
	go func() {
		out.Write(slices.Repeat([]byte{1}, aheadBytes+1))
		close(first)
	}()
	a.Read(make([]byte, 1))
	<-first
	closed := make(chan struct{})
	go func() { a.Close(); close(closed) }()
	select {
	case <-closed:
		if team.Helped() {
			t.Error("Close returned while a helper was reading")
		}
	case <-time.After(20 * time.Millisecond):
	}
	out.Close()
	<-closed
	team.End()
}

func TestSpentTellsJobsFromReading(t *testing.T) {
	team := NewTeam(nil)
	team.Wait(team.Start(func() { time.Sleep(3 * time.Millisecond) }))
	a := team.NewAhead(readerFunc(func(p []byte) (int, error) {
		time.Sleep(2 * time.Millisecond)
		return 0, io.EOF
	}))
	a.Read(make([]byte, 1))
	a.Close()
	if s := team.End(); s.Jobs < 3*time.Millisecond || s.Ahead < 2*time.Millisecond || s.Ahead > s.Jobs+time.Second {
		t.Errorf("got %+v", s)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
