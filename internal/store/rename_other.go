//go:build !windows

package store

import (
	"errors"
	"os"
	"syscall"
)

// rename renames a file or a folder. A file that exists is replaced.
func rename(from, to string) error { return os.Rename(from, to) }

// syncFolder makes the names in a folder durable. On network file systems that do
// not support this, it ignores the error.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// openToRead opens a file.
func openToRead(path string) (*os.File, error) { return os.Open(path) }

// createTemp creates a temporary file in a folder.
func createTemp(folder string) (*os.File, error) { return os.CreateTemp(folder, TempPrefix+"*") }
