package pipeline

import (
	"fmt"
	"strings"

	"pretext/sharding"
)

// Errors of a run that is not at fault of the machine.
var (
	// ErrDamaged says that a folder or file is not what it claims to be.
	ErrDamaged = sharding.ErrDamaged
	// ErrNoDocuments says that nothing in the sources became a document.
	ErrNoDocuments = sharding.ErrNoDocuments
	// ErrNoRecords says that no example could be made.
	ErrNoRecords = sharding.ErrNoRecords
)

// A ConfigError is a wrong option: nothing was begun.
type ConfigError struct{ Err error }

// Error joins the problems into one line.
func (e *ConfigError) Error() string { return strings.ReplaceAll(e.Err.Error(), "\n", "; ") }

func (e *ConfigError) Unwrap() error { return e.Err }

// A MemoryError says that a stage would need more memory than it may use.
type MemoryError struct {
	Need, Have int64  // bytes
	Why        string // what needs it
	Less       string // what else would help: " or fewer --workers"
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("%s needs about %d MB, --memory allows %d MB: give more --memory%s",
		e.Why, (e.Need+999_999)/1_000_000, e.Have/1_000_000, e.Less)
}

// A RejectsError says that more was rejected as unreadable than allowed.
type RejectsError struct {
	Rejected, Seen int64
	Allowed        float64
	Reasons        string
}

func (e *RejectsError) Error() string {
	return fmt.Sprintf("%d of %d pages, books or lines are unreadable (%s), more than --max-rejects %g allows",
		e.Rejected, e.Seen, e.Reasons, e.Allowed)
}

// rejectSummary names the rejects of a stage.
func rejectSummary(c sharding.Counts) string {
	var parts []string
	for _, reason := range c.RejectReasons() {
		parts = append(parts, fmt.Sprintf("%d %s", c["reject."+reason], reason))
	}
	if len(parts) == 0 {
		return "nothing was rejected"
	}
	return "rejected: " + strings.Join(parts, ", ")
}
