package tfrecord

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzReader reads anything. Framing what was read must give back the bytes
// before the damage, or for a compressed file something that reads the same.
func FuzzReader(f *testing.F) {
	good := frames(sample(5)...)
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(appendHugeHeader(bytes.Clone(good)))
	f.Add(append(bytes.Clone(good), make([]byte, 64)...))
	f.Add(gzipped(f, good))
	f.Add(gzipped(f, good, good))
	f.Add(zlibbed(f, good, 6))
	f.Fuzz(func(t *testing.T, file []byte) {
		r := NewReader(bytes.NewReader(file), ReaderOptions{MaxRecordBytes: 1 << 20})
		payloads, err := readAll(r)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("got %v, want ErrCorrupt or nothing", err)
		}
		again := frames(payloads...)
		if int64(len(again)) != r.Offset() || int64(len(payloads)) != r.Records() {
			t.Fatalf("got offset %d after %d records, want %d after %d", r.Offset(), r.Records(), len(again), len(payloads))
		}
		if r.Compression() == "" && !bytes.HasPrefix(file, again) {
			t.Fatal("framing what was read does not give the input back")
		}
		if r.Compression() == "" && err == nil && len(again) != len(file) {
			t.Fatalf("%d of %d bytes were passed over in silence", len(file)-len(again), len(file))
		}
		back, err := read(again)
		if err != nil || !equal(back, payloads) {
			t.Fatalf("reading again: %d records, %v", len(back), err)
		}
	})
}
