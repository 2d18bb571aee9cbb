package bzip2

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"encoding/binary"
	"io"
	"testing"
)

// FuzzAgainstTheStandardLibrary checks that both take the same files and give
// the same bytes, and that what comes before an error comes from sound blocks.
func FuzzAgainstTheStandardLibrary(f *testing.F) {
	for name, file := range fixtures(f) {
		if name != "zeros" && name != "repeats" {
			f.Add(file)
		}
	}
	f.Add(fileOf(9, newBlock([]byte("one")), newBlock([]byte("two"))))
	r := NewReader(nil, 0, Range{})
	f.Fuzz(func(t *testing.T, file []byte) {
		r.Reset(bytes.NewReader(file), int64(len(file)), Range{0, int64(len(file))})
		got, err := io.ReadAll(io.LimitReader(&streamReader{r: r}, 64<<20))
		want, stdErr := io.ReadAll(io.LimitReader(stdbzip2.NewReader(bytes.NewReader(file)), 64<<20))
		if (err == nil) != (stdErr == nil) {
			t.Fatalf("got %v, standard library: %v", err, stdErr)
		}
		if !bytes.HasPrefix(want, got) || err == nil && len(got) != len(want) {
			t.Fatalf("got %d bytes, want %d others", len(got), len(want))
		}
	})
}

// FuzzBlock decodes arbitrary bytes as a block, without regard to its
// checksum: a fuzzer would never find data with a right one. The standard
// library must give the same data of it, or refuse it, too.
func FuzzBlock(f *testing.F) {
	const begin = 4 + magicBits/8 // of the checksum, in a file's first block
	for name, file := range fixtures(f) {
		if name != "zeros" && name != "repeats" && name != "empty" {
			f.Add(file[begin+4:])
		}
	}
	f.Add(fileOf(1, newBlock([]byte("one")))[begin+4:])
	d := newDecoder()
	f.Fuzz(func(t *testing.T, data []byte) {
		file := append(fileOf(9)[:4], make([]byte, 10)...)
		binary.BigEndian.PutUint64(file[4:], blockMagic<<16)
		file = append(file, data...)
		d.bits.reset(bytes.NewReader(file), int64(len(file)))
		d.bits.seek(begin * 8)
		readAll(t, file, 4, maxBlock)
		err := d.decode(maxBlock)
		std := io.LimitReader(stdbzip2.NewReader(bytes.NewReader(file)), pieceSize)
		if err != nil && err != errBlockCRC {
			if n, stdErr := io.Copy(io.Discard, std); stdErr == nil || n > 0 && complete(&d.header) {
				t.Fatalf("got %v, standard library: %d bytes, %v", err, n, stdErr)
			}
			return
		}
		text := bytes.Clone(d.text[:d.size])
		d.rewind()
		d.expand()
		want, _ := io.ReadAll(std)
		if complete(&d.header) && !zeroCount(text) && !bytes.Equal(want, d.out[:min(len(d.out), len(want))]) {
			t.Fatalf("got %d bytes, want %d others", len(d.out), len(want))
		}
	})
}

// complete reports whether the codes of a block are complete, those that the
// data uses at least: the others are read in different ways.
func complete(h *header) bool {
	for _, s := range h.selectors {
		if h.tables[s].limit[maxCodeLen] != 1<<maxCodeLen {
			return false
		}
	}
	return true
}

// zeroCount reports whether four equal bytes with the count 0 stand before the
// same byte, which the two libraries read in different ways.
func zeroCount(text []byte) bool {
	for {
		k := findRun(text)
		if k < 0 || k+5 >= len(text) {
			return false
		}
		if text[k+4] == 0 && text[k+5] == text[k] {
			return true
		}
		text = text[k+5:]
	}
}

// FuzzRanges checks that two cuts partition the blocks of what is a sound file.
func FuzzRanges(f *testing.F) {
	for name, file := range fixtures(f) {
		if name != "zeros" && name != "repeats" {
			f.Add(file, uint32(len(file)/3), uint32(len(file)/2))
		}
	}
	r := NewReader(nil, 0, Range{})
	f.Fuzz(func(t *testing.T, file []byte, a, b uint32) {
		size := int64(len(file))
		cuts := []int64{min(int64(a), size), min(int64(b), size)}
		if a > b {
			cuts[0], cuts[1] = cuts[1], cuts[0]
		}
		r.Reset(bytes.NewReader(file), size, Range{0, size})
		want, err := owned(r)
		if err == nil {
			checkCuts(t, r, file, want, cuts...)
			return
		}
		for i, start := range []int64{0, cuts[0], cuts[1]} {
			r.Reset(bytes.NewReader(file), size, Range{start, append(cuts, size)[i]})
			got, err := owned(r)
			for j := 1; j < len(got); j++ {
				if got[j].bit <= got[j-1].bit {
					t.Fatalf("blocks out of order, %v", err)
				}
			}
		}
	})
}
