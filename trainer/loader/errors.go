package loader

import (
	"errors"
	"fmt"

	"pretext/internal/failure"
	"pretext/records/tfrecord"
	"pretext/sharding"
)

// ErrNoShards is returned for a valid path without examples.
var ErrNoShards = errors.New("holds no shards of examples")

// ErrDamaged is wrapped by every [DamageError].
var ErrDamaged = failure.Damaged("shards differ from their manifest")

// A DamageError lists the differences between a folder of shards and its
// manifest.
type DamageError struct {
	Problems []sharding.Problem // at least one, in the order of the manifest; files by path
}

func (e *DamageError) Error() string {
	message := e.Problems[0].String()
	if more := len(e.Problems) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more)", more)
	}
	return message
}

// Unwrap returns [ErrDamaged].
func (e *DamageError) Unwrap() error { return ErrDamaged }

// A RecordError locates a record that could not be read. Its cause is a
// [*tfrecord.CorruptError] for corrupt bytes, a [*records.FeatureError] for a
// record that is not a valid example, or an error of the file system.
type RecordError struct {
	File   string
	Record int64 // number in the file, from 0
	Offset int64 // of its first byte, in the uncompressed stream
	Err    error
}

func (e *RecordError) Error() string {
	if corrupt := (*tfrecord.CorruptError)(nil); errors.As(e.Err, &corrupt) {
		return fmt.Sprintf("%s: record %d: %v", e.File, e.Record, e.Err) // already names the byte
	}
	return fmt.Sprintf("%s: record %d at byte %d: %v", e.File, e.Record, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *RecordError) Unwrap() error { return e.Err }

// A TailError reports that the rest of a file, from a record on, is unreadable:
// a length is corrupt, or the file or its compressed data ends too early, so
// the start of the next record is unknown. The records before it can be read.
type TailError struct {
	*RecordError
	Bytes int64 // from the record to the end of the file; -1 for a compressed file, where it is unknown
}

func (e *TailError) Error() string {
	if e.Bytes < 0 {
		return fmt.Sprintf("%v; the rest of the file is lost", e.RecordError)
	}
	return fmt.Sprintf("%v; the remaining %d bytes of the file are lost", e.RecordError, e.Bytes)
}

// Unwrap returns the error of the record.
func (e *TailError) Unwrap() error { return e.RecordError }

// tail converts the error of a corrupt record to a TailError. It returns nil
// for any other error.
func (f *File) tail(err error) *TailError {
	var record *RecordError
	if !errors.As(err, &record) || !errors.Is(err, tfrecord.ErrCorrupt) {
		return nil
	}
	if f.copied != nil && f.copied.entry.Copied {
		return &TailError{record, -1}
	}
	return &TailError{record, f.Bytes - record.Offset}
}
