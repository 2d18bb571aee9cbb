package stage

import (
	"fmt"
	"strings"

	"pretext/internal/failure"
)

var (
	// ErrFenced reports that the directory now belongs to another plan. A leftover worker
	// of an earlier run gets this error and must not write to the directory.
	ErrFenced = failure.Lasting("another run has replaced the plan of the folder")
	// errNoPlan reports that plan.json of a running stage was removed.
	errNoPlan = failure.Lasting("plan.json was removed during the run")
)

// An OptionsError reports that a directory contains the output of other options or inputs
// than requested.
type OptionsError struct {
	Folder      string
	Differences []string
}

// Usage marks the error for exit codes.
func (e *OptionsError) Usage() bool { return true }

func (e *OptionsError) Error() string {
	return fmt.Sprintf("%s was made with other options or inputs (%s): give another --out, or --overwrite to replace it",
		e.Folder, strings.Join(e.Differences, "; "))
}
