package convert

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pretext/internal/failure"
	"pretext/records"
	"pretext/records/columns"
)

// example returns an example of n tokens.
func example(n int) *records.Example {
	e := &records.Example{InputMask: make([]int32, 9)}
	for i := range n {
		e.InputMask[i] = 1
	}
	return e
}

func TestBalancedFilesDifferByOneRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Files with the lengths of their rows, from 1 to 8.
		files := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(1, 8), 0, 30), 2, 6).Draw(t, "files")
		var tasks []task
		var lengths [][]int64
		all := int64(0)
		for i, rows := range files {
			tasks = append(tasks, task{File: fmt.Sprint(i), SHA256: fmt.Sprint("hash ", i), Records: int64(len(rows))})
			lengths = append(lengths, make([]int64, 9))
			for _, n := range rows {
				lengths[i][n]++
			}
			all += int64(len(rows))
		}
		balanced, bounds, err := balance(tasks, lengths, []int{2, 4, 6, 8})
		if err != nil {
			if all > int64(len(files)) || !failure.IsUsage(err) {
				t.Fatalf("%d rows: %v", all, err)
			}
			return
		}
		if bounds[len(bounds)-1] != 8 || !slices.IsSorted(bounds) {
			t.Fatalf("bounds %d", bounds)
		}
		taken := map[string]bool{} // rows by file and number
		counts := make([][]int64, len(bounds))
		for i, b := range balanced {
			in := make([]int64, len(bounds))
			for _, s := range b.shares() {
				file := slices.IndexFunc(tasks, func(t task) bool { return t.File == s.File })
				if s.SHA256 != tasks[file].SHA256 || s.Records != tasks[file].Records {
					t.Fatalf("file %d: %+v", file, s)
				}
				takes := s.taker(bounds)
				for row, n := range files[file] {
					if key := fmt.Sprint(file, row); takes(example(n)) {
						if taken[key] {
							t.Fatalf("row %s is in two files", key)
						}
						taken[key] = true
						in[columns.BinOf(bounds, n)]++
					}
				}
			}
			total := int64(0)
			for bin, n := range in {
				counts[bin] = append(counts[bin], n)
				total += n
			}
			if b.File != tasks[i].File || b.Records != total {
				t.Fatalf("file %d: %s of %d rows, want %d", i, b.File, b.Records, total)
			}
		}
		for bin, c := range counts {
			if slices.Min(c) < 1 || slices.Max(c) != slices.Min(c)+1 {
				t.Fatalf("bin %d: files of %d rows", bin, c)
			}
		}
		if out := all - int64(len(taken)); out > int64(len(bounds)) {
			t.Fatalf("%d rows are left out in %d bins", out, len(bounds))
		}
	})
}

func TestWhatCannotBeBalanced(t *testing.T) {
	for want, lengths := range map[string][][]int64{
		"a split of one shard":    {{0, 9}},
		"2 examples in 2 shards:": {{0, 1}, {0, 0, 1}},
	} {
		_, _, err := balance(make([]task, len(lengths)), lengths, []int{1, 2})
		if failure.ExitCode(err) != 2 || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a usage error about %q", err, want)
		}
	}
}
