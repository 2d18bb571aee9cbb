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
