package failure

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// The exit codes of all programs of the module.
const (
	ExitOK          = 0
	ExitOther       = 1
	ExitUsage       = 2
	ExitOverLimit   = 3
	ExitDamaged     = 4
	ExitNetwork     = 5
	ExitDiskFull    = 6
	ExitPermission  = 7
	ExitLocked      = 8
	ExitDoesNotFit  = 9
	ExitInterrupted = 130
)

// A kind is one kind of errors.
type kind struct {
	name string // for a report from another process; "": the operating system's errors, of which the number is reported
	exit int
	help string // the exit code's meaning, for users; "": an earlier entry has it
	is   func(error) bool
	mark func(error) error // returns the error with the method of the kind; nil if name is ""
}

// kinds lists all kinds. The first that an error is of decides, so the order matters: an
// interrupted download exits as interrupted, and a refused connection (EACCES) as a
// network error.
var kinds = []kind{
	{"", ExitInterrupted, "interrupted (run the same command again to resume)", matches(context.Canceled), nil},
	{"locked", ExitLocked, "folder in use", has(func(e interface{ Locked() bool }) bool { return e.Locked() }),
		func(err error) error { return &locked{err} }},
	{"", ExitDiskFull, "disk full", matches(syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG), nil},
	{"network", ExitNetwork, "network", has(func(e interface{ Network() bool }) bool { return e.Network() }),
		func(err error) error { return &network{error: err} }},
	{"", ExitPermission, "permission", matches(fs.ErrPermission, syscall.EROFS), nil},
	{"does-not-fit", ExitDoesNotFit, "does not fit in memory or on the disk", has(func(e interface{ DoesNotFit() bool }) bool { return e.DoesNotFit() }),
		func(err error) error { return &doesNotFit{err} }},
	{"over-limit", ExitOverLimit, "finished with more rejects than allowed or, with --strict, with warnings",
		has(func(e interface{ OverLimit() bool }) bool { return e.OverLimit() }), func(err error) error { return &overLimit{err} }},
	{"damaged", ExitDamaged, "corrupt data", has(func(e interface{ Damaged() bool }) bool { return e.Damaged() }),
		func(err error) error { return &damaged{err} }},
	{"usage", ExitUsage, "usage", has(func(e interface{ Usage() bool }) bool { return e.Usage() }), Usage},
	{"", ExitUsage, "", matches(fs.ErrNotExist, syscall.ENOTDIR, syscall.EISDIR), nil}, // a path that was given
}

// has returns a function that reports whether the first E in an error's tree has
// the property.
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

// ExitCode returns the exit code of a program that ends with err; ExitOK for nil.
func ExitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	for _, k := range kinds {
		if k.is(err) {
			return k.exit
		}
	}
	return ExitOther
}

// ExitCodes returns what the exit codes mean, as text for users: "0 ok, 1 other, …".
func ExitCodes() string {
	list := []kind{{exit: ExitOK, help: "ok"}, {exit: ExitOther, help: "other"}}
	for _, k := range kinds {
		if k.help != "" {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b kind) int { return a.exit - b.exit })
	var texts []string
	for _, k := range list {
		texts = append(texts, strconv.Itoa(k.exit)+" "+k.help)
	}
	return strings.Join(texts, ", ")
}
