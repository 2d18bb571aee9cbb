package stage

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrFenced reports that the directory belongs to another plan by now. A worker
	// that was thought dead gets it, and must not write there.
	ErrFenced = errors.New("the folder belongs to another plan by now")
	// ErrNoPlan reports that plan.json of a running stage was removed.
	ErrNoPlan = errors.New("the plan of this run is gone")
)

// A ConfigError reports a wrong option. No work was started.
type ConfigError struct{ Err error }

// Error joins the problems into one line.
func (e *ConfigError) Error() string { return strings.ReplaceAll(e.Err.Error(), "\n", "; ") }

func (e *ConfigError) Unwrap() error { return e.Err }

// Usage marks the error for exit codes.
func (e *ConfigError) Usage() bool { return true }

// An OptionsError reports that a directory holds the output of other options or
// inputs than those asked for. It is a usage error.
type OptionsError struct {
	Folder      string
	Differences []string
}

func (e *OptionsError) Error() string {
	return fmt.Sprintf("%s was made with other options or inputs (%s): give another --out, or --overwrite to make it anew",
		e.Folder, strings.Join(e.Differences, "; "))
}

// Usage marks the error for exit codes.
func (e *OptionsError) Usage() bool { return true }

// A MemoryError reports that a stage needs more memory than it may use.
type MemoryError struct {
	Need, Have int64  // bytes
	Why        string // what needs it
	Less       string // what else would help: " or fewer --workers"
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("%s needs about %d MB, --memory allows %d MB: give more --memory%s",
		e.Why, (e.Need+999_999)/1_000_000, e.Have/1_000_000, e.Less)
}

// DoesNotFit marks the error for exit codes.
func (e *MemoryError) DoesNotFit() bool { return true }
