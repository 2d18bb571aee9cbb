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

// OverLimit marks the error for exit codes.
func (e *RejectsError) OverLimit() bool { return true }

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
