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
	between int64 // number of records that equal a record in an earlier file
}

func newRepeats(o Options) *repeats { return &repeats{hashes: extsort.New(o.Temp, o.Memory)} }

func (r *repeats) add(batch []extsort.Pair) error { return r.hashes.Add(batch) }

// close removes the temporary file.
func (r *repeats) close() { r.hashes.Close() }

// recordBits is how many bits of the result of recordNumber store the record's index.
const recordBits = 40

// recordNumber combines a file's index with the index of a record in that file into one
// integer. The integers have the same order as the records.
func recordNumber(file int, record int64) uint64 {
	return uint64(file)<<recordBits | uint64(record)&(1<<recordBits-1)
}

// A fileRepeats counts the records of a file that also occur in an earlier file.
type fileRepeats struct {
	records       int64
	first, origin uint64 // recordNumber of the first such record, and of its earlier copy
}

// find counts repeated records and returns the problems by index of the file. Short
// examples may repeat by chance, which is not a problem. But if more than half of the
// records of a file are in other files, the file is reported as a copy in another framing
// or order.
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
