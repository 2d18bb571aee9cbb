// Package extsort sorts pairs of a hash and a number in bounded memory
// (external merge sort). It serves to find duplicates among hundreds of
// millions of records, and differences between two sets of documents.
//
//	s := extsort.New("", 64e6)
//	defer s.Close()
//	for i, record := range records {
//		s.Add([]extsort.Pair{{Key: extsort.Hash(record), Value: uint64(i)}})
//	}
//	for p, err := range s.Sorted() {
//		… // equal keys come one after another
//	}
//
// Pairs that do not fit in memory are written to a temporary file in sorted
// runs, 16 bytes for each pair, which are merged at the end. The file is
// unlinked when it is created, so a killed process leaves nothing behind.
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
	"math/bits"
	"os"
	"slices"
	"sync"
)

// A Pair is a hash and the number of the item with this hash.
type Pair struct{ Key, Value uint64 }

const pairBytes = 16

// Compare orders pairs by key, then value.
func Compare(a, b Pair) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
}

// A Sorter sorts pairs. Add is safe for concurrent use.
type Sorter struct {
	dir   string // folder of the temporary file
	limit int    // maximum pairs in memory

	mu   sync.Mutex
	buf  []Pair
	file *os.File
	runs []int64 // offset of the end of each sorted run in the file
}

// New returns a Sorter that uses about memory bytes. If it needs a temporary
// file, it creates it in dir ("": the system's temporary folder).
func New(dir string, memory int64) *Sorter {
	return &Sorter{dir: dir, limit: int(max(memory/pairBytes, 1024))}
}

// Add adds pairs. It does not retain the slice.
func (s *Sorter) Add(pairs []Pair) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.buf)+len(pairs) > s.limit && len(s.buf) > 0 {
		if err := s.spill(); err != nil {
			return fmt.Errorf("sort hashes: %w", err)
		}
	}
	s.buf = append(s.buf, pairs...)
	return nil
}

// spill writes the pairs in memory as a sorted run.
func (s *Sorter) spill() error {
	if s.file == nil {
		f, err := unnamed(s.dir)
		if err != nil {
			return err
		}
		s.file = f
	}
	slices.SortFunc(s.buf, Compare)
	w := bufio.NewWriterSize(s.file, 1<<20)
	var b [pairBytes]byte
	for _, p := range s.buf {
		binary.LittleEndian.PutUint64(b[:], p.Key)
		binary.LittleEndian.PutUint64(b[8:], p.Value)
		if _, err := w.Write(b[:]); err != nil {
			return err
		}
	}
	s.runs = append(s.runs, s.end()+int64(len(s.buf))*pairBytes)
	s.buf = s.buf[:0]
	return w.Flush()
}

// end returns the offset at which the file ends, where the next sorted run will
// begin.
func (s *Sorter) end() int64 {
	if len(s.runs) == 0 {
		return 0
	}
	return s.runs[len(s.runs)-1]
}

// Sorted yields all pairs in the order of [Compare], and at most one error. Add
// must not be called after Sorted.
func (s *Sorter) Sorted() iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		slices.SortFunc(s.buf, Compare)
		var h runHeap
		start := int64(0)
		for _, end := range s.runs {
			h = append(h, &run{r: bufio.NewReaderSize(io.NewSectionReader(s.file, start, end-start), 64<<10)})
			start = end
		}
		h = append(h, &run{held: s.buf})
		for i := 0; i < len(h); {
			switch ok, err := h[i].next(); {
			case err != nil:
				yield(Pair{}, err)
				return
			case ok:
				i++
			default:
				h = slices.Delete(h, i, i+1)
			}
		}
		heap.Init(&h)
		h.merge(yield)
	}
}

// Close removes the temporary file.
func (s *Sorter) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// A run reads one sorted run, from the file or from memory. at is its current
// pair.
type run struct {
	r    *bufio.Reader // nil for the run in memory
	held []Pair
	at   Pair
}

func (r *run) next() (ok bool, err error) {
	if r.r == nil {
		if len(r.held) == 0 {
			return false, nil
		}
		r.at, r.held = r.held[0], r.held[1:]
		return true, nil
	}
	var b [pairBytes]byte
	if _, err := io.ReadFull(r.r, b[:]); errors.Is(err, io.EOF) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("sort hashes: %w", err)
	}
	r.at = Pair{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}
	return true, nil
}

// runHeap orders runs by their current pair.
type runHeap []*run

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return Compare(h[i].at, h[j].at) < 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)        { *h = append(*h, x.(*run)) }
func (h *runHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// merge yields the pairs of all runs in order, until they end or yield returns
// false.
func (h *runHeap) merge(yield func(Pair, error) bool) {
	for len(*h) > 0 {
		r := (*h)[0]
		if !yield(r.at, nil) {
			return
		}
		switch ok, err := r.next(); {
		case err != nil:
			yield(Pair{}, err)
			return
		case ok:
			heap.Fix(h, 0)
		default:
			heap.Pop(h)
		}
	}
}

// Hash returns a 64-bit hash of b. It processes 8 bytes at a time, folded by a
// 128-bit product, as wyhash and Go's own map hash do. It does not resist
// attacks. Among n different inputs, a collision has a probability of about
// n²/2⁶⁵.
func Hash(b []byte) uint64 {
	const k0, k1 = 0xa0761d6478bd642f, 0xe7037ed1a0b428db // wyhash's secrets
	mix := func(a, b uint64) uint64 {
		hi, lo := bits.Mul64(a, b)
		return hi ^ lo
	}
	h := mix(uint64(len(b))^k0, k1)
	for ; len(b) >= 8; b = b[8:] {
		h = mix(h^binary.LittleEndian.Uint64(b), k1)
	}
	var last [8]byte
	copy(last[:], b)
	return mix(mix(h^binary.LittleEndian.Uint64(last[:]), k0), k1)
}
