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
	_, unlock, err = lock(folder)
	return unlock, err
}

// A RemovedError says that somebody removed a folder while a run worked in it. It
// does not wrap its cause, which speaks of a file that the run itself had made.
type RemovedError struct {
	Folder string
	Err    error // what the run met; nil where it met nothing
}

func (e *RemovedError) Error() string {
	message := fmt.Sprintf("%s was removed, or files in it, while this run worked there", e.Folder)
	if e.Err != nil {
		message += fmt.Sprintf(" (%v)", e.Err)
	}
	return message + ": run the same command again"
}

// Hold does work while it holds the lock of a folder. The error is a [RemovedError]
// where the folder, or its lock file, has been removed meanwhile.
func Hold(folder Folder, work func() error) error {
	intact, unlock, err := lock(folder)
	if err != nil {
		return err
	}
	defer unlock()
	err = work()
	if errors.Is(err, context.Canceled) || errors.As(err, new(*RemovedError)) {
		return err
	}
	if !intact() { // where the work succeeded too: what it made first may be gone
		return &RemovedError{Folder: folder.String(), Err: err}
	}
	return err
}

// lock is Lock; intact reports whether the lock file is still in the folder.
func lock(folder Folder) (intact func() bool, unlock func(), err error) {
	d, ok := folder.(dir)
	if !ok {
		return func() bool { return true }, func() {}, nil
	}
	if err := d.mkdir(); err != nil {
		return nil, nil, err
	}
	path := filepath.Join(string(d), LockName)
	if err := at(StepLock, path); err != nil {
		return nil, nil, fmt.Errorf("lock %s: %w", d, d.space(err, path, 0, 0))
	}
	for {
		l := flock.New(path)
		ok, err := l.TryLock()
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, &RemovedError{Folder: d.String(), Err: err}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("lock %s: %w", d, d.space(err, path, 0, 0))
		}
		if !ok {
			l.Close()
			return nil, nil, fmt.Errorf("%w: %s%s", ErrLocked, d, holder(path))
		}
		// The holder before us removed the file after we had opened it: what
		// we hold is not what others see.
		if !sameFile(l, path) {
			l.Close()
			continue
		}
		writeOwner(path)
		return func() bool { return sameFile(l, path) }, func() {
			defer l.Close()
			if at(StepUnlock, path) == nil && sameFile(l, path) { // the lock of a run that came after a removal is not ours
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
