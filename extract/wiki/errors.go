package wiki

import (
	"fmt"
	"pretext/internal/failure"
)

// ErrCorrupt is wrapped by every [CorruptError].
var ErrCorrupt = failure.Damaged("corrupt dump")

// A CorruptError locates corrupt data in a dump: a checksum mismatch, a
// truncated file, or data after the last stream.
type CorruptError struct {
	Offset int64  // file offset of the corrupt byte, or of the block that contains it
	Reason string // e.g. "file ends inside a page"
	Err    error  // error of the decoder, io.ErrUnexpectedEOF for a truncated file, or nil
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v at byte %d: %s", ErrCorrupt, e.Offset, e.Reason)
}

// Unwrap returns [ErrCorrupt], and Err if it is not nil.
func (e *CorruptError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrCorrupt}
	}
	return []error{ErrCorrupt, e.Err}
}
