package loader

import (
	"errors"
	"fmt"

	"pretext/records/tfrecord"
	"pretext/sharding"
)

// ErrNoShards says that a path is sound but has no examples to read.
var ErrNoShards = errors.New("holds no shards of examples")

// ErrDamaged is what every [DamageError] wraps.
var ErrDamaged = errors.New("shards differ from their manifest")

// A DamageError says what a folder of shards has otherwise than its manifest.
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

// A RecordError says which record could not be read. Its cause is a
// [*tfrecord.CorruptError] for damaged bytes, a [*records.FeatureError] for a
// record that is no example, or what the disk said.
type RecordError struct {
	File   string
	Record int64 // number in the file, from 0
	Offset int64 // of its first byte, in the uncompressed stream
	Err    error
}

func (e *RecordError) Error() string {
	if corrupt := (*tfrecord.CorruptError)(nil); errors.As(e.Err, &corrupt) {
		return fmt.Sprintf("%s: record %d: %v", e.File, e.Record, e.Err) // names the byte itself
	}
	return fmt.Sprintf("%s: record %d at byte %d: %v", e.File, e.Record, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *RecordError) Unwrap() error { return e.Err }

// A TailError says that a file cannot be read from a record on: a length is
// damaged, the file or its compression ends too early, and where the next record
// begins is not known. What lies before it is read as ever.
type TailError struct {
	*RecordError
	Bytes int64 // from the record to the end of the file; -1 of a compressed one, where nobody knows
}

func (e *TailError) Error() string {
	if e.Bytes < 0 {
		return fmt.Sprintf("%v; all behind it in the file is lost", e.RecordError)
	}
	return fmt.Sprintf("%v; the %d bytes from there to the end of the file are lost", e.RecordError, e.Bytes)
}

// Unwrap returns the error of the record.
func (e *TailError) Unwrap() error { return e.RecordError }

// tail makes of the error of a damaged record what it means to its file; nil of
// any other error.
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
