//go:build !windows

package store

import (
	"os"

	"github.com/gofrs/flock"
)

// A lockFile is an open lock file.
type lockFile struct{ *flock.Flock }

// tryLock locks the file at path, creating it if necessary. ok is false if another
// process has locked it.
func tryLock(path string) (l lockFile, ok bool, err error) {
	f := flock.New(path)
	if ok, err = f.TryLock(); !ok {
		f.Close()
		return lockFile{}, false, err
	}
	return lockFile{f}, true, nil
}

// remove removes the lock file and then unlocks it. In the other order, another process
// could lock a file that is about to be removed.
func (l lockFile) remove(path string) {
	os.Remove(path)
	l.Close()
}
