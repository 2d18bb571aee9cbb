package survey

import (
	"cmp"
	"context"
	"slices"

	"pretext/internal/extsort"
)

// Repeated counts the records that equal an earlier record byte for byte. Earlier means
// before it in the order of files. Short examples may repeat by chance.
type Repeated struct {
	Records int64    `json:"records"` // number of records that equal an earlier record
	Between int64    `json:"between"` // number of these that equal a record in another file
	First   []Repeat `json:"first"`   // the first few records counted in Between
}

// A Repeat is a record that also occurs in an earlier file.
type Repeat struct {
	File    string `json:"file"`
	Record  int64  `json:"record"`
	Earlier string `json:"earlier"` // name of the earlier file
	Of      int64  `json:"of"`      // index of the equal record in the earlier file
}

// listedRepeats is the maximum length of Repeated.First.
const listedRepeats = 10

// recordBits is how many bits of the result of recordNumber store the record's index.
const recordBits = 40

// recordNumber combines a file's index with the index of a record in that file into one
// integer. The integers have the same order as the records.
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
		r.First = append(r.First, Repeat{s.files[again>>recordBits].Path, int64(again & (1<<recordBits - 1)),
			s.files[original>>recordBits].Path, int64(original & (1<<recordBits - 1))})
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
