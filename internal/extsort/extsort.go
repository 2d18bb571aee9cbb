// Package extsort sorts any number of pairs of a hash and a number in bounded
// memory: to find what occurs twice among hundreds of millions of records, or
// what two sets of documents do not share.
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
// What does not fit in memory goes to a temporary file as sorted runs of 16
// bytes a Pair, which are merged at the end. The file loses its name as soon as
// it is made, so that nothing is left of a process that is killed.
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

// A Pair is a hash and what has it.
type Pair struct{ Key, Value uint64 }

const pairBytes = 16

// Compare orders pairs by key, then value.
func Compare(a, b Pair) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
}

// A Sorter sorts pairs. Add may be called by several goroutines at a time.
type Sorter struct {
	dir   string // of the temporary file
	limit int    // pairs held

	mu   sync.Mutex
	buf  []Pair
	file *os.File
	runs []int64 // end of each in the file
}

// New returns a Sorter that holds about so many bytes and makes its temporary
// file, when it needs one, in dir ("": the system's folder).
func New(dir string, memory int64) *Sorter {
	return &Sorter{dir: dir, limit: int(max(memory/pairBytes, 1024))}
}

// Add takes pairs; it keeps nothing of the slice.
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

// spill writes what is held as a sorted run.
func (s *Sorter) spill() error {
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, "pretext-*")
		if err != nil {
			return err
		}
		s.file = f
		// Without a name the file cannot outlive the process.
		if err := os.Remove(f.Name()); err != nil {
			return err
		}
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

// end is where the next run begins.
func (s *Sorter) end() int64 {
	if len(s.runs) == 0 {
		return 0
	}
	return s.runs[len(s.runs)-1]
}

// Sorted yields all pairs in order, and at most one error. Nothing may be
// added after it.
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

// Close frees the temporary file.
func (s *Sorter) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// A run is a place in a sorted run: one of the file, or what is held.
type run struct {
	r    *bufio.Reader // nil for what is held
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

// runHeap orders runs by the Pair they stand at.
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

// merge yields the pairs of all runs until they end or yield asks to stop.
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

// Hash returns a 64-bit hash: 8 bytes a step, folded by a
// product of 128 bits, as wyhash and Go's own hash of maps mix. It is not
// meant to withstand an attacker. Among n different inputs two have the same
// hash with a chance of about n²/2⁶⁵.
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
