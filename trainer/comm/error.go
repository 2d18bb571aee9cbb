package comm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"pretext/internal/failure"
)

// A RankError reports why all ranks of a run end: which rank failed and how. It
// wraps an error of the kind of that rank's error (usage, corrupt data, …; see
// internal/failure), or of the network's kind if the rank was lost.
type RankError struct {
	Rank   int
	Host   string // the rank's host name; "" if it never arrived
	Reason string
	kind   string // a key of kinds
}

// Error names the rank, its host and the reason.
func (e *RankError) Error() string {
	if e.Host == "" {
		return fmt.Sprintf("rank %d: %s", e.Rank, e.Reason)
	}
	return fmt.Sprintf("rank %d (%s): %s", e.Rank, e.Host, e.Reason)
}

// Unwrap returns an error of the kind of the failure.
func (e *RankError) Unwrap() error { return kinds[e.kind] }

// kinds maps the kind of a rank's error, as sent to the other ranks, to an error that
// gives them the same exit code.
var kinds = map[string]error{
	kindNetwork:    failure.Network("a rank was lost"),
	kindUsage:      failure.Usage(errors.New("a rank was started wrongly")),
	"damaged":      failure.Damaged("a rank found corrupt data"),
	"locked":       failure.Locked("a rank found its directory in use"),
	"does not fit": failure.DoesNotFit("a rank has too little memory"),
	"disk full":    syscall.ENOSPC,
	"permission":   fs.ErrPermission,
	"interrupted":  context.Canceled,
}

const (
	kindNetwork = "network"
	kindUsage   = "usage"
)

// kindOf returns the key in kinds for err; "" if there is none.
func kindOf(err error) string {
	var (
		network interface{ Network() bool }
		usage   interface{ Usage() bool }
		damaged interface{ Damaged() bool }
		locked  interface{ Locked() bool }
		big     interface{ DoesNotFit() bool }
	)
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.As(err, &usage) && usage.Usage():
		return kindUsage
	case errors.As(err, &damaged) && damaged.Damaged():
		return "damaged"
	case errors.As(err, &locked) && locked.Locked():
		return "locked"
	case errors.As(err, &big) && big.DoesNotFit():
		return "does not fit"
	case errors.Is(err, syscall.ENOSPC):
		return "disk full"
	case errors.Is(err, fs.ErrPermission):
		return "permission"
	case errors.As(err, &network) && network.Network():
		return kindNetwork
	}
	return ""
}

// errClosed is returned by collectives after Close.
var errClosed = errors.New("the group of ranks is closed")

// isReset reports whether err means that the other side closed the connection without
// a clean end.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrUnexpectedEOF)
}

// shorten returns s, cut to its first n bytes and "…" if s is longer.
func shorten(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}
