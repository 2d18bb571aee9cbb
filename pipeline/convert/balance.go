package convert

import (
	"context"
	"fmt"
	"io"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/formats"
	"pretext/records/tfrecord"
	"pretext/sharding"
)

// A share is what a task takes of a records file: of each length bin, the rows from Bins[bin][0]
// up to Bins[bin][1] exclusively, counted among the rows of the bin in the file.
type share struct {
	File    string     `json:"file"`
	SHA256  string     `json:"sha256"`
	Records int64      `json:"records"` // in the file
	Bins    [][2]int64 `json:"bins,omitempty"`
}

// rows returns the number of rows of the share.
func (s share) rows() (n int64) {
	for _, b := range s.Bins {
		n += b[1] - b[0]
	}
	return n
}

// taker returns a function that must be called for each example of the file, in order. It
// reports whether the example belongs to the share.
func (s share) taker(bounds []int) func(*records.Example) bool {
	if s.Bins == nil {
		return func(*records.Example) bool { return true }
	}
	seen := make([]int64, len(bounds))
	return func(e *records.Example) bool {
		bin := columns.BinOf(bounds, e.Tokens())
		n := seen[bin]
		seen[bin]++
		return s.Bins[bin][0] <= n && n < s.Bins[bin][1]
	}
}

// balanced is [balance] for the tasks of a conversion.
func (s *source) balanced(ctx context.Context, tasks []task, o sharding.ConvertOptions) ([]task, []int, error) {
	format, _ := formats.Get(o.Format)
	binned, ok := format.(columns.Binned)
	if !ok {
		return nil, nil, failure.Usagef("the format %s has no length bins whose files can be balanced", o.Format)
	}
	folder, err := store.Open(s.path)
	if err != nil {
		return nil, nil, err
	}
	lengths := make([][]int64, len(tasks))
	for i, t := range tasks {
		lengths[i] = make([]int64, o.MaxSeqLength+1)
		count := func(tokens int) { lengths[i][min(tokens, o.MaxSeqLength)]++ }
		if s.shards == nil {
			err = eachForeignLength(ctx, folder, t.File, o.Form, count)
		} else {
			err = eachLength(ctx, folder, t.File, count)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return balance(tasks, lengths, binned.Bounds(o.MaxSeqLength))
}

// eachLength calls do with the number of tokens of each record of a shard, which is in its
// side-car.
func eachLength(ctx context.Context, folder store.Folder, file string, do func(tokens int)) error {
	name, _ := sharding.ParseShardName(file)
	body, err := sharding.ReadShardBody(ctx, folder, name)
	for _, n := range body.Tokens {
		do(int(n))
	}
	return err
}

// eachForeignLength is eachLength for a file without a side-car.
func eachForeignLength(ctx context.Context, folder store.Folder, file string, form records.Form, do func(tokens int)) error {
	in, err := folder.Open(ctx, file)
	if err != nil {
		return err
	}
	defer in.Close()
	r := tfrecord.NewReader(store.NewReader(in, 0), tfrecord.ReaderOptions{})
	var e records.Example
	for {
		payload, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = e.DecodeForm(form, payload)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		do(e.Tokens())
	}
}

// balance divides the rows of all tasks anew among as many tasks, so that the numbers of rows
// that they have in a length bin differ by exactly one. lengths counts, for each task, the
// rows of its file by their number of tokens. bounds are the largest numbers of tokens of
// the bins. A bin with too few rows is joined with the next longer one; balance returns the
// bounds that remain. If the tasks could have equally many rows of a bin, the last row is
// left out.
//
// The loader of LDDL asserts all this (lddl/torch/datasets.py; lddl/utils.py).
func balance(tasks []task, lengths [][]int64, bounds []int) (out []task, remaining []int, err error) {
	n := int64(len(tasks))
	if n < 2 {
		return nil, nil, failure.Usagef("a split of one shard: the loader needs at least two files of each length, so make the shards with --shards 2 or more")
	}
	total := make([]int64, len(bounds))
	for _, counts := range lengths {
		for length, rows := range counts {
			total[columns.BinOf(bounds, length)] += rows
		}
	}
	kept, sum := []int(nil), int64(0) // bounds, and the rows of the bin that is not complete yet
	for i, bound := range bounds {
		if sum += total[i]; sum > n {
			kept, sum = append(kept, bound), 0
		}
	}
	if len(kept) == 0 {
		return nil, nil, failure.Usagef("%d examples in %d shards: the loader needs more examples than files, so make fewer shards", sum, n)
	}
	kept[len(kept)-1] = bounds[len(bounds)-1] // what is left of the longest joins the bin before
	rows := make([][]int64, len(tasks))       // by file and bin
	all := make([]int64, len(kept))
	for i, counts := range lengths {
		rows[i] = make([]int64, len(kept))
		for length, n := range counts {
			rows[i][columns.BinOf(kept, length)] += n
		}
		for bin, n := range rows[i] {
			all[bin] += n
		}
	}
	for i := range all {
		if all[i]%n == 0 {
			all[i]--
		}
	}
	for i, t := range tasks {
		t.Shares, t.Records = shares(tasks, rows, all, int64(i)), 0
		for _, s := range t.Shares {
			t.Records += s.rows()
		}
		out = append(out, t)
	}
	return out, kept, nil
}

// shares returns the part of task i of all rows. rows are the numbers of rows by file and
// bin, all those by bin that are divided.
func shares(tasks []task, rows [][]int64, all []int64, i int64) (list []share) {
	before := make([]int64, len(all)) // rows of each bin in the files before
	for file, t := range tasks {
		s := share{File: t.File, SHA256: t.SHA256, Records: t.Records, Bins: make([][2]int64, len(all))}
		for bin, n := range all {
			from, to := n*i/int64(len(tasks)), n*(i+1)/int64(len(tasks))
			have := rows[file][bin]
			from, to = min(max(from-before[bin], 0), have), min(max(to-before[bin], 0), have)
			s.Bins[bin] = [2]int64{from, max(from, to)}
			before[bin] += have
		}
		if s.rows() > 0 {
			list = append(list, s)
		}
	}
	return list
}
