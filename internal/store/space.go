package store

import (
	"errors"
	"fmt"
	"syscall"
)

// A SpaceError says that a disk, a quota or a limit on files takes no more, and
// how much was asked of how much. It wraps the system's error.
type SpaceError struct {
	Path string // of the file that was written
	Need int64  // bytes: what the write asked for, or what a stage knows that it still needs
	Free int64  // bytes that its disk had left for this user; below a limit on files, that this one had
	Err  error
}

// Error puts both figures behind the system's words.
func (e *SpaceError) Error() string {
	text := fmt.Sprintf("%v: %d bytes needed, %d free", e.Err, e.Need, e.Free)
	if limit := fileLimit(); errors.Is(e.Err, syscall.EFBIG) && limit >= 0 {
		text += fmt.Sprintf(" (no file may have more than %d bytes here: ulimit -f)", limit)
	}
	return text
}

// Unwrap returns the system's error.
func (e *SpaceError) Unwrap() error { return e.Err }

// blockBytes is what the smallest file takes of most disks.
const blockBytes = 4096

// space makes a [SpaceError] of an error that says that there is none. The
// write asked for so many bytes, 0 where that is not known, at an offset of its
// file.
func (d dir) space(err error, path string, need, offset int64) error {
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	large := errors.Is(err, syscall.EFBIG)
	if !full && !large {
		return err
	}
	e := &SpaceError{Path: path, Need: max(need, blockBytes), Free: free(string(d)), Err: err}
	if limit := fileLimit(); large && limit >= 0 {
		e.Free = min(e.Free, max(0, limit-offset))
	}
	return e
}
