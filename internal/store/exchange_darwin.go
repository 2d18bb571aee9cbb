package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange swaps two paths atomically. If the file system cannot, the error
// matches [errors.ErrUnsupported].
func exchange(a, b string) error { return renameWith("exchange", a, b, unix.RENAME_SWAP) }

// renameNoReplace renames a file unless the new name exists; then the error
// matches [fs.ErrExist]. If the file system cannot, it matches
// [errors.ErrUnsupported].
func renameNoReplace(from, to string) error { return renameWith("rename", from, to, unix.RENAME_EXCL) }

func renameWith(op, from, to string, flag uint32) error {
	err := unix.RenamexNp(from, to, flag)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOTSUP):
		return errors.ErrUnsupported
	}
	return &os.LinkError{Op: op, Old: from, New: to, Err: err}
}
