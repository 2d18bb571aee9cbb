package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pretext/internal/failure"
)

// LockName is the name of the lock file in a local folder.
const LockName = ".lock"

// ErrLocked is returned if another process has locked the folder.
var ErrLocked = failure.Locked("folder is in use")

// owner is the content of a lock file, for error messages.
type owner struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// held is a lock that this process has acquired.
type held struct {
	intact func() error // returns an error if the lock was removed or taken over
	unlock func()
	made   []dir // the folders that were created for it, the deepest first
}

// Lock locks a folder, creating it if necessary, and returns the function that
// unlocks it. It does not wait: if another process has the lock, the error
// matches [ErrLocked] and names that process. If a process is killed, the system
// releases its lock; in an object store the lock expires after a minute.
func Lock(folder Folder) (unlock func(), err error) {
	h, err := folder.lock()
	return h.unlock, err
}

// A RemovedError reports that another program removed the folder of a run in progress. It
// does not wrap Err, the error that the run got from one of its files as a consequence.
type RemovedError struct {
	Folder string
	Err    error // the error of the run, nil if there was none
}

func (e *RemovedError) Error() string {
	message := fmt.Sprintf("%s was removed, or files in it, while this run worked there", e.Folder)
	if e.Err != nil {
		message += fmt.Sprintf(" (%v)", e.Err)
	}
	return message + ": run the same command again"
}

// Hold locks a folder, calls work and unlocks the folder. The error is a
// [RemovedError] if the folder or its lock file was removed meanwhile. If work fails
// and leaves nothing in a folder that Hold created, the folder is removed again.
func Hold(folder Folder, work func() error) (err error) {
	h, err := folder.lock()
	if err != nil {
		return err
	}
	defer func() {
		h.unlock()
		if err != nil {
			removeEmpty(h.made)
		}
	}()
	err = work()
	if errors.Is(err, context.Canceled) || errors.As(err, new(*RemovedError)) {
		return err
	}
	lost := h.intact() // also if work succeeded: files that it wrote may have been removed
	if removed := (*RemovedError)(nil); errors.As(lost, &removed) {
		return &RemovedError{Folder: removed.Folder, Err: err}
	}
	if lost != nil {
		return lost
	}
	return err
}

// removeEmpty removes folders until one of them is not empty.
func removeEmpty(folders []dir) {
	for _, d := range folders {
		if os.Remove(string(d)) != nil {
			return
		}
	}
}

func (d dir) lock() (held, error) {
	made := d.missing()
	if err := d.mkdir(); err != nil {
		return held{}, err
	}
	path := filepath.Join(string(d), LockName)
	if err := at(StepLock, path); err != nil {
		return held{}, fmt.Errorf("lock %s: %w", d, d.space(err, path, 0, 0))
	}
	for {
		l, ok, err := tryLock(path)
		if errors.Is(err, fs.ErrNotExist) {
			return held{}, &RemovedError{Folder: d.String(), Err: err}
		}
		if err != nil {
			return held{}, fmt.Errorf("lock %s: %w", d, d.space(err, path, 0, 0))
		}
		if !ok {
			return held{}, fmt.Errorf("%w: %s%s", ErrLocked, d, holder(path))
		}
		// The previous owner may have removed the lock file after we opened it. In
		// that case we have locked a file that other processes cannot see.
		if !sameFile(l, path) {
			l.Close()
			continue
		}
		writeOwner(path)
		h := d.held(l, path)
		h.made = made
		return h, nil
	}
}

func (d dir) held(l lockFile, path string) held {
	return held{
		intact: func() error {
			if sameFile(l, path) {
				return nil
			}
			return &RemovedError{Folder: d.String()}
		},
		unlock: func() {
			defer l.Close()                                       // also after a panic; closing twice does nothing
			if at(StepUnlock, path) == nil && sameFile(l, path) { // after a removal, path may be another run's lock
				l.remove(path)
			}
		},
	}
}

func sameFile(l lockFile, path string) bool {
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
		os.WriteFile(path, append(b, '\n'), 0o666) // informational only, so errors are ignored
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
