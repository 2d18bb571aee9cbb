package sharding

import (
	"pretext/internal/failure"
)

var (
	// ErrDamaged reports that a file or folder is not what it claims to be.
	ErrDamaged = failure.Damaged("damaged")
	// ErrNoDocuments reports that there is no document.
	ErrNoDocuments = failure.Damaged("no documents")
	// ErrNoRecords reports that no example could be made.
	ErrNoRecords = failure.Damaged("no examples")
)

// A UsageError reports a wrong argument, such as the folder of another stage.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }

// Usage marks the error for exit codes.
func (e *UsageError) Usage() bool { return true }
