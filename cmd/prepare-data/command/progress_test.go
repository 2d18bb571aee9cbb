package command

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pretext/pipeline/stage"
)

// A progress bar ends in every case: after a stage that failed, one with nothing to
// count, and one that counted too much.
func TestABarEndsWhateverWasCounted(t *testing.T) {
	for _, tc := range []struct{ total, done int64 }{{0, 0}, {10, 0}, {10, 5}, {10, 10}, {10, 12}, {0, 3}} {
		m := &stage.Meter{Stage: "test", Total: tc.total}
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

func TestProgressSaysWhatItsTimesMean(t *testing.T) {
	for _, c := range []struct {
		done, total int64
		elapsed     time.Duration
		want        string
	}{
		{0, 0, 3 * time.Second, "3s elapsed"},
		{0, 100, 90 * time.Second, "1m30s elapsed"},
		{5, 100, 0, " 5 %"},
		{250e6, 1000e6, 10 * time.Second, "25 %, 25.0 MB/s, 10s elapsed, 30s left"},
		{999, 1000, time.Hour, "99 %, 0 B/s, 1h0m0s elapsed, 4s left"}, // not 100 % before the end
		{1200, 1000, 10 * time.Second, "100 %, 100 B/s, 10s elapsed"},
		{0, 0, time.Second, "1s elapsed"},
	} {
		m := &stage.Meter{Total: c.total}
		m.Add(c.done)
		if got := progressText(m, c.elapsed); got != c.want {
			t.Errorf("%d of %d after %v: got %q, want %q", c.done, c.total, c.elapsed, got, c.want)
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
