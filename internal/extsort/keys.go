package extsort

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
)

var keys = kind[uint64]{
	bytes:   8,
	sort:    slices.Sort[[]uint64],
	compare: cmp.Compare[uint64],
	put:     binary.LittleEndian.PutUint64,
	get:     binary.LittleEndian.Uint64,
}

// Keys sorts numbers in bounded memory, like [Sorter], which sorts pairs. It is not safe
// for concurrent use.
type Keys struct {
	limit int // maximum numbers in memory
	merger[uint64]
}

// NewKeys returns a sorter that uses about memory bytes. If that is not enough, it calls
// spill to create a temporary file, and writes sorted runs there.
func NewKeys(memory int64, spill func() (Spill, error)) *Keys {
	return &Keys{limit: int(max(memory/8, 1024)), merger: merger[uint64]{kind: keys, spill: spill}}
}

// Add adds key to the numbers to sort. If memory is full, it first writes a sorted run to
// the temporary file.
func (k *Keys) Add(key uint64) error {
	if len(k.buf) == k.limit {
		if err := k.flush(); err != nil {
			return fmt.Errorf("sort: %w", err)
		}
	}
	k.buf = append(k.buf, key)
	return nil
}

// Sorted yields all numbers in ascending order, and at most one error. Add must
// not be called after Sorted.
func (k *Keys) Sorted() iter.Seq2[uint64, error] { return k.sorted("sort") }
