package tfrecord_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"

	"pretext/records/tfrecord"
)

func TestUncompressedReturnsTheStreamOrItsDamage(t *testing.T) {
	plain := tfrecord.AppendFrame(nil, bytes.Repeat([]byte("abc"), 5000))
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for want, in := range map[string][]byte{"": plain, "gzip": zipped.Bytes()} {
		r, compression, err := tfrecord.Uncompressed(bytes.NewReader(in))
		if err != nil || compression != want {
			t.Fatalf("got %q, %v, want %q", compression, err, want)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%q: got %d bytes, %v, want %d", want, len(got), err, len(plain))
		}
	}
	r, _, err := tfrecord.Uncompressed(bytes.NewReader(zipped.Bytes()[:zipped.Len()-5]))
	if err != nil {
		t.Fatal(err)
	}
	var corrupt *tfrecord.CorruptError
	if _, err := io.ReadAll(r); !errors.As(err, &corrupt) || corrupt.Offset != int64(len(plain)) {
		t.Errorf("cut: got %v, want damage at byte %d", err, len(plain))
	}
}
