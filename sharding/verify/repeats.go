package verify

import (
	"context"
	"fmt"

	"pretext/internal/extsort"
	"pretext/sharding"
)

// repeats finds records with equal bytes in several files.
type repeats struct {
	hashes  *extsort.Sorter
	between int64 // records that equal one of an earlier file
}

func newRepeats(o Options) *repeats { return &repeats{hashes: extsort.New(o.Temp, o.Memory)} }

func (r *repeats) add(batch []extsort.Pair) error { return r.hashes.Add(batch) }

// close removes the temporary file.
func (r *repeats) close() { r.hashes.Close() }

// recordNumber combines the number of a file and that of a record in it into one
// integer with the same order.
const recordBits = 40

func recordNumber(file int, record int64) uint64 {
	return uint64(file)<<recordBits | uint64(record)&(1<<recordBits-1)
}

// A fileRepeats counts the records of a file that an earlier file has too.
type fileRepeats struct {
	records       int64
	first, origin uint64 // the first such record, and the one that it equals
}

// find counts repeated records. Short examples repeat by chance, which is no problem.
// It is one if other files have more than half of a file's records: then the file is
// a copy, with another framing or order.
func (r *repeats) find(ctx context.Context, reports []fileReport, name func(int) string) (problems map[int][]sharding.Problem, err error) {
	files := map[int]*fileRepeats{}
	var first extsort.Pair
	seen := 0
	for p, err := range r.hashes.Sorted() {
		if err != nil {
			return nil, err
		}
		if seen++; seen == 1 || p.Key != first.Key {
			first = p
			if seen%4096 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		}
		if p.Value>>recordBits == first.Value>>recordBits {
			continue
		}
		r.between++
		f := files[int(p.Value>>recordBits)]
		if f == nil {
			f = &fileRepeats{first: p.Value, origin: first.Value}
			files[int(p.Value>>recordBits)] = f
		}
		f.records++
		if p.Value < f.first {
			f.first, f.origin = p.Value, first.Value
		}
	}
	return copies(files, reports, name), nil
}

func copies(files map[int]*fileRepeats, reports []fileReport, name func(int) string) map[int][]sharding.Problem {
	problems := map[int][]sharding.Problem{}
	for i, f := range files {
		if 2*f.records <= reports[i].records {
			continue
		}
		record := int64(f.first & (1<<recordBits - 1))
		problems[i] = append(problems[i], sharding.Problem{File: name(i), Record: &record,
			Reason: fmt.Sprintf("%d of %d records stand in other files too: record %d is record %d of %s", f.records, reports[i].records,
				record, f.origin&(1<<recordBits-1), name(int(f.origin>>recordBits)))})
	}
	return problems
}
