// Package failure defines kinds of errors, such as wrong usage or corrupt data. An error
// declares its kind by a method, and programs choose their exit code by kind. An error keeps
// its kind when it is wrapped, and when it is reported to another process. kinds.go lists
// the kinds.
//
// The functions of this package make sentinel errors. An error type with fields declares
// the method itself:
//
//	var ErrCorrupt = failure.Damaged("corrupt TFRecord data")
//
//	var e interface{ Damaged() bool }
//	isDamaged := errors.As(err, &e) && e.Damaged()
package failure

import (
	"errors"
	"fmt"
)

type (
	usage   struct{ error }
	damaged struct{ error }
	network struct {
		error
		lasting bool
	}
	overLimit  struct{ error }
	lasting    struct{ error }
	locked     struct{ error }
	doesNotFit struct{ error }
)

// Damaged returns an error for corrupt data. Like an error of errors.New, it
// matches only itself in [errors.Is].
func Damaged(text string) error { return &damaged{errors.New(text)} }

// Network returns an error for a failed download. It matches only itself in
// [errors.Is].
func Network(text string) error { return &network{error: errors.New(text)} }

// Refused returns an error like [Network], for a request that would be refused again, so
// that a retry is useless. Its method Lasting returns true.
func Refused(text string) error { return &network{errors.New(text), true} }

// Locked returns an error for a directory in use. It matches only itself in
// [errors.Is].
func Locked(text string) error { return &locked{errors.New(text)} }

// Lasting returns an error that a retry of the same work cannot avoid. It has no kind. It
// matches only itself in [errors.Is].
func Lasting(text string) error { return &lasting{errors.New(text)} }

// DoesNotFit returns an error for a machine with too little memory or disk
// space. It matches only itself in [errors.Is].
func DoesNotFit(text string) error { return &doesNotFit{errors.New(text)} }

// Usage returns an error that wraps err and marks it as wrong usage.
func Usage(err error) error { return &usage{err} }

// Usagef returns an error for wrong usage. It formats as [fmt.Errorf] does.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

func (u *usage) Unwrap() error { return u.error }

func (*usage) Usage() bool           { return true }
func (*damaged) Damaged() bool       { return true }
func (*network) Network() bool       { return true }
func (n *network) Lasting() bool     { return n.lasting }
func (n *network) Unwrap() error     { return n.error }
func (*lasting) Lasting() bool       { return true }
func (*overLimit) OverLimit() bool   { return true }
func (o *overLimit) Unwrap() error   { return o.error }
func (d *damaged) Unwrap() error     { return d.error }
func (l *locked) Unwrap() error      { return l.error }
func (d *doesNotFit) Unwrap() error  { return d.error }
func (*locked) Locked() bool         { return true }
func (*doesNotFit) DoesNotFit() bool { return true }
