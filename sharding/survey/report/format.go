package report

import (
	"fmt"
	"reflect"
	"strings"

	"pretext/extract"
	"pretext/internal/humanize"
	"pretext/sharding"
	"pretext/sharding/survey"
)

// count, size and percent format numbers. A line break cannot separate number and unit.
func count(n int64) string         { return humanize.Count(n) }
func size(n int64) string          { return unbroken(humanize.Bytes(n)) }
func percent(share float64) string { return unbroken(humanize.Percent(share)) }

// anyCount formats a count of any signed integer type.
func anyCount(n any) string { return count(reflect.ValueOf(n).Int()) }

func unbroken(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") }

// speed returns a stage's throughput per second of CPU time, as text.
func speed(s survey.Stage) string {
	if s.Run == nil || s.Run.CPUSeconds <= 0 {
		return ""
	}
	rate := func(n int64, what string) string {
		return fmt.Sprintf("%s %s per second of CPU time", count(int64(float64(n)/s.Run.CPUSeconds)), what)
	}
	switch {
	case sharding.Records.Of(s.Counts) > 0:
		return rate(sharding.Records.Of(s.Counts), "examples")
	case extract.TextBytes.Of(s.Counts) > 0:
		return size(int64(float64(extract.TextBytes.Of(s.Counts))/s.Run.CPUSeconds)) + " of text per second of CPU time"
	case extract.Documents.Of(s.Counts) > 0:
		return rate(extract.Documents.Of(s.Counts), "documents")
	}
	return ""
}

// holeNotes returns notes about holes in sentences, where templates were dropped:
// rejected documents, counts that may be too low, and pages read as HTML.
func holeNotes(d *survey.DocumentStats) string {
	var notes []string
	switch {
	case d.FromHTML && len(d.Holes) == 0:
		notes = append(notes, "No holes: the pages were read as HTML, in which the wiki had rendered all templates.")
	case d.FromHTML:
		notes = append(notes, "Pages read as HTML have no holes: the wiki had rendered all templates.")
	case d.Pages > 0 && len(d.Holes) == 0:
		notes = append(notes, "No holes were counted.")
	}
	for _, r := range d.Rejects {
		if r.Name == string(extract.RejectHoles) {
			notes = append(notes, fmt.Sprintf("Rejected because of --max-holes: %s. The templates include theirs, the numbers of holes and sentences do not.", humanize.Things(r.Count, "page")))
		}
	}
	if d.DroppedSlack > 0 && len(d.Holes) > 0 {
		notes = append(notes, fmt.Sprintf("Counts of templates may be too low by up to %s.", count(d.DroppedSlack)))
	}
	return strings.Join(notes, " ")
}
