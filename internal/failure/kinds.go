package failure

import (
	"context"
	"errors"
	"fmt"
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

// Names of kinds.
const (
	KindUsage   = "usage"
	KindNetwork = "network"
)

// A kind is one kind of errors.
type kind struct {
	name   string
	system bool // errors of the operating system: they have no method, and a [Report] has their number
	exit   int
	help   string // meaning of the exit code, for users; "" if another kind with this code has the text
	is     func(error) bool
	mark   func(error) error // wraps an error so that it is of this kind
}

// kinds lists all kinds. If an error is of several kinds, the first in the list applies: an
// interrupted download exits as interrupted, and a refused connection (EACCES) as a network
// error.
var kinds = []kind{
	{"interrupted", true, ExitInterrupted, "interrupted (run the same command again to resume)", matches(context.Canceled), with(context.Canceled)},
	{"locked", false, ExitLocked, "folder in use", has(func(e interface{ Locked() bool }) bool { return e.Locked() }),
		func(err error) error { return &locked{err} }},
	{"disk-full", true, ExitDiskFull, "disk full", matches(syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG), with(syscall.ENOSPC)},
	{KindNetwork, false, ExitNetwork, "network", has(func(e interface{ Network() bool }) bool { return e.Network() }),
		func(err error) error { return &network{error: err} }},
	{"permission", true, ExitPermission, "permission", matches(fs.ErrPermission, syscall.EROFS), with(fs.ErrPermission)},
	{"does-not-fit", false, ExitDoesNotFit, "does not fit in memory or on the disk", has(func(e interface{ DoesNotFit() bool }) bool { return e.DoesNotFit() }),
		func(err error) error { return &doesNotFit{err} }},
	{"over-limit", false, ExitOverLimit, "finished with more rejects than allowed, with warnings (--strict) or with records that a consumer would misread",
		has(func(e interface{ OverLimit() bool }) bool { return e.OverLimit() }), func(err error) error { return &overLimit{err} }},
	{"damaged", false, ExitDamaged, "corrupt data", IsDamaged, func(err error) error { return &damaged{err} }},
	{KindUsage, false, ExitUsage, "usage", IsUsage, Usage},
	{"missing", true, ExitUsage, "", matches(fs.ErrNotExist, syscall.ENOTDIR, syscall.EISDIR), with(fs.ErrNotExist)}, // a path given by the user
}

// IsUsage reports whether err means that the user made a mistake.
func IsUsage(err error) bool {
	return has(func(e interface{ Usage() bool }) bool { return e.Usage() })(err)
}

// IsDamaged reports whether err means that data is corrupt.
func IsDamaged(err error) bool {
	return has(func(e interface{ Damaged() bool }) bool { return e.Damaged() })(err)
}

// has returns a function that finds the first error of type E in an error's tree, and
// reports whether property is true for it.
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

// with returns a function that wraps an error together with target.
func with(target error) func(error) error {
	return func(err error) error { return fmt.Errorf("%w (%w)", err, target) }
}

// Kind returns the name of err's kind, or "" if it has none. Another process can pass the
// name to [OfKind] to make an error of the same kind.
func Kind(err error) string {
	for _, k := range kinds {
		if k.is(err) {
			return k.name
		}
	}
	return ""
}

// OfKind returns an error of the named kind that wraps err. If there is no such kind, it
// returns err.
func OfKind(name string, err error) error {
	for _, k := range kinds {
		if k.name == name {
			return k.mark(err)
		}
	}
	return err
}

// ExitCode returns the exit code for a program that ends with err. For nil it is ExitOK.
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

// ExitCodes returns the meanings of the exit codes for users: "0 ok, 1 other, …".
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
