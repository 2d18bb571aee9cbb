package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"pretext/internal/failure"
)

// ErrDamaged is matched by the error of a file that is truncated, corrupt or
// not a checkpoint. Errors of the file system, and valid models of an
// unsupported kind, do not match.
var ErrDamaged = failure.Damaged("damaged")

// A damageError wraps an error so that it matches [ErrDamaged]. The text stays the
// same.
type damageError struct{ error }

func (d damageError) Unwrap() []error { return []error{d.error, ErrDamaged} }

// damaged wraps an error of reading files in a damageError, unless it comes from the
// file system.
func damaged(err error) error {
	var path *fs.PathError
	switch {
	case err == nil, errors.Is(err, ErrDamaged):
		return err
	case errors.As(err, &path) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return damageError{err}
}

// damagedJSON wraps an error of parsing JSON in damage if it is a syntax or
// type error.
func damagedJSON(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) {
		return damaged(err)
	}
	return err
}

// missing returns the error for a file that must exist; it is damage if the file
// is missing.
func missing(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return damageError{fmt.Errorf("%s: missing: the checkpoint is incomplete", name)}
	}
	return err
}
