package finetune

import "pretext/internal/failure"

// ErrData is wrapped by every [DataError].
var ErrData = failure.Damaged("damaged task data")

// ErrNumbers is returned when a model's output is not a number (NaN).
var ErrNumbers = failure.Damaged("the model's output is NaN: its weights are corrupt")

// A DataError locates a problem in a data file of a task.
type DataError struct {
	File   string
	Place  string // "line 3", "question \"q7\"", …; may be empty
	Reason string
}

func (e *DataError) Error() string {
	if e.Place == "" {
		return e.File + ": " + e.Reason
	}
	return e.File + ": " + e.Place + ": " + e.Reason
}

// Unwrap returns [ErrData].
func (e *DataError) Unwrap() error { return ErrData }
