package humanize_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pretext/internal/humanize"
)

func TestCountsHaveCommasBetweenThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -999: "-999", -1000: "-1,000", 1234567: "1,234,567",
		math.MaxInt64: "9,223,372,036,854,775,807", math.MinInt64: "-9,223,372,036,854,775,808"} {
		if got := humanize.Count(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestSizesHaveOneToThreeDigitsBeforeThePoint(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 1500: "1.5 kB", 999_949: "999.9 kB", 999_950: "1.0 MB", 2_000_000: "2.0 MB",
		5_000_000_000: "5.0 GB", 26_400_000_000: "26.4 GB", math.MaxInt64: "9.2 EB", -1500: "-1.5 kB"} {
		if got := humanize.Bytes(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestOnlyNothingAndAllAreWritten0And100Percent(t *testing.T) {
	for f, want := range map[float64]string{0: "0.00 %", 1e-9: "< 0.01 %", 0.00005: "0.01 %", 0.15: "15.00 %", 0.999949: "99.99 %", 0.99999: "> 99.99 %", 1: "100.00 %", 1.5: "150.00 %"} {
		if got := humanize.Percent(f); got != want {
			t.Errorf("%g: got %q, want %q", f, got, want)
		}
	}
	if got := humanize.Percent(math.NaN()); got != "–" {
		t.Errorf("NaN: got %q", got)
	}
}

func TestShortTimesHaveTenths(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 40 * time.Millisecond: "0s", 1234 * time.Millisecond: "1.2s", 61 * time.Second: "1m1s", 3*time.Hour + 400*time.Millisecond: "3h0m0s"} {
		if got := humanize.Duration(d); got != want {
			t.Errorf("%d: got %q, want %q", d, got, want)
		}
	}
}

func Example() {
	fmt.Println(humanize.Count(1234567), humanize.Bytes(26_400_000), humanize.Percent(0.1503), humanize.Things(1, "file"))
	// Output: 1,234,567 26.4 MB 15.03 % 1 file
}
