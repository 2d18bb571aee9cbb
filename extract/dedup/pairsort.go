package dedup

import (
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"slices"
)

// A Pair is a pair of document numbers, with A < B.
type Pair struct{ A, B uint32 }

const pairBytes = 8

func comparePairs(a, b Pair) int { return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B)) }

// A Spill is a temporary file for pairs that do not fit in memory.
type Spill interface {
	io.ReaderAt
	io.WriterAt
}

// A pairSorter sorts pairs in limited memory. It removes duplicates unless repeats is
// set. When memory is full, it writes the sorted pairs to the spill as a run. The runs
// are merged at the end.
type pairSorter struct {
	limit int // maximum number of pairs in memory
	spill Spill
	// repeats keeps duplicates, for a caller that counts them.
	repeats bool
	pairs   []Pair
	runs    []int64 // end offset of each run in the spill
}

func (s *pairSorter) add(p Pair) error {
	if s.pairs = append(s.pairs, p); len(s.pairs) < s.limit {
		return nil
	}
	s.settle()
	if len(s.pairs) < s.limit/2 { // most pairs were duplicates
		return nil
	}
	return s.flush()
}

func (s *pairSorter) settle() {
	slices.SortFunc(s.pairs, comparePairs)
	if !s.repeats {
		s.pairs = slices.Compact(s.pairs)
	}
}

func (s *pairSorter) end() int64 {
	if len(s.runs) == 0 {
		return 0
	}
	return s.runs[len(s.runs)-1]
}

// flush writes the sorted pairs as a run.
func (s *pairSorter) flush() error {
	at := s.end()
	buf := make([]byte, 0, 64<<10)
	for i, p := range s.pairs {
		buf = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(buf, p.A), p.B)
		if len(buf) == cap(buf) || i == len(s.pairs)-1 {
			if _, err := s.spill.WriteAt(buf, at); err != nil {
				return err
			}
			at += int64(len(buf))
			buf = buf[:0]
		}
	}
	s.runs = append(s.runs, at)
	s.pairs = s.pairs[:0]
	return nil
}

// each calls visit for all pairs in order, without duplicates unless repeats is
// set.
func (s *pairSorter) each(ctx context.Context, visit func(Pair) error) error {
	s.settle()
	if len(s.runs) == 0 {
		for _, p := range s.pairs {
			if err := visit(p); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	if err := s.flush(); err != nil {
		return err
	}
	s.pairs = nil
	return s.merge(ctx, visit)
}

// merge calls visit for the pairs of all runs in order. There are few runs,
// because each is as large as the memory, so a linear search for the run with
// the smallest next pair is fast enough.
func (s *pairSorter) merge(ctx context.Context, visit func(Pair) error) error {
	var heads []*run
	start := int64(0)
	buffer := max(4<<10, min(256<<10, s.limit*pairBytes/len(s.runs))) &^ (pairBytes - 1)
	for _, end := range s.runs {
		heads = append(heads, &run{r: io.NewSectionReader(s.spill, start, end-start), buf: make([]byte, 0, buffer)})
		start = end
	}
	last, first := Pair{}, true
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var least *run
		for i := 0; i < len(heads); i++ {
			ok, err := heads[i].fill()
			if err != nil {
				return err
			}
			if !ok {
				heads = slices.Delete(heads, i, i+1)
				i--
			} else if least == nil || comparePairs(heads[i].head(), least.head()) < 0 {
				least = heads[i]
			}
		}
		if least == nil {
			return nil
		}
		p := least.head()
		least.at += pairBytes
		if !first && p == last && !s.repeats {
			continue
		}
		last, first = p, false
		if err := visit(p); err != nil {
			return err
		}
	}
}

// A run is a sorted part of the spill.
type run struct {
	r   io.Reader
	buf []byte
	at  int
}

// fill loads the next pair of the run, so that head returns it; ok is false at the end
// of the run.
func (r *run) fill() (ok bool, err error) {
	if r.at < len(r.buf) {
		return true, nil
	}
	n, err := io.ReadFull(r.r, r.buf[:cap(r.buf)])
	r.buf, r.at = r.buf[:n&^(pairBytes-1)], 0
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return len(r.buf) > 0, err
}

func (r *run) head() Pair {
	return Pair{binary.LittleEndian.Uint32(r.buf[r.at:]), binary.LittleEndian.Uint32(r.buf[r.at+4:])}
}
