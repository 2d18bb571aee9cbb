package store

import (
	"errors"
	"fmt"
	"syscall"
)

// A SpaceError reports that a write exceeds the free space of a disk, a quota
// or the limit on file size. It wraps the system's error.
type SpaceError struct {
	Path string // path of the file that was being written
	Need int64  // bytes needed by the failed write; by the rest of the stage, if known
	Free int64  // bytes that this user can still write, by free disk space and file size limit
	Err  error
}

// Error returns the system's message with both figures.
func (e *SpaceError) Error() string {
	text := fmt.Sprintf("%v: %d bytes needed, %d free", e.Err, e.Need, e.Free)
	if limit := fileLimit(); errors.Is(e.Err, syscall.EFBIG) && limit >= 0 {
		text += fmt.Sprintf(" (no file may have more than %d bytes here: ulimit -f)", limit)
	}
	return text
}

// Unwrap returns the system's error.
func (e *SpaceError) Unwrap() error { return e.Err }

// blockBytes is the disk space that the smallest file takes on most disks, in
// bytes.
const blockBytes = 4096

// space converts ENOSPC, EDQUOT and EFBIG to a [SpaceError] and returns other
// errors unchanged. need is the size of the failed write, 0 if unknown; offset
// is its offset in the file. It takes four parameters because they describe one
// failed write and are used together nowhere else.
func (d dir) space(err error, path string, need, offset int64) error {
	err = errno(err)
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	large := errors.Is(err, syscall.EFBIG)
	if !full && !large {
		return err
	}
	free, _ := FreeSpace(string(d))
	e := &SpaceError{Path: path, Need: max(need, blockBytes), Free: free, Err: err}
	if limit := fileLimit(); large && limit >= 0 {
		e.Free = min(e.Free, max(0, limit-offset))
	}
	return e
}
