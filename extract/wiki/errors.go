package wiki

import (
	"fmt"
	"pretext/internal/failure"
)

// ErrCorrupt is what a [CorruptError] unwraps to.
var ErrCorrupt = failure.Damaged("corrupt dump")

// A CorruptError locates damage of a dump: a checksum that does not match, a
// file that ends too early, bytes that belong to no stream.
type CorruptError struct {
	Offset int64  // in the file, of the first byte that is not right, as near as the format tells
	Reason string // e.g. "file ends inside a page"
	Err    error  // what a decoder said, io.ErrUnexpectedEOF for a file cut short, or nil
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v at byte %d: %s", ErrCorrupt, e.Offset, e.Reason)
}

// Unwrap returns [ErrCorrupt] and the cause.
func (e *CorruptError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrCorrupt}
	}
	return []error{ErrCorrupt, e.Err}
}
