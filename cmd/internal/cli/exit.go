package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
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

// Program names a program and may add advice to its errors.
type Program struct {
	Name string // before every message

	// Advice, if not nil, returns the message to print for err, whose exit code is code.
	// It may add a hint to message, which is the default.
	Advice func(code int, err error, message string) string
}

// causes maps errors to exit codes. The first entry that matches an error decides, so the
// order matters: an interrupted download exits as interrupted, and a refused connection
// (EACCES) as a network error. The methods are implemented by package failure's errors.
var causes = []struct {
	code int
	is   func(error) bool
}{
	{ExitInterrupted, matches(context.Canceled)},
	{ExitLocked, has(func(e interface{ Locked() bool }) bool { return e.Locked() })},
	{ExitDiskFull, matches(syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG)},
	{ExitNetwork, has(func(e interface{ Network() bool }) bool { return e.Network() })},
	{ExitPermission, matches(fs.ErrPermission, syscall.EROFS)},
	{ExitDoesNotFit, has(func(e interface{ DoesNotFit() bool }) bool { return e.DoesNotFit() })},
	{ExitRejects, has(func(e interface{ OverLimit() bool }) bool { return e.OverLimit() })},
	{ExitDamaged, has(func(e interface{ Damaged() bool }) bool { return e.Damaged() })},
	{ExitUsage, has(func(e interface{ Usage() bool }) bool { return e.Usage() })},
	{ExitUsage, matches(fs.ErrNotExist, syscall.ENOTDIR, syscall.EISDIR)}, // a path that was given
}

// has returns a function that reports whether the first E in an error's tree has the
// property.
func has[E any](property func(E) bool) func(error) bool {
	return func(err error) bool {
		var e E
		return errors.As(err, &e) && property(e)
	}
}

// matches returns a function that reports whether an error is any of targets.
func matches(targets ...error) func(error) bool {
	return func(err error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
}

// Code returns the exit code for an error; ExitOK for nil.
func Code(err error) int {
	if err == nil {
		return ExitOK
	}
	for _, c := range causes {
		if c.is(err) {
			return c.code
		}
	}
	return ExitOther
}

// withoutOperation returns message, the text of err, without the name of the system call
// that failed on a path: "stat x: no such file or directory" has no use for "stat".
func withoutOperation(err error, message string) string {
	var path *fs.PathError
	if !errors.As(err, &path) || Code(path) != ExitUsage {
		return message
	}
	return strings.Replace(message, path.Error(), path.Path+": "+path.Err.Error()+pathCure(path.Path), 1)
}

// pathCure returns what to do about a path that does not exist, if its name shows that.
func pathCure(path string) string {
	switch first, _, _ := strings.Cut(path, ","); {
	case strings.HasPrefix(path, "~"):
		return ": the shell replaces ~ only at the beginning of a word without quotes"
	case strings.Trim(path, `'"`) != path:
		return ": write it without the quotes"
	case os.PathSeparator == '/' && strings.Contains(path, `\`):
		return `: write / instead of \`
	case first != path && exists(first):
		return ": give each file with a flag of its own"
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Report writes an error as one line, with advice where there is some, and returns
// the exit code of the process.
func (p Program) Report(stderr io.Writer, err error) int {
	if err == nil {
		return ExitOK
	}
	code := Code(err)
	message := withoutOperation(err, strings.TrimSpace(err.Error()))
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
