package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// rename renames a file or a folder. It replaces an existing file. It also makes the new
// name durable, because Windows cannot sync a folder.
func rename(from, to string) error {
	return move(from, to, windows.MOVEFILE_REPLACE_EXISTING|windows.MOVEFILE_WRITE_THROUGH)
}

// renameNoReplace renames a file unless the new name exists; then the error
// matches [fs.ErrExist].
func renameNoReplace(from, to string) error { return move(from, to, windows.MOVEFILE_WRITE_THROUGH) }

func move(from, to string, flags uint32) error {
	a, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return err
	}
	b, err := windows.UTF16PtrFromString(to)
	if err == nil {
		err = windows.MoveFileEx(a, b, flags)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// exchange is not supported on this system.
func exchange(a, b string) error { return errors.ErrUnsupported }

// syncFolder does nothing: see rename.
func syncFolder(string) error { return nil }

// openToRead opens a file, which may be renamed and removed while it is open.
func openToRead(path string) (*os.File, error) {
	return openShared(path, windows.GENERIC_READ)
}

// createTemp creates a temporary file in a folder, which may be renamed and removed while
// it is open.
func createTemp(folder string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(folder, TempPrefix+"*")
		if err != nil {
			return nil, err
		}
		shared, err := openShared(f.Name(), windows.GENERIC_READ|windows.GENERIC_WRITE)
		f.Close()
		if err == nil || !errors.Is(err, os.ErrNotExist) { // ErrNotExist: Sweep of another process removed the file
			return shared, err
		}
	}
}
