package survey

import (
	"cmp"
	"context"
	"slices"

	"pretext/internal/extsort"
)

// Repeated counts the records that equal an earlier one byte for byte. Short examples
// may repeat by chance.
type Repeated struct {
	Records int64    `json:"records"` // that equal an earlier one, in the order of files
	Between int64    `json:"between"` // of them, those that equal one of another file
	First   []Repeat `json:"first"`   // the first few of these
}

// A Repeat is a record that an earlier file has too.
type Repeat struct {
	File    string `json:"file"`
	Record  int64  `json:"record"`
	Earlier string `json:"earlier"` // file
	Of      int64  `json:"of"`      // record of it
}

// listedRepeats is the number of repeats to list.
const listedRepeats = 10

// recordNumber combines the number of a file and that of a record in it into one
// integer with the same order.
const recordBits = 40

func recordNumber(file int, record int64) uint64 {
	return uint64(file)<<recordBits | uint64(record)&(1<<recordBits-1)
}

// repeated counts the records that occur more than once.
func (s *recordSurvey) repeated(ctx context.Context) (r Repeated, err error) {
	r.First = []Repeat{}
	var firsts [][2]uint64 // repeat and original, sorted by the repeat
	var first extsort.Pair
	seen, n := false, 0
	for p, err := range s.hashes.Sorted() {
		if err != nil {
			return r, err
		}
		if n++; n%(1<<16) == 0 && ctx.Err() != nil {
			return r, ctx.Err()
		}
		if !seen || p.Key != first.Key {
			first, seen = p, true
			continue
		}
		r.Records++
		if p.Value>>recordBits == first.Value>>recordBits {
			continue
		}
		r.Between++
		firsts = addSmall(firsts, [2]uint64{p.Value, first.Value})
	}
	for _, f := range firsts {
		again, original := f[0], f[1]
		r.First = append(r.First, Repeat{s.files[again>>recordBits].path, int64(again & (1<<recordBits - 1)),
			s.files[original>>recordBits].path, int64(original & (1<<recordBits - 1))})
	}
	return r, nil
}

// addSmall inserts a value into a sorted list and keeps the smallest listedRepeats.
func addSmall(list [][2]uint64, v [2]uint64) [][2]uint64 {
	if len(list) == listedRepeats && v[0] >= list[len(list)-1][0] {
		return list
	}
	i, _ := slices.BinarySearchFunc(list, v, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	list = slices.Insert(list, i, v)
	return list[:min(len(list), listedRepeats)]
}
