package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pretext/internal/survey"
	"pretext/sharding"
)

// count writes a number with thin spaces between thousands.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	var parts []string
	for len(s) > 3 {
		parts = append(parts, s[len(s)-3:])
		s = s[:len(s)-3]
	}
	parts = append(parts, s)
	slices.Reverse(parts)
	return sign + strings.Join(parts, "\u202f")
}

// size writes bytes in the unit that leaves one to three digits before the
// point.
func size(n int64) string {
	v, unit := float64(n), 0
	units := []string{"B", "kB", "MB", "GB", "TB", "PB"}
	for v >= 999.95 && unit < len(units)-1 {
		v, unit = v/1000, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[unit])
}

// percent writes a share with three digits that say something.
func percent(share float64) string {
	digits := 2
	switch p := 100 * share; {
	case p == 0 || p >= 99.995:
		digits = 0
	case p >= 10:
		digits = 2
	case p < 0.1:
		digits = 4
	}
	return strconv.FormatFloat(100*share, 'f', digits, 64) + "\u00a0%"
}

// An option is a line of a stage's options.
type option struct{ Name, Value string }

// options flattens the JSON options of a stage into dotted names.
func options(raw json.RawMessage) (list []option) {
	for name, value := range sharding.FlattenOptions(raw) {
		list = append(list, option{name, value})
	}
	slices.SortFunc(list, func(a, b option) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// speed says what a stage did in a second of a processor.
func speed(s survey.Stage) string {
	if s.Run == nil || s.Run.CPUSeconds <= 0 {
		return ""
	}
	rate := func(n int64, what string) string {
		return fmt.Sprintf("%s %s a second of processor time", count(int64(float64(n)/s.Run.CPUSeconds)), what)
	}
	switch {
	case s.Counts["records"] > 0:
		return rate(s.Counts["records"], "examples")
	case s.Counts["text_bytes"] > 0:
		return size(int64(float64(s.Counts["text_bytes"])/s.Run.CPUSeconds)) + " of text a second of processor time"
	case s.Counts["documents"] > 0:
		return rate(s.Counts["documents"], "documents")
	}
	return ""
}
