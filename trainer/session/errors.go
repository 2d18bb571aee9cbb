package session

import "pretext/internal/failure"

// usagef returns a usage error: an option is wrong, or does not fit the data,
// the model or an earlier checkpoint. The message names options by the flags of
// train-bert.
func usagef(format string, args ...any) error { return failure.Usagef(format, args...) }

// errDamaged marks corrupt files of a model, a vocabulary or a run.
var errDamaged = failure.Damaged("damaged")
