package loader

import (
	"errors"
	"fmt"

	"pretext/records/tfrecord"
	"pretext/sharding"
)

// A TailError reports that the tail of a file is unreadable: a length is corrupt, or
// the file or its compressed data is truncated, so the start of the next record is
// unknown. The embedded RecordError locates the first unreadable record. All records
// before it can be read.
type TailError struct {
	*sharding.RecordError
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

// tail returns a TailError if err reports a corrupt record of f. It returns nil
// for any other error.
func (f *File) tail(err error) *TailError {
	var record *sharding.RecordError
	if !errors.As(err, &record) || !errors.Is(err, tfrecord.ErrCorrupt) {
		return nil
	}
	if f.copied != nil && f.copied.entry.Copied {
		return &TailError{record, -1}
	}
	return &TailError{record, f.Bytes - record.Offset}
}
