package pipeline

import "pretext/internal/store"

// freeSpace returns the bytes available to an ordinary user on the file system of a
// local path. If the path does not exist, its nearest existing parent directory is
// used. ok is false if the number is unknown.
func freeSpace(path string) (bytes int64, ok bool) {
	if path, ok = store.Locate(store.Absolute(path)).Local(); !ok {
		return 0, false
	}
	return store.FreeSpace(path)
}
