package tfrecord

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"pgregory.net/rapid"
)

// frames returns the frames of the payloads, one after the other.
func frames(payloads ...[]byte) []byte {
	var out []byte
	for _, p := range payloads {
		out = AppendFrame(out, p)
	}
	return out
}

// sample returns n payloads of various lengths, the empty one among them.
func sample(n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = bytes.Repeat([]byte{byte(i)}, i*i*7%1000)
	}
	return out
}

// readAll returns copies of the records before the error that ended the
// stream; io.EOF becomes nil.
func readAll(r *Reader) ([][]byte, error) {
	var out [][]byte
	for {
		p, err := r.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, bytes.Clone(p))
	}
}

func read(b []byte) ([][]byte, error) {
	return readAll(NewReader(bytes.NewReader(b), ReaderOptions{}))
}

func gzipped(t testing.TB, parts ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, p := range parts {
		z := gzip.NewWriter(&out)
		if _, err := z.Write(p); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func zlibbed(t testing.TB, p []byte, level int) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := zlib.NewWriterLevel(&out, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(p); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payloads := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 300)).Draw(t, "payloads")
		opts := WriterOptions{Gzip: rapid.Bool().Draw(t, "gzip"), Index: rapid.Bool().Draw(t, "index")}
		var earlier, file bytes.Buffer
		w := NewWriter(&earlier, opts)
		if err := errors.Join(w.Write([]byte("earlier")), w.Close()); err != nil {
			t.Fatal(err)
		}
		w.Reset(&file)
		var index []byte
		for _, p := range payloads {
			index = AppendIndex(index, Span{w.Offset(), FrameBytes + int64(len(p))})
			if err := w.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := w.Offset(); !opts.Gzip && got != int64(file.Len()) {
			t.Fatalf("got offset %d, want %d", got, file.Len())
		}
		if !opts.Index {
			index = nil
		}
		if got := w.Index(); !bytes.Equal(got, index) {
			t.Fatalf("got index %q, want %q", got, index)
		}
		got, err := readAll(NewReader(iotest.HalfReader(&file), ReaderOptions{}))
		if err != nil || !equal(got, payloads) {
			t.Fatalf("got %v, %v, want %v", got, err, payloads)
		}
	})
}

func equal(a, b [][]byte) bool { return bytes.Equal(frames(a...), frames(b...)) }

func TestCompressionIsRecognised(t *testing.T) {
	payloads := sample(40)
	plain := frames(payloads...)
	half := len(plain) / 2
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"plain":                {plain, ""},
		"gzip":                 {gzipped(t, plain), "gzip"},
		"two members":          {gzipped(t, plain[:half], plain[half:]), "gzip"},
		"empty members":        {gzipped(t, nil, plain, nil), "gzip"},
		"zlib":                 {zlibbed(t, plain, zlib.DefaultCompression), "zlib"},
		"zlib, stored":         {zlibbed(t, plain, zlib.NoCompression), "zlib"},
		"zlib, best":           {zlibbed(t, plain, zlib.BestCompression), "zlib"},
		"length like gzip":     {frames(append([][]byte{make([]byte, 0x088b1f)}, payloads...)...), ""},
		"length like zlib":     {frames(append([][]byte{make([]byte, 0x0178)}, payloads...)...), ""},
		"length like zlib too": {frames(append([][]byte{make([]byte, 0x9c78)}, payloads...)...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, src := range []io.Reader{bytes.NewReader(c.file), iotest.OneByteReader(bytes.NewReader(c.file)),
				iotest.DataErrReader(bytes.NewReader(c.file))} {
				r := NewReader(src, ReaderOptions{})
				got, err := readAll(r)
				if err != nil {
					t.Fatal(err)
				}
				if !equal(got[len(got)-len(payloads):], payloads) {
					t.Error("got other records")
				}
				if r.Compression() != c.want {
					t.Errorf("got compression %q, want %q", r.Compression(), c.want)
				}
			}
		})
	}
}

func TestAFileOfNothingHasNoRecords(t *testing.T) {
	for name, file := range map[string][]byte{"empty": nil, "gzip": gzipped(t, nil), "zlib": zlibbed(t, nil, 6)} {
		if got, err := read(file); len(got) != 0 || err != nil {
			t.Errorf("%s: got %d records, %v", name, len(got), err)
		}
	}
}

func TestMaxRecordBytesIsALimit(t *testing.T) {
	file := frames(make([]byte, 100), make([]byte, 101))
	got, err := readAll(NewReader(bytes.NewReader(file), ReaderOptions{MaxRecordBytes: 100}))
	if len(got) != 1 || !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %d records, %v", len(got), err)
	}
}

func TestLongRecordsPass(t *testing.T) {
	payloads := [][]byte{{1}, make([]byte, 5*readBufferBytes+3), {2}}
	payloads[1][readBufferBytes] = 7
	got, err := read(frames(payloads...))
	if err != nil || !equal(got, payloads) {
		t.Errorf("got %d records, %v", len(got), err)
	}
}

func TestSkippedChecksumsStillGuardTheLength(t *testing.T) {
	file := frames([]byte("one"), []byte("two"))
	file[headerBytes] ^= 1
	r := NewReader(bytes.NewReader(file), ReaderOptions{SkipChecksums: true})
	if p, err := r.Next(); err != nil || string(p) != "nne" {
		t.Errorf("got %q, %v", p, err)
	}
	file[0] ^= 1
	r = NewReader(bytes.NewReader(file), ReaderOptions{SkipChecksums: true})
	if _, err := r.Next(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	file := frames(sample(2000)...)
	r := NewReader(bytes.NewReader(file), ReaderOptions{})
	w := NewWriter(io.Discard, WriterOptions{})
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(1000, func() {
		p, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(p); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("got %v allocations a record, want 0", allocs)
	}
}

func BenchmarkReader(b *testing.B) {
	for _, size := range []int{830, 2600} {
		var file []byte
		payload := make([]byte, size-FrameBytes)
		for len(file) < 4<<20 {
			file = AppendFrame(file, payload)
		}
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			b.ReportAllocs()
			for b.Loop() {
				r := NewReader(bytes.NewReader(file), ReaderOptions{})
				for {
					if _, err := r.Next(); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
