package tfrecord_test

import (
	"bytes"
	"errors"
	"testing"

	"pretext/records/tfrecord"
)

func TestAPayloadIsReturnedOfASoundFrameAlone(t *testing.T) {
	want := []byte("an example")
	frame := tfrecord.AppendFrame(nil, want)
	if got, err := tfrecord.Payload(frame, 7); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("got %q, %v, want %q", got, err, want)
	}
	for i := range frame {
		bad := bytes.Clone(frame)
		bad[i] ^= 1 << (i % 8)
		var corrupt *tfrecord.CorruptError
		if _, err := tfrecord.Payload(bad, 7); !errors.As(err, &corrupt) || corrupt.Offset != 7 {
			t.Errorf("byte %d changed: got %v, want damage at byte 7", i, err)
		}
		if _, err := tfrecord.Payload(frame[:i], 7); !errors.Is(err, tfrecord.ErrCorrupt) {
			t.Errorf("cut to %d bytes: got %v, want damage", i, err)
		}
	}
	if _, err := tfrecord.Payload(append(frame, 0), 7); !errors.Is(err, tfrecord.ErrCorrupt) {
		t.Error("a byte too many is no damage")
	}
}
