package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// ErrDamaged is matched by the error of files that are not what they should be:
// cut, changed, or never a checkpoint. What the system refuses, and a sound
// model of a kind that is not computed here, does not match.
var ErrDamaged = errors.New("damaged")

// A damage matches [ErrDamaged] and says no more than its cause.
type damage struct{ error }

func (d damage) Unwrap() []error { return []error{d.error, ErrDamaged} }

// damaged marks an error of reading files, unless it is the system's.
func damaged(err error) error {
	var path *fs.PathError
	switch {
	case err == nil, errors.Is(err, ErrDamaged):
		return err
	case errors.As(err, &path) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return damage{err}
}

// damagedJSON marks an error that no valid JSON of the right types has.
func damagedJSON(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) {
		return damaged(err)
	}
	return err
}

// lost marks the error of a file that must be there and is not.
func lost(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return damage{fmt.Errorf("%s: missing, the checkpoint is not whole", name)}
	}
	return err
}
