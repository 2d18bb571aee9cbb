package tfrecord

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

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
		"length":           {change(second), CorruptError{second, 1, "length checksum mismatch"}},
		"data":             {change(second + headerBytes), CorruptError{second, 1, "data checksum mismatch"}},
		"header cut":       {good[:second+5], CorruptError{second, 1, "truncated header"}},
		"record cut":       {good[:second+headerBytes], CorruptError{second, 1, "truncated record"}},
		"huge length":      {huge, CorruptError{2 * second, 2, "length 1152921504606846976 over the limit of 1073741824 bytes"}},
		"zeros after":      {append(bytes.Clone(good), make([]byte, 64)...), CorruptError{2 * second, 2, "length checksum mismatch"}},
		"length like zlib": {damagedLikeZlib(), CorruptError{0, 0, "length checksum mismatch"}},
		"short first":      {[]byte{1, 2, 3}, CorruptError{0, 0, "truncated header"}},
		"gzip cut":         {gzipped(t, good)[:20], CorruptError{0, 0, "truncated gzip stream"}},
		"gzip header cut":  {gzipped(t, good)[:5], CorruptError{0, 0, "truncated gzip stream"}},
		"gzip then junk":   {append(gzipped(t, good), "junk that is long enough"...), CorruptError{2 * second, 2, "gzip stream: gzip: invalid header"}},
		"zlib then junk":   {append(zlibbed(t, good, 6), 'x'), CorruptError{2 * second, 2, "data after the end of the zlib stream"}},
		"zlib cut":         {zlibbed(t, good, 6)[:12], CorruptError{0, 0, "truncated zlib stream"}},
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

// damagedLikeZlib is a file whose first length, 0x0178, is also a zlib header,
// with a bad checksum.
func damagedLikeZlib() []byte {
	file := frames(make([]byte, 0x0178))
	file[8] ^= 1
	return file
}

// appendHugeHeader appends a header that claims 2^60 bytes, with the right
// checksum.
func appendHugeHeader(dst []byte) []byte {
	header := binary.LittleEndian.AppendUint64(nil, 1<<60)
	return append(dst, binary.LittleEndian.AppendUint32(header, maskedCRC(header))...)
}

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

func TestErrorsOfTheSourceAreNotDamage(t *testing.T) {
	broken := errors.New("disk on fire")
	plain := frames(sample(40)...)
	for name, file := range map[string][]byte{"plain": plain, "gzip": gzipped(t, plain), "zlib": zlibbed(t, plain, 6)} {
		for _, n := range []int{0, 5, 11, 12, 40, len(file) / 2, len(file) - 1, len(file)} {
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
