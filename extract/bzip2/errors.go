package bzip2

import (
	"errors"
	"fmt"
	"pretext/internal/failure"
)

// ErrCorrupt is wrapped by every [CorruptError].
var ErrCorrupt = failure.Damaged("corrupt bzip2 data")

// ErrTrailing is matched by the [CorruptError] for data after the last stream: after a
// complete and valid stream, there are zeros or garbage without a block. All blocks of
// the file have been returned, so the caller may accept the file. The bzip2 tool prints
// a warning; compress/bzip2 returns an error.
var ErrTrailing = errors.New("data after the last bzip2 stream")

// A CorruptError locates corrupt data in a bzip2 file. It matches [ErrCorrupt],
// and [io.ErrUnexpectedEOF] if the file is truncated or [ErrTrailing] if there
// is data after the last stream.
//
// To continue after the corruption, use a reader of the range that begins at
// Offset+1.
type CorruptError struct {
	Offset int64  // file offset of the byte in which the corrupt block, header or trailer begins
	Reason string // e.g. "block checksum mismatch"
	Err    error  // io.ErrUnexpectedEOF, ErrTrailing, or nil
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("corrupt bzip2 data at byte %d: %s", e.Offset, e.Reason)
}

// Unwrap returns [ErrCorrupt], and Err if it is not nil.
func (e *CorruptError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrCorrupt}
	}
	return []error{ErrCorrupt, e.Err}
}

// A fault is the reason why a block or stream is invalid. Its offset is added later.
type fault string

func (f fault) Error() string { return string(f) }

// All faults of a file.
const (
	errTruncated      fault = "file ends inside a bzip2 stream"
	errHeader         fault = "not a bzip2 stream header"
	errTrailing       fault = "data after the last bzip2 stream"
	errMagic          fault = "neither a block nor the end of the stream"
	errStreamCRC      fault = "stream checksum mismatch"
	errBlockCRC       fault = "block checksum mismatch"
	errRandomised     fault = "randomised block (obsolete)"
	errNoBytes        fault = "no byte values in block"
	errTables         fault = "number of Huffman tables out of range"
	errSelector       fault = "Huffman table selector out of range"
	errNoSelectors    fault = "no Huffman table selectors"
	errSelectors      fault = "too few Huffman table selectors"
	errCodeLength     fault = "Huffman code length out of range"
	errOversubscribed fault = "oversubscribed Huffman code"
	errCode           fault = "Huffman code not assigned"
	errRepeat         fault = "run too long"
	errTooLong        fault = "data exceeds block size"
	errOrigin         fault = "origin of the transform out of range"
)
