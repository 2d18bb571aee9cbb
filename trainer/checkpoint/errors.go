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

// A damageError is an error that also matches [ErrDamaged]. The text stays the
// same.
type damageError struct{ error }

func (d damageError) Unwrap() []error { return []error{d.error, ErrDamaged} }

// damaged makes err, an error of reading a file, match [ErrDamaged]. It returns
// an error of the file system ([fs.PathError]) unchanged, unless the file ended
// too early.
func damaged(err error) error {
	var path *fs.PathError
	var newer *failure.Newer
	switch {
	case err == nil, errors.Is(err, ErrDamaged), errors.As(err, &newer):
		return err
	case errors.As(err, &path) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return damageError{err}
}

// damagedJSON makes err match [ErrDamaged] if it is a JSON syntax or type
// error. It returns other errors unchanged.
func damagedJSON(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) {
		return damaged(err)
	}
	return err
}

// missing returns the error for the required file name, which could not be read
// because of err. If the file does not exist, the error matches [ErrDamaged];
// otherwise it is err.
func missing(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return damageError{fmt.Errorf("%s: missing: the checkpoint is incomplete", name)}
	}
	return err
}

// noTensor returns the error for a tensor that the model needs and its files do not have.
// It matches [ErrDamaged].
func noTensor(name string) error {
	return damageError{fmt.Errorf("tensor %q: not in its files", name)}
}
