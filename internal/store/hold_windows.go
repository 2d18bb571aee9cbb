package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// hold marks a file as used by this process until release is called or the process ends.
// Other processes may still rename and remove the file.
func hold(path string) (release func()) {
	f, err := openShared(path, windows.GENERIC_READ|windows.GENERIC_WRITE)
	if err != nil {
		return func() {}
	}
	if err := lockBeyond(f); err != nil {
		f.Close()
		return func() {}
	}
	return func() { f.Close() }
}

// isHeld reports whether a running process has marked a file with hold.
func isHeld(path string) bool {
	f, err := openShared(path, windows.GENERIC_READ|windows.GENERIC_WRITE)
	if err != nil {
		return errors.Is(err, windows.ERROR_SHARING_VIOLATION)
	}
	defer f.Close()
	return errors.Is(lockBeyond(f), windows.ERROR_LOCK_VIOLATION)
}

// openShared opens an existing file so that other processes may rename and remove it,
// which files opened by package os do not allow.
func openShared(path string, access uint32) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := windows.CreateFile(name, access,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// lockBeyond locks one byte far beyond the end of the file, because on Windows other
// processes cannot read locked bytes. It does not wait.
func lockBeyond(f *os.File) error {
	beyond := windows.Overlapped{Offset: 1<<32 - 1, OffsetHigh: 1<<31 - 1}
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &beyond)
}
