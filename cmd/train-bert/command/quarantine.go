package command

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"pretext/cmd/internal/cli"
	"pretext/records/tfrecord"
	"pretext/trainer/loader"
)

// maxQuarantine bounds how many places of bad examples are named on standard
// error, and maxNamed how many of a step in the metrics; all are counted.
const (
	maxQuarantine = 1000
	maxNamed      = 16
)

// A quarantine is told of everything that is left out of one side of the data.
type quarantine struct {
	w     io.Writer
	side  string          // "" or "eval"
	seen  map[string]bool // places that were named
	tails []damage        // ends of files, of which no example has a position
	step  []damage        // of the step that was read last, the first of them
	left  int64           // examples of that step
}

// A damage is a place in the metrics.
type damage struct {
	File   string `json:"file"`            // without its folder
	Record int64  `json:"record"`          // number in the file, from 0
	Offset int64  `json:"offset"`          // of its first byte, in the uncompressed stream
	Tail   bool   `json:"tail,omitempty"`  // all behind it in the file is lost too
	Bytes  int64  `json:"bytes,omitempty"` // of a tail, where that is known
	Split  string `json:"split,omitempty"` // "eval" of held-out data
	Reason string `json:"reason"`
}

// String is the place for people.
func (d damage) String() string {
	end := ""
	if d.Tail {
		end = ", and all behind it"
	}
	if d.Split != "" {
		end += " (held out)"
	}
	return fmt.Sprintf("%s: record %d at byte %d%s: %s", d.File, d.Record, d.Offset, end, d.Reason)
}

func newQuarantine(w io.Writer, side string) *quarantine {
	return &quarantine{w: w, side: side, seen: map[string]bool{}}
}

// skip leaves a bad example, or the end of a file, out.
func (q *quarantine) skip(bad error) error {
	place, tail := placeOf(bad)
	place.Split = q.side
	switch {
	case tail:
		q.tails = append(q.tails, place)
	default:
		q.left++
		if len(q.step) < maxNamed {
			q.step = append(q.step, place)
		}
	}
	if name := bad.Error(); len(q.seen) < maxQuarantine && !q.seen[name] {
		q.seen[name] = true
		fmt.Fprintf(q.w, "train-bert: left out: %s\n", cli.OneLine(name))
	}
	return nil
}

// take returns the first examples that were left out since the last call, and
// how many there were.
func (q *quarantine) take() (first []damage, n int64) {
	first, n = q.step, q.left
	q.step, q.left = nil, 0
	return first, n
}

// lostTails says from which record on which files are not read: what decides
// the positions of all other examples. It is "" where every file is whole.
func (q *quarantine) lostTails() string {
	var all []string
	for _, d := range q.tails {
		all = append(all, fmt.Sprintf("%s from record %d", d.File, d.Record))
	}
	text := strings.Join(all, ", ")
	if len(all) > maxNamed { // too many to read: told apart all the same
		text = fmt.Sprintf("%d files, sha256 %s", len(all), hashOf([]byte(text)))
	}
	return text
}

func placeOf(bad error) (d damage, isTail bool) {
	var record *loader.RecordError
	var tail *loader.TailError
	if !errors.As(bad, &record) {
		return damage{Reason: bad.Error()}, false
	}
	d = damage{File: filepath.Base(record.File), Record: record.Record, Offset: record.Offset, Reason: record.Err.Error()}
	if corrupt := (*tfrecord.CorruptError)(nil); errors.As(bad, &corrupt) {
		d.Reason = corrupt.Reason
	}
	if errors.As(bad, &tail) {
		d.Tail, d.Bytes = true, max(0, tail.Bytes)
	}
	return d, d.Tail
}
