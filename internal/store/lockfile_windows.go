package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// A lockFile is an open lock file. It does not use the library gofrs/flock, which locks the
// first byte: on Windows no process could then read the owner from the file.
type lockFile struct{ *os.File }

// tryLock locks the file at path, creating it if necessary. ok is false if another
// process has locked it.
func tryLock(path string) (l lockFile, ok bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666) // Windows does not remove a file that is open
	if err != nil {
		return lockFile{}, false, err
	}
	err = lockBeyond(f)
	if err == nil {
		return lockFile{f}, true, nil
	}
	f.Close()
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return lockFile{}, false, nil
	}
	return lockFile{}, false, &os.PathError{Op: "lock", Path: path, Err: err}
}

// remove unlocks and removes the lock file. If another process has opened it meanwhile, the
// file remains.
func (l lockFile) remove(path string) {
	l.Close()
	os.Remove(path)
}
