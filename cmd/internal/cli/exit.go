package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"pretext/internal/config"
	"pretext/internal/store"
)

// The exit codes of all programs of the module, as docs/commands.md lists them.
const (
	ExitOK          = 0
	ExitOther       = 1
	ExitUsage       = 2
	ExitRejects     = 3
	ExitDamaged     = 4
	ExitNetwork     = 5
	ExitDiskFull    = 6
	ExitPermission  = 7
	ExitLocked      = 8
	ExitDoesNotFit  = 9
	ExitInterrupted = 130
)

// A Cause is an exit code with the errors that have it.
type Cause struct {
	Code int
	Is   []error          // any of them
	As   func(error) bool // nil: none
}

// Program is what a program adds to the causes that all have. The first one that
// fits decides, in this order: an interruption, a lock, a full disk, First, a
// permission, Then, corrupt data and usage by the methods of errors, and files that
// are not there.
type Program struct {
	Name  string // before every message
	First []Cause
	Then  []Cause

	// Advice, where it is not nil, changes the message of an error by its code.
	Advice func(code int, err error, message string) string
}

func (p Program) causes() []Cause {
	return slices.Concat(
		[]Cause{
			{Code: ExitInterrupted, Is: []error{context.Canceled}},
			{Code: ExitLocked, Is: []error{store.ErrLocked}},
			{Code: ExitDiskFull, Is: []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}},
		},
		p.First,
		[]Cause{{Code: ExitPermission, Is: []error{fs.ErrPermission, syscall.EROFS}}},
		p.Then,
		[]Cause{
			{Code: ExitDamaged, As: Damaged},
			{Code: ExitUsage, As: usage},
			{Code: ExitUsage, As: AsAny[*config.Error]},
			{Code: ExitUsage, Is: []error{fs.ErrNotExist, store.ErrNotFile, syscall.ENOTDIR, syscall.EISDIR}},
		},
	)
}

// Damaged reports whether err, or an error that it wraps, marks corrupt data.
func Damaged(err error) bool {
	var e interface{ Damaged() bool }
	return errors.As(err, &e) && e.Damaged()
}

// usage reports whether err, or an error that it wraps, marks wrong options.
func usage(err error) bool {
	var e interface{ Usage() bool }
	return errors.As(err, &e) && e.Usage()
}

// AsAny reports whether an error of type E is in the chain of one.
func AsAny[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// Code returns the exit code of an error.
func (p Program) Code(err error) int {
	if err == nil {
		return ExitOK
	}
	for _, c := range p.causes() {
		is := func(target error) bool { return errors.Is(err, target) }
		if slices.ContainsFunc(c.Is, is) || c.As != nil && c.As(err) {
			return c.Code
		}
	}
	return ExitOther
}

// Report writes the one line that says what went wrong, with what to do where
// that can be told, and returns the exit code of the process.
func (p Program) Report(stderr io.Writer, err error) int {
	if err == nil {
		return ExitOK
	}
	code := p.Code(err)
	message := strings.TrimSpace(err.Error())
	switch code {
	case ExitInterrupted:
		message = "interrupted: run the same command again to resume"
	case ExitUsage:
		message += " (see --help)"
	case ExitDiskFull:
		message += ": free some space and run the same command again"
	}
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		message += ": allow more open files (ulimit -n)"
	}
	if p.Advice != nil {
		message = p.Advice(code, err, message)
	}
	fmt.Fprintf(stderr, "%s: %s\n", p.Name, OneLine(message))
	return code
}
