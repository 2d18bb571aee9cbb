package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"pretext/internal/failure"
)

// ErrDamaged is matched by errors about a file that is truncated, corrupt or not
// a checkpoint. Errors of the file system, and errors about valid models of an
// unsupported kind, do not match.
var ErrDamaged = failure.Damaged("damaged")

// A damageError makes an error also match [ErrDamaged], without changing its text.
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

// missing returns the error for a required file that could not be read. err is the
// cause. If the file does not exist, the result names the file and matches
// [ErrDamaged]; otherwise it is err.
func missing(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return damageError{fmt.Errorf("%s: missing: the checkpoint is incomplete", name)}
	}
	return err
}

// noTensor returns the error for a tensor that is missing in the files of a model. The
// error matches [ErrDamaged].
func noTensor(name string) error {
	return damageError{fmt.Errorf("tensor %q: not in its files", name)}
}
