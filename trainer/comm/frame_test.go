package comm

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func FuzzReadFrame(f *testing.F) {
	f.Add(appendFrame(nil, frameBeat, nil))
	f.Add(append(encode(frameHello, hello{Rank: 1, Ranks: 2, Host: "a"}), encode(frameFailure, failureMessage{Rank: 1})...))
	f.Add([]byte{byte(frameHello), 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{byte(frameByeSeen), 3, 0, 0, 0, 1})
	f.Add([]byte{77, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		for {
			before := len(data) - r.Len()
			kind, payload, err := readFrame(r)
			if err == io.EOF && before != len(data) {
				t.Fatalf("io.EOF after %d bytes of %d", before, len(data))
			}
			if err != nil {
				return
			}
			if again := appendFrame(nil, kind, payload); !bytes.Equal(again, data[before:len(data)-r.Len()]) {
				t.Fatalf("frame %d of %d bytes is not what was read", kind, len(payload))
			}
			var h hello
			var w welcome
			var m failureMessage
			decode(payload, &h)
			decode(payload, &w)
			decode(payload, &m)
		}
	})
}

func FuzzParseCall(f *testing.F) {
	f.Add(call{operation: opAllGather, size: 4, number: 7, length: 400, shape: 1 << 63}.header())
	f.Add(bytes.Repeat([]byte{0xff}, callHeader))
	f.Add([]byte("ring"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseCall(b)
		if err != nil {
			return
		}
		if !bytes.Equal(c.header(), b) {
			t.Fatalf("%x is read as %v, which is written as %x", b, c, c.header())
		}
		if s := c.String(); !strings.Contains(s, "call ") {
			t.Fatal(s)
		}
	})
}

// A large length field is refused before memory is allocated for it.
func TestEveryEndThatIsNotCleanIsAReset(t *testing.T) {
	for err, want := range map[error]bool{syscall.ECONNRESET: true, syscall.EPIPE: true, io.ErrUnexpectedEOF: true, io.EOF: false, syscall.ECONNREFUSED: false} {
		if got := isReset(fmt.Errorf("read: %w", err)); got != want {
			t.Errorf("%v: got %v", err, got)
		}
	}
}

func TestAHugeLengthIsRefused(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := readFrame(strings.NewReader("\x02\xff\xff\xff\xff"))
	runtime.ReadMemStats(&after)
	if err == nil || after.TotalAlloc-before.TotalAlloc > maxPayload {
		t.Errorf("got %v and %d bytes allocated", err, after.TotalAlloc-before.TotalAlloc)
	}
}
