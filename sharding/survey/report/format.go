package report

import (
	"fmt"
	"reflect"
	"strings"

	"pretext/internal/humanize"
	"pretext/sharding/survey"
)

// count, size and percent format numbers. Their units do not move to the next line.
func count(n int64) string         { return humanize.Count(n) }
func size(n int64) string          { return unbroken(humanize.Bytes(n)) }
func percent(share float64) string { return unbroken(humanize.Percent(share)) }

// anyCount formats a count of any signed integer type.
func anyCount(n any) string { return count(reflect.ValueOf(n).Int()) }

func unbroken(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") }

// speed returns the throughput of a stage for each second of CPU time, as text.
func speed(s survey.Stage) string {
	if s.Run == nil || s.Run.CPUSeconds <= 0 {
		return ""
	}
	rate := func(n int64, what string) string {
		return fmt.Sprintf("%s %s per second of CPU time", count(int64(float64(n)/s.Run.CPUSeconds)), what)
	}
	switch {
	case s.Counts["records"] > 0:
		return rate(s.Counts["records"], "examples")
	case s.Counts["text_bytes"] > 0:
		return size(int64(float64(s.Counts["text_bytes"])/s.Run.CPUSeconds)) + " of text per second of CPU time"
	case s.Counts["documents"] > 0:
		return rate(s.Counts["documents"], "documents")
	}
	return ""
}
