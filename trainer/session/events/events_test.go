package events_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/records/tfrecord"
	"pretext/trainer/session/events"
)

func Example() {
	b := events.AppendVersion(nil, 1.5)
	b = events.AppendScalars(b, 2.5, 7, []events.Scalar{{Tag: "loss", Value: 1}})
	b = events.AppendRestart(b, 3.5, 8)
	r := tfrecord.NewReader(bytes.NewReader(b), tfrecord.ReaderOptions{})
	for {
		payload, err := r.Next()
		if err != nil {
			break
		}
		fmt.Println(hex.EncodeToString(payload))
	}
	// Output:
	// 09000000000000f83f1a0d627261696e2e4576656e743a32
	// 09000000000000044010072a0d0a0b0a046c6f7373150000803f
	// 090000000000000c4010083a020801
}

func TestScalarsAreTheBytesOfTensorBoardsOwnWriterOracle(t *testing.T) {
	var rows []struct {
		Step     int64
		WallTime float64 `json:"wall_time"`
		Tag      string
		Value    float64
		Form     string
	}
	if err := json.Unmarshal(realdata.Read(t, "oracle/events.json"), &rows); err != nil {
		t.Fatal(err)
	}
	want := realdata.Read(t, "oracle/events.out.tfevents.1700000000.oracle")
	payload, err := tfrecord.NewReader(bytes.NewReader(want), tfrecord.ReaderOptions{}).Next()
	if err != nil || len(payload) < 9 {
		t.Fatalf("first record of the oracle: %x, %v", payload, err)
	}
	got := events.AppendVersion(nil, math.Float64frombits(binary.LittleEndian.Uint64(payload[1:])))
	scalars := 0
	for _, r := range rows {
		if r.Form == "simple_value" {
			got = events.AppendScalars(got, r.WallTime, r.Step, []events.Scalar{{Tag: r.Tag, Value: float32(r.Value)}})
			scalars++
		}
	}
	if scalars == 0 || !bytes.HasPrefix(want, got) {
		t.Errorf("%d scalars: got\n%x\nwant\n%x", scalars, got, want)
	}
}

func TestAnEventOfSeveralScalarsIsOneRecord(t *testing.T) {
	b := events.AppendScalars(nil, 1, 1<<40, []events.Scalar{{Tag: "a", Value: 1}, {Tag: "b", Value: float32(math.Inf(1))}})
	r := tfrecord.NewReader(bytes.NewReader(b), tfrecord.ReaderOptions{})
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("got %v after one record, want the end", err)
	}
}
