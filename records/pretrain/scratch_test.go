package pretrain

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// memoryFile is a ScratchFile that remembers whether it was closed.
type memoryFile struct {
	data   []byte
	closed bool
	fail   error // of WriteAt, ReadAt

	failClose error
}

func (f *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	if f.fail != nil {
		return 0, f.fail
	}
	if end := int(off) + len(p); end > len(f.data) {
		f.data = append(f.data, make([]byte, end-len(f.data))...)
	}
	return copy(f.data[off:], p), nil
}

func (f *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	if f.fail != nil {
		return 0, f.fail
	}
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) Close() error {
	f.closed = true
	return f.failClose
}

func TestScratchFileAndMemoryGiveTheSame(t *testing.T) {
	o := DefaultOptions()
	c := proseCorpus(t, 150)
	want, wantCounts := buildAll(t, mustBuilder(t, o, benchVocab(), Scratch{}), c, 5)
	for _, budget := range []int64{-1, 1, chunkBytes, chunkBytes + 1, math.MaxInt64} {
		var files []*memoryFile
		b := mustBuilder(t, o, benchVocab(), Scratch{MemoryBytes: budget, Create: func() (ScratchFile, error) {
			files = append(files, new(memoryFile))
			return files[len(files)-1], nil
		}})
		for range 2 { // a Builder is used again
			got, counts := buildAll(t, b, c, 5)
			if counts != wantCounts {
				t.Errorf("budget %d: got %+v, want %+v", budget, counts, wantCounts)
			}
			if !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) {
				t.Errorf("budget %d: other examples", budget)
			}
		}
		if wantFiles := budget < math.MaxInt64; wantFiles != (len(files) == 2) {
			t.Errorf("budget %d: %d files for two builds", budget, len(files))
		}
		for _, f := range files {
			if !f.closed {
				t.Errorf("budget %d: a scratch file was left open", budget)
			}
		}
	}
}

func TestABuilderUsesItsMemoryAgain(t *testing.T) {
	c := proseCorpus(t, 100)
	b := mustBuilder(t, DefaultOptions(), benchVocab(), Scratch{})
	buildAll(t, b, c, 1)
	chunks, places := len(b.store.chunks), cap(b.places)
	buildAll(t, b, c, 1)
	if len(b.store.chunks) != chunks || cap(b.places) != places {
		t.Errorf("%d chunks and room for %d places became %d and %d", chunks, places, len(b.store.chunks), cap(b.places))
	}
}

func TestARealScratchFileServes(t *testing.T) {
	c := proseCorpus(t, 100)
	o := DefaultOptions()
	want, _ := buildAll(t, mustBuilder(t, o, benchVocab(), Scratch{}), c, 5)
	path := filepath.Join(t.TempDir(), "scratch")
	got, _ := buildAll(t, mustBuilder(t, o, benchVocab(), Scratch{Create: func() (ScratchFile, error) {
		return os.Create(path)
	}}), c, 5)
	if !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) {
		t.Error("other examples")
	}
}

func TestErrorsOfTheScratchFileEndTheBuild(t *testing.T) {
	full := errors.New("disk full")
	c := proseCorpus(t, 100)
	build := func(create func() (ScratchFile, error), yield func(Record) error) error {
		b := mustBuilder(t, DefaultOptions(), benchVocab(), Scratch{Create: create})
		_, err := b.Build(context.Background(), c, 1, yield)
		return err
	}
	nothing := func(Record) error { return nil }
	if err := build(func() (ScratchFile, error) { return nil, full }, nothing); !errors.Is(err, full) {
		t.Errorf("create: got %v", err)
	}
	f := &memoryFile{fail: full}
	if err := build(func() (ScratchFile, error) { return f, nil }, nothing); !errors.Is(err, full) || !f.closed {
		t.Errorf("write: got %v, closed %v", err, f.closed)
	}
	f = new(memoryFile)
	err := build(func() (ScratchFile, error) { return f, nil }, func(Record) error { f.fail = full; return nil })
	if !errors.Is(err, full) || !f.closed {
		t.Errorf("read: got %v, closed %v", err, f.closed)
	}
	f = &memoryFile{failClose: full}
	if err := build(func() (ScratchFile, error) { return f, nil }, nothing); !errors.Is(err, full) {
		t.Errorf("close: got %v", err)
	}
}

// A file that does not give back what was written must not bring the program
// down.
func TestADamagedScratchFileIsAnError(t *testing.T) {
	c := proseCorpus(t, 20)
	for name, damage := range map[string]func(f *memoryFile){
		"cut":        func(f *memoryFile) { f.data = f.data[:100] },
		"all ones":   func(f *memoryFile) { copy(f.data, bytes.Repeat([]byte{0xff}, len(f.data))) },
		"all x":      func(f *memoryFile) { copy(f.data, bytes.Repeat([]byte("x"), len(f.data))) },
		"all 1 << 7": func(f *memoryFile) { copy(f.data, bytes.Repeat([]byte{0x80, 1}, len(f.data)/2)) },
	} {
		t.Run(name, func(t *testing.T) {
			f := new(memoryFile)
			b := mustBuilder(t, DefaultOptions(), benchVocab(), Scratch{Create: func() (ScratchFile, error) { return f, nil }})
			first := true
			_, err := b.Build(context.Background(), c, 1, func(Record) error {
				if first {
					damage(f)
				}
				first = false
				return nil
			})
			if !errors.Is(err, errScratch) || !f.closed {
				t.Errorf("got %v, closed %v", err, f.closed)
			}
		})
	}
}

func TestTheLongestExamplesFitTheScratch(t *testing.T) {
	o := DefaultOptions()
	o.MaxSeqLength, o.MaxPredictionsPerSeq, o.MaskedLMProb, o.DupeFactor = maxSeqLength, maxSeqLength, 1, 1
	v := smallVocab(math.MaxInt32)
	sentence := make([]int32, 2*maxSeqLength)
	for i := range sentence {
		sentence[i] = math.MaxInt32 - 1 - int32(i)
	}
	c := corpusOf(t, v.Size, [][][]int32{{sentence, sentence}, {sentence}})
	b := mustBuilder(t, o, v, Scratch{})
	got, counts := buildAll(t, b, c, 1)
	if len(got) == 0 || counts.Tokens != counts.Examples*maxSeqLength {
		t.Errorf("got %+v", counts)
	}
	if n := maxCompactBytes(o, v); n > chunkBytes {
		t.Errorf("the longest instance has %d bytes", n)
	}
}
