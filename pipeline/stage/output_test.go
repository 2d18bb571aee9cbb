package stage

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"pretext/internal/store"
	"pretext/records/tfrecord"
	"pretext/sharding"
)

// A limitedWriter fails after some bytes, as a full disk does.
type limitedWriter struct {
	store.Writer
	left int
}

var errFull = errors.New("disk full")

func (w *limitedWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		n, _ := w.Writer.Write(p[:w.left])
		return n, errFull
	}
	w.left -= len(p)
	return w.Writer.Write(p)
}

// output returns an Output whose processors are idle when free returns true, and which
// fails after limit bytes.
func output(t *testing.T, folder store.Folder, limit int, free func() bool) *Output {
	t.Helper()
	env := &Env{Folder: folder, job: newJob(t.Context(), 1, new(Meter))}
	o, err := env.Create(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	turn := 0
	o.idle, o.w, o.others = free, &limitedWriter{o.w, limit}, func() bool { turn++; return turn%5 > 0 }
	return o
}

// waysToWrite says for each buffer whether a processor is free.
func waysToWrite() map[string]func() bool {
	turn := 0
	return map[string]func() bool{
		"at once":           func() bool { return false },
		"in the background": func() bool { return true },
		"both":              func() bool { turn++; return turn%7 == 0 },
	}
}

func TestAFileWrittenInTheBackgroundIsTheSame(t *testing.T) {
	for name, free := range waysToWrite() {
		t.Run(name, func(t *testing.T) {
			folder, err := store.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			o := output(t, folder, 1<<30, free)
			var want bytes.Buffer
			a, b := tfrecord.NewWriter(o, tfrecord.WriterOptions{}), tfrecord.NewWriter(&want, tfrecord.WriterOptions{})
			payload := bytes.Repeat([]byte("0123456789abcdef"), 300_000)
			for i := range 4000 {
				p := payload[i : i+i%2000]
				if i%1500 == 7 {
					p = payload[:1_500_000] // longer than a buffer
				}
				if err := errors.Join(a.Write(p), b.Write(p)); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(a.Close(), b.Close(), o.w.Commit()); err != nil {
				t.Fatal(err)
			}
			got, err := store.ReadFile(t.Context(), folder, "x")
			if err != nil || !bytes.Equal(got, want.Bytes()) {
				t.Fatalf("%d bytes, want %d: %v", len(got), want.Len(), err)
			}
			if e := o.Entry(0, nil); e.Bytes != int64(want.Len()) || e.SHA256 != sharding.Hash(want.Bytes()) {
				t.Errorf("entry %+v", e)
			}
		})
	}
}

func TestAnErrorInTheBackgroundEndsWriting(t *testing.T) {
	before := runtime.NumGoroutine()
	for name, free := range waysToWrite() {
		for _, limit := range []int{0, 1 << 20, 3<<20 - 1} {
			folder, err := store.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			o := output(t, folder, limit, free)
			w := tfrecord.NewWriter(o, tfrecord.WriterOptions{})
			for range 3 << 10 {
				if err = w.Write(make([]byte, 1<<10)); err != nil {
					break
				}
			}
			if err == nil {
				err = w.Close()
			}
			if again := w.Close(); !errors.Is(err, errFull) || err.Error() != "write records: disk full" || again == nil {
				t.Errorf("%s, full after %d bytes: got %v, then %v", name, limit, err, again)
			}
			o.Abort()
			if infos, err := folder.List(t.Context()); err != nil || len(infos) > 0 {
				t.Errorf("%d files are left, %v", len(infos), err)
			}
		}
	}
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// An Output may be discarded while its buffers are written.
func TestAFileWrittenInTheBackgroundIsDiscarded(t *testing.T) {
	folder, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := output(t, folder, 1<<30, func() bool { return true })
	w := tfrecord.NewWriter(o, tfrecord.WriterOptions{})
	for range 2000 {
		if err := w.Write(make([]byte, 1<<10)); err != nil {
			t.Fatal(err)
		}
	}
	o.Abort()
	o.Abort()
	if err := o.w.Commit(); err == nil {
		t.Error("a discarded file was committed")
	}
}

// Two tasks that write at the same time, in pieces of any size, have the files and sums that
// they have alone.
func TestTasksThatWriteAtOnceHaveTheirOwnSums(t *testing.T) {
	folder, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env := &Env{Folder: folder, job: newJob(t.Context(), 2, new(Meter))}
	var tasks errgroup.Group
	for task := range 2 {
		tasks.Go(func() error {
			o, err := env.Create(t.Context(), strconv.Itoa(task))
			if err != nil {
				return err
			}
			others := 0
			o.idle, o.others = func() bool { return false }, func() bool { others++; return others%50 > 0 }
			random := rand.New(rand.NewPCG(1, uint64(task)))
			var want bytes.Buffer
			piece := make([]byte, 3*pendingBytes)
			for range 3000 {
				p := piece[:random.IntN(3000)]
				if random.IntN(100) == 0 {
					p = piece[:random.IntN(len(piece))]
				}
				for i := range p {
					p[i] = byte(random.Uint32())
				}
				want.Write(p)
				if n, err := o.Write(p); n != len(p) || err != nil {
					return fmt.Errorf("%d of %d bytes: %w", n, len(p), err)
				}
			}
			if err := errors.Join(o.Wait(), o.w.Commit()); err != nil {
				return err
			}
			got, err := store.ReadFile(t.Context(), folder, strconv.Itoa(task))
			if e := o.Entry(0, nil); err != nil || !bytes.Equal(got, want.Bytes()) || e.SHA256 != sharding.Hash(want.Bytes()) || e.Bytes != int64(want.Len()) {
				return fmt.Errorf("%d bytes, want %d: %+v, %v", len(got), want.Len(), e, err)
			}
			return nil
		})
	}
	if err := tasks.Wait(); err != nil {
		t.Fatal(err)
	}
}

// A file whose first write failed is never complete, whatever is written after.
func TestAnErrorOfWritingStays(t *testing.T) {
	folder, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, others := range []bool{false, true} {
		o := output(t, folder, pendingBytes, func() bool { return false })
		o.others = func() bool { return others }
		for range 3 * pendingBytes / 1000 {
			_, _ = o.Write(make([]byte, 1000))
		}
		o.w.(*limitedWriter).left = 1 << 20
		if _, err := o.Write(make([]byte, 2*pendingBytes)); !errors.Is(err, errFull) {
			t.Errorf("others %v: the next write: %v", others, err)
		}
		if err := o.Wait(); !errors.Is(err, errFull) {
			t.Errorf("others %v: at the end: %v", others, err)
		}
		o.Abort()
	}
}
