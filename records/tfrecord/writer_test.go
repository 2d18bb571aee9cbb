package tfrecord

import (
	"bytes"
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

// TestPayloadsMadeInSpaceAreWritten mixes payloads that are made in the writer's memory
// with others, of sizes from none to more than the buffer.
func TestPayloadsMadeInSpaceAreWritten(t *testing.T) {
	var got, want bytes.Buffer
	a, b := NewWriter(&got, WriterOptions{Index: true}), NewWriter(&want, WriterOptions{Index: true})
	own := make([]byte, 2*writerBufferBytes)
	for i := range own {
		own[i] = byte(i * i >> 3)
	}
	made := 0
	for i, size := range []int{5, 0, 1000, 100_000, 100_000, 100_000, writerBufferBytes - FrameBytes, writerBufferBytes, 2 * writerBufferBytes, 70_000, 1, 3} {
		payload := own[:size]
		if space := a.Space(max(1, size)); space != nil && i%4 != 3 {
			payload = append(space, payload...)
			made++
		} else if large := size > writerBufferBytes-FrameBytes; (space == nil) != large {
			t.Errorf("%d bytes: got memory of %d", size, cap(space))
		}
		if err := errors.Join(a.Write(payload), b.Write(own[:size])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil || made < 6 {
		t.Fatal(made, err)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) || !bytes.Equal(a.Index(), b.Index()) {
		t.Error("the files differ")
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

// A keeping is an Exchanger that keeps the buffer that it cannot write.
type keeping struct{ io.Writer }

func (keeping) Exchange([]byte) ([]byte, error) { return nil, errors.New("full") }
func (keeping) Wait() error                     { return nil }

func TestAWriterIsOfUseAfterAnExchangerKeptItsBuffer(t *testing.T) {
	w := NewWriter(keeping{io.Discard}, WriterOptions{})
	if err := w.Write([]byte("record")); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err == nil {
		t.Fatal("no error")
	}
	if err := w.Write(append(w.Space(100), "record"...)); err == nil {
		t.Error("no error after the first one")
	}
	var out bytes.Buffer
	w.Reset(&out)
	if err := w.Write(append(w.Space(100), "record"...)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil || out.Len() != len("record")+FrameBytes {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
}
