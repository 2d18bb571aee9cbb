// Package damage makes the errors that mark corrupt data. Errors that wrap one are
// recognized by its method, without a list of them:
//
//	var ErrCorrupt = damage.New("corrupt TFRecord data")
//
//	var e interface{ Damaged() bool }
//	isDamage := errors.As(err, &e) && e.Damaged()
package damage

type damage struct{ text string }

// New returns an error with a message. It equals itself alone, as those of
// errors.New do.
func New(text string) error { return &damage{text} }

func (d *damage) Error() string { return d.text }

// Damaged marks corrupt data for exit codes.
func (*damage) Damaged() bool { return true }
