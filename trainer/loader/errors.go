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
