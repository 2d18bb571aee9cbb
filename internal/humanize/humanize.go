// Package humanize formats numbers for people, uniformly in all text output:
//
//	humanize.Count(1234567)     1,234,567
//	humanize.Bytes(26_400_000)  26.4 MB        powers of 1000
//	humanize.Percent(0.1503)    15.03 %        always two decimals
//	humanize.Things(1, "file")  1 file
//
// Output for programs (JSON) has plain numbers instead.
package humanize

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Count formats an integer with commas between thousands.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	first := 0
	if n < 0 {
		first = 1
	}
	for at := len(s) - 3; at > first; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

// Things formats a count with its noun, in the plural unless the count is 1.
func Things(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Bytes formats a size in an SI unit with one to three digits before the point.
func Bytes(n int64) string {
	if n > -1000 && n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	units := []string{"kB", "MB", "GB", "TB", "PB", "EB"}
	v, unit := float64(n)/1000, 0
	for math.Abs(v) >= 999.95 && unit < len(units)-1 {
		v, unit = v/1000, unit+1
	}
	return fmt.Sprintf("%.1f %s", v, units[unit])
}

// Percent formats a fraction as a percentage with two decimals. Only exactly 0 gives
// "0.00 %", and only exactly 1 gives "100.00 %"; values that would round to these give
// "< 0.01 %" and "> 99.99 %".
func Percent(fraction float64) string {
	switch p := 100 * fraction; {
	case math.IsNaN(p):
		return "–"
	case p > 0 && p < 0.005:
		return "< 0.01 %"
	case p < 100 && p >= 99.995:
		return "> 99.99 %"
	default:
		return fmt.Sprintf("%.2f %%", p)
	}
}

// Duration formats a time span in seconds, or in tenths below ten seconds.
func Duration(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
