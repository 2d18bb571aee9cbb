package wiki

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pretext/extract"
)

// result is all that reading a dump gives.
type result struct {
	docs    []extract.Document
	rejects []extract.Rejected
	stats   Stats
	err     error
}

// readRanges reads a dump range by range and puts the results together, up to
// the first error as a run would.
func readRanges(tb testing.TB, r io.ReaderAt, size int64, ranges []Range, opts Options, source string) result {
	tb.Helper()
	return readDump(tb, Dump{File: r, Size: size, Name: source}, ranges, func(d Dump, rng Range) *Reader { return NewReader(d, rng, opts) })
}

// readDump is readRanges with readers that begin makes. It fills in the dump's head.
func readDump(tb testing.TB, dump Dump, ranges []Range, begin func(Dump, Range) *Reader) (res result) {
	tb.Helper()
	var err error
	if dump.Head, err = ReadHead(dump.File, dump.Size); err != nil {
		res.err = err
		return res
	}
	for _, rng := range ranges {
		rd := begin(dump, rng)
		listed := map[extract.Reject]int64{}
		rd.OnReject(func(r *extract.Rejected) {
			res.rejects = append(res.rejects, *r)
			listed[r.Reason]++
		})
		for doc, err := range rd.Documents() {
			if err != nil {
				res.err = err
				break
			}
			d := *doc
			d.Text = strings.Clone(doc.Text)
			res.docs = append(res.docs, d)
		}
		res.stats.Add(rd.Stats())
		checkSum(tb, rd.Stats())
		if diff := cmp.Diff(rd.Stats().Rejects, listed, cmpopts.EquateEmpty()); diff != "" {
			tb.Errorf("rejects, -counted +listed:\n%s", diff)
		}
		if res.err != nil {
			break
		}
	}
	checkSum(tb, res.stats)
	return res
}

// checkSum fails the test unless every page is accounted for.
func checkSum(tb testing.TB, s Stats) {
	tb.Helper()
	sum := s.Kept
	for _, n := range s.Rejects {
		sum += n
	}
	if sum != s.Pages {
		tb.Errorf("%d pages, but %d kept and rejected: %v", s.Pages, sum, s.Rejects)
	}
}

func whole(size int64) []Range { return []Range{{0, size}} }

// cut cuts [0, size) at the places given, which ascend.
func cut(size int64, at ...int64) []Range {
	var ranges []Range
	start := int64(0)
	for _, a := range append(at, size) {
		if start < a && a <= size {
			ranges = append(ranges, Range{start, a})
			start = a
		}
	}
	return ranges
}

// even cuts [0, size) into n ranges.
func even(size int64, n int) []Range {
	var at []int64
	for i := 1; i < n; i++ {
		at = append(at, size*int64(i)/int64(n))
	}
	return cut(size, at...)
}

// readBytes reads a dump that lies in memory.
func readBytes(tb testing.TB, b []byte, ranges []Range) result {
	tb.Helper()
	return readRanges(tb, bytes.NewReader(b), int64(len(b)), ranges, DefaultOptions(), "test.xml")
}

// readFile reads a dump file.
func readFile(tb testing.TB, path string, ranges func(size int64) []Range) result {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	return readRanges(tb, f, info.Size(), ranges(info.Size()), DefaultOptions(), filepath.Base(path))
}

// checkListed fails the test unless each page is a document or is listed as a
// reject, with an ID or a place.
func checkListed(tb testing.TB, res result) {
	tb.Helper()
	if int64(len(res.docs)+len(res.rejects)) != res.stats.Pages {
		tb.Errorf("%d pages, %d documents and %d listed rejects", res.stats.Pages, len(res.docs), len(res.rejects))
	}
	for _, r := range res.rejects {
		if (r.ID == "") != (r.Place != nil) || r.ID != "" && r.Title == "" && r.Reason != extract.RejectMalformed {
			tb.Errorf("a reject without a name: %+v", r)
		}
	}
}

// diff compares two results, errors by what they say.
func diff(want, got result) string {
	return cmp.Diff(want.docs, got.docs) + cmp.Diff(want.stats, got.stats) + cmp.Diff(fmt.Sprint(want.err), fmt.Sprint(got.err))
}
