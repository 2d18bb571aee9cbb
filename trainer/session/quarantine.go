package session

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"path/filepath"
	"strings"

	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/trainer/loader"
)

// maxQuarantine is the maximum number of bad examples that are logged. maxNamed
// is the maximum number of bad examples per step that the metrics list. Further bad
// examples are only counted.
const (
	maxQuarantine = 1000
	maxNamed      = 16
)

// A quarantine records the bad examples of a split that are skipped.
type quarantine struct {
	w     io.Writer
	split string          // "" or "eval"
	seen  map[string]bool // messages that were logged
	tails []Damage        // unreadable ends of files
	step  []Damage        // the first bad examples of the last step read
	n     int64           // number of bad examples in the last step read
	hash  hash.Hash64     // of all bad examples and unreadable ends so far
}

// A Damage is a corrupt record, or the unreadable end of a file.
type Damage struct {
	File   string `json:"file"`            // without its directory
	Record int64  `json:"record"`          // number in the file, from 0
	Offset int64  `json:"offset"`          // of its first byte, in the uncompressed stream
	Tail   bool   `json:"tail,omitempty"`  // the rest of the file is unreadable too
	Bytes  int64  `json:"bytes,omitempty"` // length of a tail; 0 if unknown
	Split  string `json:"split,omitempty"` // "eval" of held-out data
	Reason string `json:"reason"`
}

// String describes the damage in one line.
func (d Damage) String() string {
	end := ""
	if d.Tail {
		end = ", and all behind it"
	}
	if d.Split != "" {
		end += " (held out)"
	}
	return fmt.Sprintf("%s: record %d at byte %d%s: %s", d.File, d.Record, d.Offset, end, d.Reason)
}

func newQuarantine(w io.Writer, split string) *quarantine {
	return &quarantine{w: w, split: split, seen: map[string]bool{}, hash: fnv.New64a()}
}

// skip skips a bad example, or the unreadable end of a file.
func (q *quarantine) skip(bad error) error {
	place, tail := placeOf(bad)
	place.Split = q.split
	fmt.Fprintf(q.hash, "%s %d %v\n", place.File, place.Record, tail)
	switch {
	case tail:
		q.tails = append(q.tails, place)
	default:
		q.n++
		if len(q.step) < maxNamed {
			q.step = append(q.step, place)
		}
	}
	if name := bad.Error(); len(q.seen) < maxQuarantine && !q.seen[name] {
		q.seen[name] = true
		fmt.Fprintf(q.w, "left out: %s\n", name)
	}
	return nil
}

// take returns the number n of examples skipped since the last call of take, and the
// first of these examples, at most maxNamed.
func (q *quarantine) take() (first []Damage, n int64) {
	first, n = q.step, q.n
	q.step, q.n = nil, 0
	return first, n
}

// lostTails lists the files with unreadable ends and the first unreadable record of
// each; "" if there are none. The positions of all other examples depend on this list.
func (q *quarantine) lostTails() string {
	var all []string
	for _, d := range q.tails {
		all = append(all, fmt.Sprintf("%s from record %d", d.File, d.Record))
	}
	text := strings.Join(all, ", ")
	if len(all) > maxNamed { // too many to list; the hash still distinguishes them
		text = fmt.Sprintf("%d files, sha256 %s", len(all), hashOf([]byte(text)))
	}
	return text
}

func placeOf(bad error) (d Damage, isTail bool) {
	var record *sharding.RecordError
	var tail *loader.TailError
	if !errors.As(bad, &record) {
		return Damage{Reason: bad.Error()}, false
	}
	d = Damage{File: filepath.Base(record.File), Record: record.Record, Offset: record.Offset, Reason: record.Err.Error()}
	if corrupt := (*tfrecord.CorruptError)(nil); errors.As(bad, &corrupt) {
		d.Reason = corrupt.Reason
	}
	if errors.As(bad, &tail) {
		d.Tail, d.Bytes = true, max(0, tail.Bytes)
	}
	return d, d.Tail
}
