package bzip2

import (
	"bytes"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pretext/internal/dev/realdata"
)

// owned returns the blocks of a range, as testBlockAt.
func owned(r *Reader) ([]testBlockAt, error) {
	var blocks []testBlockAt
	for {
		peek, err := r.Peek()
		if err == nil && !peek.Owned {
			return blocks, nil
		}
		b, err := r.Next()
		if err == io.EOF {
			return blocks, nil
		}
		if err != nil {
			return blocks, err
		}
		if b.Continued {
			blocks[len(blocks)-1].text += string(b.Data)
			continue
		}
		blocks = append(blocks, testBlockAt{b.Bit, string(b.Data)})
	}
}

// A fataler is a testing.TB or a rapid.TB.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkCuts fails the test unless the ranges between the cuts partition the
// blocks of the file.
func checkCuts(tb fataler, r *Reader, file []byte, want []testBlockAt, cuts ...int64) {
	tb.Helper()
	src, size := bytes.NewReader(file), int64(len(file))
	start := int64(0)
	for _, end := range append(cuts, size) {
		r.Reset(src, size, Range{start, end})
		got, err := owned(r)
		if err != nil {
			tb.Fatalf("range [%d,%d): %v", start, end, err)
		}
		for _, b := range got {
			if len(want) == 0 || b != want[0] {
				tb.Fatalf("range [%d,%d): got a block at bit %d, want another", start, end, b.bit)
			}
			want = want[1:]
		}
		start = end
	}
	if len(want) > 0 {
		tb.Fatalf("cuts %v: got no block at bit %d", cuts, want[0].bit)
	}
}

func TestAnyCutPartitionsTheBlocks(t *testing.T) {
	r := NewReader(nil, 0, Range{})
	for name, file := range fixtures(t) {
		if name == "repeats" || name == "zeros" {
			continue // long to decode; cut below
		}
		r.Reset(bytes.NewReader(file), int64(len(file)), Range{0, int64(len(file))})
		blocks, err := owned(r)
		if err != nil {
			t.Fatal(err)
		}
		step := int64(1)
		if len(file) > 2000 {
			step = 97
		}
		for cut := int64(0); cut <= int64(len(file)); cut += step {
			checkCuts(t, r, file, blocks, cut)
		}
		for _, b := range blocks {
			for cut := b.bit/8 - 6; cut < b.bit/8+8; cut++ {
				checkCuts(t, r, file, blocks, max(cut, 0))
			}
		}
	}
}

func TestAnyCutsPartitionTheBlocks(t *testing.T) {
	r := NewReader(nil, 0, Range{})
	rapid.Check(t, func(t *rapid.T) {
		f := genFile().Draw(t, "file")
		cuts := rapid.SliceOfN(rapid.Int64Range(0, int64(len(f.data))), 0, 12).Draw(t, "cuts")
		slices.Sort(cuts)
		checkCuts(t, r, f.data, f.blocks, cuts...)
	})
}

func TestCutsPartitionTheBlocksOfDumps(t *testing.T) {
	r := NewReader(nil, 0, Range{})
	for _, name := range []string{
		"wiki/enwiki-small-pages-articles.xml.bz2",
		"wiki/official-multistream/pages-articles-p2566p2583.multistream.xml.bz2",
		"hostile/dump/empty-streams.xml.bz2",
	} {
		file := realdata.Read(t, name)
		r.Reset(bytes.NewReader(file), int64(len(file)), Range{0, int64(len(file))})
		blocks, err := owned(r)
		if err != nil {
			t.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		for range 3 {
			var cuts []int64
			for range 10 {
				cuts = append(cuts, rnd.Int64N(int64(len(file))))
			}
			slices.Sort(cuts)
			checkCuts(t, r, file, blocks, cuts...)
		}
	}
}
