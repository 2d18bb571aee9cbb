package command

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pretext/pipeline"
)

// A bar must come to its end whatever was counted: a stage that failed, one
// with nothing to count, one that counted too much.
func TestABarEndsWhateverWasCounted(t *testing.T) {
	for _, tc := range []struct{ total, done int64 }{{0, 0}, {10, 0}, {10, 5}, {10, 10}, {10, 12}, {0, 3}} {
		m := &pipeline.Meter{Stage: "test", Total: tc.total}
		ended := make(chan struct{})
		go func() {
			stop := showBar(new(bytes.Buffer), m)
			m.Add(tc.done)
			stop()
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(30 * time.Second): // a bound for a hang, not a measure
			t.Fatalf("total %d, done %d: the bar did not end", tc.total, tc.done)
		}
	}
}

func TestMemoryTakesUnits(t *testing.T) {
	for s, want := range map[string]byteSize{"600MB": 600e6, "2gb": 2e9, "1.5GiB": 3 << 29, "1024": 1024, " 7 k ": 7000, "0": 0} {
		var b byteSize
		if err := b.Set(s); err != nil || b != want {
			t.Errorf("%q: got %d, %v, want %d", s, b, err, want)
		}
		if again := byteSize(0); again.Set(b.String()) != nil || again != want {
			t.Errorf("%q: writes %q, which is %d", s, b.String(), again)
		}
	}
	for _, s := range []string{"", "MB", "-1", "lots", "1e300GB", "NaN"} {
		var b byteSize
		if err := b.Set(s); err == nil || !strings.Contains(err.Error(), "is not a size") {
			t.Errorf("%q: got %d, %v", s, b, err)
		}
	}
}
