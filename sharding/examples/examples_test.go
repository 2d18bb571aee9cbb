package examples_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/sharding/examples"
)

func TestPartsOfFilesYieldTheirRecords(t *testing.T) {
	payload := (&records.Example{InputIDs: []int32{1}, InputMask: []int32{1}, SegmentIDs: []int32{0}}).Append(nil)
	frame := tfrecord.AppendFrame(nil, payload)
	path := filepath.Join(t.TempDir(), "eval-00001-of-00002.tfrecord")
	if err := os.WriteFile(path, append(bytes.Repeat(frame, 3), frame[:7]...), 0o666); err != nil {
		t.Fatal(err)
	}
	parts, err := examples.Files(t.Context(), []string{path})
	if err != nil || len(parts) != 1 || parts[0].Split != sharding.Eval || parts[0].Bytes != int64(3*len(frame)+7) {
		t.Fatalf("got %+v, %v", parts, err)
	}
	var n int64
	for r, err := range parts[0].Records(t.Context()) {
		if n == 3 {
			if at := (*sharding.RecordError)(nil); !errors.As(err, &at) || at.Record != 3 || at.Offset != int64(3*len(frame)) {
				t.Errorf("a truncated record: got %v", err)
			}
			return
		}
		if err != nil || r.Index != n || r.Offset != n*int64(len(frame)) || !bytes.Equal(r.Payload, payload) {
			t.Fatalf("record %d: got %+v, %v", n, r, err)
		}
		n++
	}
	t.Error("no error for a truncated record")
}
