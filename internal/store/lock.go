package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// LockName is the file that holds the lock of a local folder while a run works
// in it.
const LockName = ".lock"

// ErrLocked says that another process works in a folder.
var ErrLocked = errors.New("folder is in use")

// owner is what a lock file says of its holder, for the person who meets it.
type owner struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// Lock takes the lock of a folder, making the folder if there is none, and
// returns the function that gives it back. It does not wait: the error matches
// [ErrLocked] and names the holder. The lock of a process that was killed is
// free, since the system drops it. Folders that are not local have no lock.
func Lock(folder Folder) (unlock func(), err error) {
	d, ok := folder.(dir)
	if !ok {
		return func() {}, nil
	}
	if err := d.mkdir(); err != nil {
		return nil, err
	}
	path := filepath.Join(string(d), LockName)
	if err := at(StepLock, path); err != nil {
		return nil, fmt.Errorf("lock %s: %w", d, d.space(err, path, 0, 0))
	}
	for {
		l := flock.New(path)
		ok, err := l.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", d, d.space(err, path, 0, 0))
		}
		if !ok {
			l.Close()
			return nil, fmt.Errorf("%w: %s%s", ErrLocked, d, holder(path))
		}
		// The holder before us removed the file after we had opened it: what
		// we hold is not what others see.
		if !sameFile(l, path) {
			l.Close()
			continue
		}
		writeOwner(path)
		return func() {
			defer l.Close()
			if at(StepUnlock, path) == nil {
				os.Remove(path) // before the lock is dropped, so that nobody can hold a file that is about to go
			}
		}, nil
	}
}

func sameFile(l *flock.Flock, path string) bool {
	held, err := l.Stat()
	if err != nil {
		return false
	}
	seen, err := os.Stat(path)
	return err == nil && os.SameFile(held, seen)
}

func writeOwner(path string) {
	host, _ := os.Hostname()
	b, err := json.Marshal(owner{os.Getpid(), host, time.Now().UTC().Truncate(time.Second)})
	if err == nil && at(StepOwner, path) == nil {
		os.WriteFile(path, append(b, '\n'), 0o666) // for people only: no harm when it cannot be written
	}
}

func holder(path string) string {
	var o owner
	b, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(b, &o) != nil {
		return ""
	}
	return fmt.Sprintf(" (process %d on %s since %s)", o.PID, o.Host, o.Since.Format(time.RFC3339))
}
