package sharding

import (
	"errors"
	"fmt"
	"io/fs"

	"pretext/internal/failure"
	"pretext/records/tfrecord"
)

var (
	// ErrDamaged reports that a file or folder is corrupt, or differs from its
	// manifest.
	ErrDamaged = failure.Damaged("damaged")
	// ErrFormat is returned for a JSON file of a folder that is corrupt or
	// of an unknown format.
	ErrFormat = failure.Damaged("damaged or foreign file")
	// ErrUnfinished is returned for a folder without a manifest.
	ErrUnfinished = failure.Damaged("no " + ManifestName + ": the folder is not finished, or not one of ours")
	// ErrNoShards is returned for a valid path without examples.
	ErrNoShards = errors.New("holds no shards of examples")
	// ErrNoDocuments reports that the input contains no documents.
	ErrNoDocuments = failure.Damaged("no documents")
	// ErrNoRecords reports that no example could be made.
	ErrNoRecords = failure.Damaged("no examples")
)

// An otherPlanError reports a manifest that does not belong to the plan of its
// folder. Readers treat the folder as unfinished.
type otherPlanError struct{ folder string }

func (e *otherPlanError) Error() string {
	return fmt.Sprintf("%s: the folder is not finished: %s belongs to another plan than %s: run the command that makes it again",
		e.folder, ManifestName, PlanName)
}

func (e *otherPlanError) Is(target error) bool { return target == ErrUnfinished }

// Damaged marks the error for exit codes.
func (e *otherPlanError) Damaged() bool { return true }

// A newerError is a [*failure.Newer] that also matches [ErrFormat], so that readers stop
// at it as at a corrupt file. For exit codes, it does not count as corrupt.
type newerError struct{ *failure.Newer }

func (newerError) Is(target error) bool { return target == ErrFormat }

func (e newerError) Unwrap() error { return e.Newer }

// newer returns an error if version is above known.
func newer(version, known int) error {
	if version <= known {
		return nil
	}
	return newerError{&failure.Newer{Version: version, Known: known}}
}

// A DamageError lists the differences between a folder and its manifest.
type DamageError struct {
	Problems []Problem // at least one, in the order of the manifest; files by path
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

// Missing returns a [DamageError] if err, from opening the file at a path that a manifest or a
// listing of its folder names, says that the file does not exist; otherwise err.
func Missing(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &DamageError{Problems: []Problem{{File: path, Reason: "missing"}}}
	}
	return err
}

// A RecordError locates a record that could not be read. Its cause is a
// [*tfrecord.CorruptError] for corrupt bytes, a [*records.FeatureError] for a
// record that is not a valid example, or an error of the file system.
type RecordError struct {
	File   string
	Record int64 // number in the file, from 0
	Offset int64 // offset of the record's first byte, in the uncompressed stream
	Err    error
}

func (e *RecordError) Error() string {
	if corrupt := (*tfrecord.CorruptError)(nil); errors.As(e.Err, &corrupt) {
		return fmt.Sprintf("%s: record %d: %v", e.File, e.Record, e.Err) // the text of e.Err already contains the offset
	}
	if e.Offset < 0 { // the format's records have no offset in a file
		return fmt.Sprintf("%s: record %d: %v", e.File, e.Record, e.Err)
	}
	return fmt.Sprintf("%s: record %d at byte %d: %v", e.File, e.Record, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *RecordError) Unwrap() error { return e.Err }
