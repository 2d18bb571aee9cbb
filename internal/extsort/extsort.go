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
// Pairs that do not fit in memory are written to a temporary file as sorted runs, 16 bytes
// for each pair. The runs are merged at the end. The file is unlinked as soon as it is
// created, so a killed process leaves nothing behind.
package extsort

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"sync"
)

// A Pair is the hash of an item, and a number that identifies the item.
type Pair struct{ Key, Value uint64 }

const pairBytes = 16

// compare orders pairs by key, then value.
func compare(a, b Pair) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
}

var pairs = kind[Pair]{
	bytes:   pairBytes,
	sort:    func(list []Pair) { sortPairs(list, 64-radixBits) },
	compare: compare,
	put: func(b []byte, p Pair) {
		binary.LittleEndian.PutUint64(b, p.Key)
		binary.LittleEndian.PutUint64(b[8:], p.Value)
	},
	get: func(b []byte) Pair { return Pair{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])} },
}

// radixBits is the number of bits of the key by which sortPairs deals pairs at a time, and
// fewPairs the length of a list that is sorted by comparing: dealing costs more.
const (
	radixBits = 8
	fewPairs  = 64
)

// sortPairs sorts pairs whose keys are equal above the radixBits bits from shift on. Keys
// are hashes: dealing them by their bits needs fewer steps than comparing them.
func sortPairs(list []Pair, shift int) {
	if len(list) <= fewPairs || shift < 0 {
		slices.SortFunc(list, compare)
		return
	}
	const digits = 1 << radixBits
	var next, end [digits]int
	for i := range list {
		end[list[i].Key>>shift%digits]++
	}
	sum := 0
	for d, n := range end {
		next[d] = sum
		sum += n
		end[d] = sum
	}
	begin := 0
	for d := range digits {
		for next[d] < end[d] {
			p := list[next[d]]
			for { // puts each pair to its place, until one belongs here
				to := p.Key >> shift % digits
				at := next[to]
				next[to]++
				if int(to) == d {
					list[at] = p
					break
				}
				p, list[at] = list[at], p
			}
		}
		sortPairs(list[begin:end[d]], shift-radixBits)
		begin = end[d]
	}
}

// A Sorter sorts pairs. Add is safe for concurrent use.
type Sorter struct {
	mu    sync.Mutex
	limit int // maximum pairs in memory
	merger[Pair]
}

// New returns a Sorter that uses about memory bytes. If it needs a temporary
// file, it creates it in dir ("": the system's temporary folder).
func New(dir string, memory int64) *Sorter {
	return &Sorter{limit: int(max(memory/pairBytes, 1024)), merger: merger[Pair]{kind: pairs, spill: TempSpill(dir)}}
}

// Add adds pairs to those to sort. If memory is full, it first writes a sorted run to the
// temporary file. It does not retain the slice.
func (s *Sorter) Add(pairs []Pair) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.buf)+len(pairs) > s.limit && len(s.buf) > 0 {
		if err := s.flush(); err != nil {
			return fmt.Errorf("sort hashes: %w", err)
		}
	}
	s.buf = append(s.buf, pairs...)
	return nil
}

// Sorted yields all pairs by ascending key, then value, and at most one error. Add must not
// be called after Sorted.
func (s *Sorter) Sorted() iter.Seq2[Pair, error] { return s.sorted("sort hashes") }

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
	other := h // of every second word, so that two products are computed at once
	for ; len(b) >= 16; b = b[16:] {
		h = mix(h^binary.LittleEndian.Uint64(b), k1)
		other = mix(other^binary.LittleEndian.Uint64(b[8:]), k0)
	}
	if len(b) >= 8 {
		h = mix(h^binary.LittleEndian.Uint64(b), k1)
		b = b[8:]
	}
	var last [8]byte
	copy(last[:], b)
	h = mix(h^binary.LittleEndian.Uint64(last[:]), k0)
	return mix(h^bits.RotateLeft64(other, 32), k1)
}
