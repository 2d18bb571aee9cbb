package finetune

import "errors"

// ErrData is what every [DataError] wraps.
var ErrData = errors.New("damaged task data")

// ErrNumbers says that what a model computes is not a number.
var ErrNumbers = errors.New("the model computes no numbers (NaN): its weights are damaged")

// A DataError says what is wrong with a file of a task's data, and where.
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
