package extsort

import (
	"bufio"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
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

// A kind describes a type of values: how to compare them, and their format in the file.
type kind[T any] struct {
	bytes   int // size of a value in the file
	sort    func([]T)
	compare func(a, b T) int
	put     func(b []byte, v T)
	get     func(b []byte) T
}

// A merger holds values in memory and in sorted runs of a file.
type merger[T any] struct {
	kind[T]
	spill func() (Spill, error) // creates the file
	buf   []T
	file  Spill
	runs  []int64 // offset of the end of each sorted run in the file
}

// flush writes the values in memory as a sorted run.
func (m *merger[T]) flush() (err error) {
	if m.file == nil {
		if m.file, err = m.spill(); err != nil {
			return err
		}
	}
	m.sort(m.buf)
	w := bufio.NewWriterSize(io.NewOffsetWriter(m.file, m.end()), 1<<20)
	b := make([]byte, m.bytes)
	for _, v := range m.buf {
		m.put(b, v)
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	m.runs = append(m.runs, m.end()+int64(m.bytes)*int64(len(m.buf)))
	m.buf = m.buf[:0]
	return w.Flush()
}

// end returns the offset at which the file ends, where the next sorted run will
// begin.
func (m *merger[T]) end() int64 {
	if len(m.runs) == 0 {
		return 0
	}
	return m.runs[len(m.runs)-1]
}

// sorted yields all values in order, and at most one error, whose text begins with doing.
func (m *merger[T]) sorted(doing string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		m.sort(m.buf)
		runs := []*run[T]{{held: m.buf}}
		start := int64(0)
		for _, end := range m.runs {
			runs = append(runs, &run[T]{r: bufio.NewReaderSize(io.NewSectionReader(m.file, start, end-start), 64<<10), get: m.get, b: make([]byte, m.bytes)})
			start = end
		}
		if err := Merge(runs, func(a, b *run[T]) int { return m.compare(a.at, b.at) }, func(r *run[T]) bool { return yield(r.at, nil) }); err != nil {
			var none T
			yield(none, fmt.Errorf("%s: %w", doing, err))
		}
	}
}

// Close removes the temporary file.
func (m *merger[T]) Close() error {
	if m.file == nil {
		return nil
	}
	return m.file.Close()
}

// A run is a reader of one sorted run, in the file or in memory. at is its current value.
type run[T any] struct {
	r    *bufio.Reader // nil for the run in memory
	get  func([]byte) T
	b    []byte
	held []T
	at   T
}

func (r *run[T]) Next() (ok bool, err error) {
	if r.r == nil {
		if len(r.held) == 0 {
			return false, nil
		}
		r.at, r.held = r.held[0], r.held[1:]
		return true, nil
	}
	if _, err := io.ReadFull(r.r, r.b); errors.Is(err, io.EOF) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	r.at = r.get(r.b)
	return true, nil
}

// A Source is a sequence of sorted values. It has a current value.
type Source interface {
	// Next moves to the next value, at first to the first. It returns false at the end.
	Next() (ok bool, err error)
}

// sourceHeap orders sources by their current value.
type sourceHeap[S Source] struct {
	compare func(a, b S) int
	sources []S
}

func (h *sourceHeap[S]) Len() int           { return len(h.sources) }
func (h *sourceHeap[S]) Less(i, j int) bool { return h.compare(h.sources[i], h.sources[j]) < 0 }
func (h *sourceHeap[S]) Swap(i, j int)      { h.sources[i], h.sources[j] = h.sources[j], h.sources[i] }
func (h *sourceHeap[S]) Push(any)           { panic("BUG: the number of sources is fixed") }
func (h *sourceHeap[S]) Pop() any {
	last := h.sources[len(h.sources)-1]
	h.sources = h.sources[:len(h.sources)-1]
	return last
}

// Merge calls yield for each value of all sources in order, with the source at that value,
// until they end or yield returns false. compare compares the current values of two sources.
func Merge[S Source](sources []S, compare func(a, b S) int, yield func(S) bool) error {
	h := &sourceHeap[S]{compare: compare}
	for _, s := range sources {
		ok, err := s.Next()
		if err != nil {
			return err
		}
		if ok {
			h.sources = append(h.sources, s)
		}
	}
	heap.Init(h)
	for len(h.sources) > 0 {
		s := h.sources[0]
		if !yield(s) {
			return nil
		}
		switch ok, err := s.Next(); {
		case err != nil:
			return err
		case ok:
			heap.Fix(h, 0)
		default:
			heap.Pop(h)
		}
	}
	return nil
}
