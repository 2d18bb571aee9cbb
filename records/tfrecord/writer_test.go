package tfrecord

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
)

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

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWriterKeepsItsError(t *testing.T) {
	w := NewWriter(&failing{after: writerBufferBytes + 100}, WriterOptions{})
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

func BenchmarkWriter(b *testing.B) {
	payload := make([]byte, 830-FrameBytes)
	w := NewWriter(io.Discard, WriterOptions{})
	b.SetBytes(830)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(payload); err != nil {
			b.Fatal(err)
		}
	}
}
