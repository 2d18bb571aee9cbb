package extsort

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

// A Spill is a temporary file that disappears when it is closed.
type Spill interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// TempSpill returns a function that creates a Spill in the folder dir ("": the
// system's temporary folder).
func TempSpill(dir string) func() (Spill, error) {
	return func() (Spill, error) { return unnamed(dir) }
}

// unnamed creates a file and unlinks it, so that it disappears with the process.
func unnamed(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "pretext-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Keys sorts numbers in bounded memory, as [Sorter] sorts pairs. It is not safe
// for concurrent use.
type Keys struct {
	limit int // maximum numbers in memory
	spill func() (Spill, error)
	buf   []uint64
	file  Spill
	runs  []int64 // offset of the end of each sorted run in the file
}

// NewKeys returns a sorter that uses about memory bytes. If that is not enough, it
// writes sorted runs to the file that spill creates.
func NewKeys(memory int64, spill func() (Spill, error)) *Keys {
	return &Keys{limit: int(max(memory/8, 1024)), spill: spill}
}

// Add adds a number.
func (k *Keys) Add(key uint64) error {
	if len(k.buf) == k.limit {
		if err := k.flush(); err != nil {
			return fmt.Errorf("sort: %w", err)
		}
	}
	k.buf = append(k.buf, key)
	return nil
}

// flush writes the numbers in memory as a sorted run.
func (k *Keys) flush() (err error) {
	if k.file == nil {
		if k.file, err = k.spill(); err != nil {
			return err
		}
	}
	slices.Sort(k.buf)
	w := bufio.NewWriterSize(io.NewOffsetWriter(k.file, k.end()), 1<<20)
	var b [8]byte
	for _, key := range k.buf {
		binary.LittleEndian.PutUint64(b[:], key)
		if _, err := w.Write(b[:]); err != nil {
			return err
		}
	}
	k.runs = append(k.runs, k.end()+8*int64(len(k.buf)))
	k.buf = k.buf[:0]
	return w.Flush()
}

func (k *Keys) end() int64 {
	if len(k.runs) == 0 {
		return 0
	}
	return k.runs[len(k.runs)-1]
}

// Sorted yields all numbers in ascending order, and at most one error. Add must
// not be called after Sorted.
func (k *Keys) Sorted() iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		slices.Sort(k.buf)
		h := keyHeap{{held: k.buf}}
		start := int64(0)
		for _, end := range k.runs {
			h = append(h, &keyRun{r: bufio.NewReaderSize(io.NewSectionReader(k.file, start, end-start), 64<<10)})
			start = end
		}
		for i := 0; i < len(h); {
			ok, err := h[i].next()
			if err != nil {
				yield(0, err)
				return
			}
			if ok {
				i++
			} else {
				h = slices.Delete(h, i, i+1)
			}
		}
		heap.Init(&h)
		h.merge(yield)
	}
}

// Close removes the temporary file.
func (k *Keys) Close() error {
	if k.file == nil {
		return nil
	}
	return k.file.Close()
}

// A keyRun reads one sorted run, from the file or from memory. at is its current
// number.
type keyRun struct {
	r    *bufio.Reader // nil for the run in memory
	held []uint64
	at   uint64
}

func (r *keyRun) next() (ok bool, err error) {
	if r.r == nil {
		if len(r.held) == 0 {
			return false, nil
		}
		r.at, r.held = r.held[0], r.held[1:]
		return true, nil
	}
	var b [8]byte
	if _, err := io.ReadFull(r.r, b[:]); errors.Is(err, io.EOF) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("sort: %w", err)
	}
	r.at = binary.LittleEndian.Uint64(b[:])
	return true, nil
}

// keyHeap orders runs by their current number.
type keyHeap []*keyRun

func (h keyHeap) Len() int           { return len(h) }
func (h keyHeap) Less(i, j int) bool { return cmp.Less(h[i].at, h[j].at) }
func (h keyHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *keyHeap) Push(any)          { panic("BUG: the number of runs is fixed") }
func (h *keyHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// merge yields the numbers of all runs in order, until they end or yield returns
// false.
func (h *keyHeap) merge(yield func(uint64, error) bool) {
	for len(*h) > 0 {
		r := (*h)[0]
		if !yield(r.at, nil) {
			return
		}
		ok, err := r.next()
		switch {
		case err != nil:
			yield(0, err)
			return
		case ok:
			heap.Fix(h, 0)
		default:
			heap.Pop(h)
		}
	}
}
