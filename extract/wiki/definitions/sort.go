package definitions

import (
	"io"
	"iter"
	"slices"

	"pretext/internal/extsort"
)

// A Spill is a temporary file that disappears when it is closed.
type Spill interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// sortMemory is the maximum size in bytes of the definitions that a Sorter holds in
// memory.
const sortMemory = 8 << 20

// A Sorter sorts definitions in bounded memory. It must not be used by several
// goroutines at once.
type Sorter struct {
	spill func() (Spill, error) // function that creates the temporary file
	list  []Definition
	size  int
	file  Spill // temporary file of sorted runs, each a file of definitions; nil until it is needed
	ends  []int64
}

// NewSorter returns a Sorter, which uses about 10 MB of memory. If the definitions do
// not fit, it writes them to a temporary file created by spill.
func NewSorter(spill func() (Spill, error)) *Sorter { return &Sorter{spill: spill} }

// Add adds d to the definitions to sort. If memory is full, it writes a sorted run to the
// temporary file.
func (s *Sorter) Add(d Definition) error {
	s.list = append(s.list, d)
	if s.size += d.Size() + 64; s.size < sortMemory {
		return nil
	}
	return s.flush()
}

// flush writes the definitions in memory to the temporary file.
func (s *Sorter) flush() (err error) {
	if s.file == nil {
		if s.file, err = s.spill(); err != nil {
			return err
		}
	}
	start := int64(0)
	if len(s.ends) > 0 {
		start = s.ends[len(s.ends)-1]
	}
	out := io.NewOffsetWriter(s.file, start)
	w, err := NewWriter(out)
	if err != nil {
		return err
	}
	for d := range s.sorted() {
		if err := w.Add(d); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	end, err := out.Seek(0, io.SeekCurrent)
	s.ends = append(s.ends, start+end)
	clear(s.list)
	s.list, s.size = s.list[:0], 0
	return err
}

// sorted yields the definitions in memory in order, without duplicates.
func (s *Sorter) sorted() iter.Seq[Definition] {
	slices.SortFunc(s.list, compare)
	return slices.Values(slices.Compact(s.list))
}

// Sorted yields all definitions in the order of [compare], without duplicates, and at
// most one error. Add must not be called after it.
func (s *Sorter) Sorted() iter.Seq2[Definition, error] {
	if s.file == nil {
		return func(yield func(Definition, error) bool) {
			for d := range s.sorted() {
				if !yield(d, nil) {
					return
				}
			}
		}
	}
	return func(yield func(Definition, error) bool) {
		if err := s.flush(); err != nil {
			yield(Definition{}, err)
			return
		}
		var runs []*File
		start := int64(0)
		for _, end := range s.ends {
			f, err := Open(io.NewSectionReader(s.file, start, end-start), end-start)
			if err != nil {
				yield(Definition{}, err)
				return
			}
			runs, start = append(runs, f), end
		}
		merge(runs)(yield)
	}
}

// Close removes the temporary file.
func (s *Sorter) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// merge yields the definitions of several files in the order of [compare], without
// duplicates, and at most one error. It holds one block of each file in memory.
func merge(files []*File) iter.Seq2[Definition, error] {
	return func(yield func(Definition, error) bool) {
		var cursors []*cursor
		for _, f := range files {
			c := &cursor{}
			c.next, c.stop = iter.Pull2(f.All())
			defer c.stop()
			cursors = append(cursors, c)
		}
		var last Definition
		n := 0
		err := extsort.Merge(cursors, func(a, b *cursor) int { return compare(a.at, b.at) }, func(c *cursor) bool {
			if n++; n > 1 && c.at == last {
				return true
			}
			last = c.at
			return yield(last, nil)
		})
		if err != nil {
			yield(Definition{}, err)
		}
	}
}

// A cursor is a position in a file.
type cursor struct {
	next func() (Definition, error, bool)
	stop func()
	at   Definition
}

// Next implements [extsort.Source].
func (c *cursor) Next() (ok bool, err error) {
	c.at, err, ok = c.next()
	return ok, err
}
