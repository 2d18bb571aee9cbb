package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// A dirWriter writes a temporary file and renames it on Commit. The library
// google/renameio does the same, but its temporary names contain the final name
// and it does not sync the folder.
type dirWriter struct {
	file *os.File // nil once committed or aborted
	dir  dir
	name string // final name, for errors
	to   string // final path
	size int64
}

func (w *dirWriter) path() string { return w.dir.path(w.name) }

func (w *dirWriter) Write(p []byte) (n int, err error) {
	if err = at(StepWrite, w.path()); err != nil {
		n, _ = w.file.Write(p[:len(p)/2]) // a simulated failure writes half, as a full disk may
	} else {
		n, err = w.file.Write(p)
	}
	w.size += int64(n)
	return n, w.dir.space(named(err, "write", w.path()), w.path(), int64(len(p)-n), w.size)
}

func (w *dirWriter) Commit() error {
	if w.file == nil {
		return fmt.Errorf("commit %s: already closed", w.path())
	}
	defer w.Abort() // removes the file if a step before the rename fails
	for _, s := range []struct {
		step Step
		do   func() error
	}{
		{StepMode, func() error { return w.file.Chmod(0o666 &^ umask()) }}, // CreateTemp creates it with mode 0600
		{StepSync, w.file.Sync},
		{StepClose, w.file.Close},
		{StepRename, func() error { return os.Rename(w.file.Name(), w.to) }},
	} {
		err := at(s.step, w.path())
		if err == nil {
			err = s.do()
		}
		if err != nil {
			return w.dir.space(named(err, string(s.step), w.path()), w.path(), 0, w.size)
		}
	}
	w.file = nil
	return w.dir.sync()
}

func (w *dirWriter) Abort() {
	if w.file == nil {
		return
	}
	discard(w.file, w.path())
	w.file = nil
}

// sync makes the names in the folder durable. On network file systems that do
// not support this, it ignores the error.
func (d dir) sync() error {
	if err := at(StepSyncFolder, string(d)); err != nil {
		return err
	}
	return syncFolder(string(d))
}

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
