package cli

import (
	"io/fs"
	"os"

	"pretext/internal/failure"
	"pretext/internal/store"
)

// CheckFolder returns a usage error if the path given with a flag exists and is not a
// directory, because nothing could be written to it. It accepts "" and locations in
// an object store.
func CheckFolder(flag, path string) error {
	local, ok := store.Locate(path).Local()
	if !ok || path == "" {
		return nil
	}
	info, err := os.Stat(local)
	if err != nil {
		link, err := os.Lstat(local)
		if err != nil {
			return nil // it will be made
		}
		if link.Mode()&fs.ModeSymlink != 0 {
			return failure.Usagef("--%s %s: a symbolic link that leads to no folder: give a folder", flag, path)
		}
		info = link // another process made it just now
	}
	if !info.IsDir() {
		return failure.Usagef("--%s %s: %s: give a folder", flag, path, store.ModeName(info.Mode()))
	}
	return nil
}
