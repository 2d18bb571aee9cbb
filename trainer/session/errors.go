package session

import (
	"fmt"

	"pretext/internal/damage"
)

// A usageError is an option that is wrong, or does not fit the data, the model or
// an earlier checkpoint. Its message names options by the flags of train-bert.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e usageError) Unwrap() error { return e.err }

// Usage marks the error for exit codes.
func (e usageError) Usage() bool { return true }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// misuse marks an error as one of usage.
func misuse(err error) error { return usageError{err} }

// errDamaged marks corrupt files of a model, a vocabulary or a run.
var errDamaged = damage.New("damaged")
