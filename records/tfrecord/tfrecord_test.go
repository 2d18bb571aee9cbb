package tfrecord

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
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

func TestFrameHasTheBytesOfTheFormat(t *testing.T) {
	// The check value of CRC-32C, e3069283 for "123456789" (RFC 3720 lists
	// others), masked by hand: rotated right by 15, plus a282ead8.
	crc := uint32(0xe3069283)
	want := (crc>>15 | crc<<17) + 0xa282ead8
	frame := AppendFrame([]byte("before"), []byte("123456789"))
	if got := string(frame[:6]); got != "before" {
		t.Errorf("got prefix %q, want it kept", got)
	}
	frame = frame[6:]
	if got, want := hex.EncodeToString(frame[:8]), "0900000000000000"; got != want {
		t.Errorf("length: got %s, want %s", got, want)
	}
	if got := binary.LittleEndian.Uint32(frame[len(frame)-4:]); got != want {
		t.Errorf("checksum: got %08x, want %08x", got, want)
	}
	if got, want := len(frame), 9+FrameBytes; got != want {
		t.Errorf("got %d bytes, want %d", got, want)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payloads := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 300)).Draw(t, "payloads")
		var file bytes.Buffer
		w := NewWriter(&file)
		for _, p := range payloads {
			if err := w.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := w.Offset(); got != int64(file.Len()) {
			t.Fatalf("got offset %d, want %d", got, file.Len())
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

func TestEveryChangedByteIsFound(t *testing.T) {
	payloads := sample(12)
	file := frames(payloads...)
	for i := range file {
		for _, flip := range []byte{1, 0x80, 0xff} {
			bad := bytes.Clone(file)
			bad[i] ^= flip
			got, err := read(bad)
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("byte %d ^ %#x: got %v, want ErrCorrupt", i, flip, err)
			}
			if !equal(got, payloads[:len(got)]) {
				t.Fatalf("byte %d ^ %#x: records before the damage differ", i, flip)
			}
		}
	}
}

func TestEveryCutWithinARecordIsFound(t *testing.T) {
	payloads := sample(12)
	file := frames(payloads...)
	boundary := map[int]int{0: 0} // offset → records before it
	for i := range payloads {
		boundary[len(frames(payloads[:i+1]...))] = i + 1
	}
	for n := range file {
		got, err := read(file[:n])
		if want, whole := boundary[n]; whole {
			if err != nil || len(got) != want {
				t.Fatalf("cut at %d: got %d records, %v, want %d", n, len(got), err, want)
			}
			continue
		}
		var ce *CorruptError
		if !errors.As(err, &ce) || boundary[int(ce.Offset)] != len(got) || ce.Record != int64(len(got)) {
			t.Fatalf("cut at %d: got %d records, %v", n, len(got), err)
		}
	}
}

func TestDamageIsReportedWithItsPlace(t *testing.T) {
	good := frames([]byte("one"), []byte("two"))
	second := int64(len(good) / 2)
	change := func(at int64) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	huge := appendHugeHeader(bytes.Clone(good))
	for name, c := range map[string]struct {
		file []byte
		want CorruptError
	}{
		"length":          {change(second), CorruptError{second, 1, "length checksum mismatch"}},
		"data":            {change(second + headerBytes), CorruptError{second, 1, "data checksum mismatch"}},
		"header cut":      {good[:second+5], CorruptError{second, 1, "truncated header"}},
		"record cut":      {good[:second+headerBytes], CorruptError{second, 1, "truncated record"}},
		"huge length":     {huge, CorruptError{2 * second, 2, "length 1152921504606846976 over the limit of 1073741824 bytes"}},
		"zeros after":     {append(bytes.Clone(good), make([]byte, 64)...), CorruptError{2 * second, 2, "length checksum mismatch"}},
		"short first":     {[]byte{1, 2, 3}, CorruptError{0, 0, "truncated header"}},
		"gzip cut":        {gzipped(t, good)[:20], CorruptError{0, 0, "truncated gzip stream"}},
		"gzip header cut": {gzipped(t, good)[:5], CorruptError{0, 0, "truncated gzip stream"}},
		"gzip then junk":  {append(gzipped(t, good), "junk that is long enough"...), CorruptError{2 * second, 2, "gzip stream: gzip: invalid header"}},
		"zlib then junk":  {append(zlibbed(t, good, 6), 'x'), CorruptError{2 * second, 2, "data after the end of the zlib stream"}},
		"zlib cut":        {zlibbed(t, good, 6)[:12], CorruptError{0, 0, "truncated zlib stream"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(bytes.NewReader(c.file), ReaderOptions{})
			_, err := readAll(r)
			var got *CorruptError
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want a CorruptError", err)
			}
			if diff := cmp.Diff(c.want, *got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, again := r.Next(); again != err {
				t.Errorf("got %v on the next call, want the same error", again)
			}
		})
	}
}

// appendHugeHeader appends a header that claims 2^60 bytes, with the right
// checksum.
func appendHugeHeader(dst []byte) []byte { return appendHeader(dst, 1<<60) }

func TestALengthThatLiesTakesNoMemory(t *testing.T) {
	file := append(appendHeader(nil, MaxRecordBytes), make([]byte, 2*readBufferBytes)...)
	r := NewReader(bytes.NewReader(file), ReaderOptions{})
	if _, err := r.Next(); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("got %v, want ErrCorrupt", err)
	}
	if len(r.buf) > 2*len(file) {
		t.Errorf("the buffer grew to %d bytes for a file of %d", len(r.buf), len(file))
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

func TestErrorsOfTheSourceAreNotDamage(t *testing.T) {
	broken := errors.New("disk on fire")
	plain := frames(sample(40)...)
	for name, file := range map[string][]byte{"plain": plain, "gzip": gzipped(t, plain), "zlib": zlibbed(t, plain, 6)} {
		for _, n := range []int{0, 5, 11, 12, 40, len(file) / 2, len(file) - 1} {
			src := io.MultiReader(bytes.NewReader(file[:n]), iotest.ErrReader(broken))
			_, err := readAll(NewReader(src, ReaderOptions{}))
			if !errors.Is(err, broken) || errors.Is(err, ErrCorrupt) {
				t.Errorf("%s, error at byte %d: got %v", name, n, err)
			}
		}
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestASourceThatGivesNothingIsAnError(t *testing.T) {
	if _, err := NewReader(stuck{}, ReaderOptions{}).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v, want io.ErrNoProgress", err)
	}
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWriterKeepsItsError(t *testing.T) {
	w := NewWriter(&failing{after: writerBufferBytes + 100})
	var err error
	for range 1000 {
		if err = w.Write(make([]byte, 1000)); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Fatalf("got %v, want the error of the stream", err)
	}
	if again := w.Flush(); again == nil {
		t.Error("Flush after an error returned nil")
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	file := frames(sample(2000)...)
	r := NewReader(bytes.NewReader(file), ReaderOptions{})
	w := NewWriter(io.Discard)
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

func BenchmarkWriter(b *testing.B) {
	payload := make([]byte, 830-FrameBytes)
	w := NewWriter(io.Discard)
	b.SetBytes(830)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(payload); err != nil {
			b.Fatal(err)
		}
	}
}
