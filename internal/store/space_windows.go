package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/windows"
)

// FreeSpace returns the bytes available to this user on path's file system; ok is
// false if they are unknown. If path does not exist, its nearest existing parent
// is used.
func FreeSpace(path string) (bytes int64, ok bool) {
	for {
		name, err := windows.UTF16PtrFromString(path)
		if err != nil {
			return 0, false
		}
		var n uint64
		if err = windows.GetDiskFreeSpaceEx(name, &n, nil, nil); err == nil {
			return int64(n), true
		}
		up := filepath.Dir(path)
		if !os.IsNotExist(err) || up == path {
			return 0, false
		}
		path = up
	}
}

// fileLimit returns -1: unknown on this system.
func fileLimit() int64 { return -1 }

// errno replaces Windows's error numbers for a full disk by those of other systems.
func errno(err error) error {
	for _, e := range []struct{ is, as syscall.Errno }{
		{windows.ERROR_DISK_FULL, syscall.ENOSPC}, {windows.ERROR_HANDLE_DISK_FULL, syscall.ENOSPC},
		{windows.ERROR_DISK_QUOTA_EXCEEDED, syscall.EDQUOT}, {windows.ERROR_FILE_TOO_LARGE, syscall.EFBIG},
	} {
		if !errors.Is(err, e.is) {
			continue
		}
		if p := (*fs.PathError)(nil); errors.As(err, &p) {
			return &fs.PathError{Op: p.Op, Path: p.Path, Err: e.as}
		}
		return e.as
	}
	return err
}
