package comm

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"pretext/internal/failure"
)

// A RankError reports which rank failed and why; it ends all ranks of a run. It wraps
// an error of the same kind as the failed rank's error (usage, corrupt data, …; see
// internal/failure), or of the kind of network errors if the rank was lost.
type RankError struct {
	Rank   int
	Host   string // the rank's host name; "" if it never arrived
	Reason string
	kind   string // see [failure.Kind]
}

// Error names the rank, its host and the reason.
func (e *RankError) Error() string {
	if e.Host == "" {
		return fmt.Sprintf("rank %d: %s", e.Rank, e.Reason)
	}
	return fmt.Sprintf("rank %d (%s): %s", e.Rank, e.Host, e.Reason)
}

// Unwrap returns an error of the kind of the failure.
func (e *RankError) Unwrap() error { return failure.OfKind(e.kind, errRank) }

var errRank = errors.New("a rank failed")

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
