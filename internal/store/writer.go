package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// dirWriter writes a temporary file of its folder and renames it on Commit.
// google/renameio does the same but names its temporary file after the final
// one and does not sync the folder.
type dirWriter struct {
	file *os.File // nil once committed or aborted
	dir  dir
	name string // in messages
	to   string // the path it gets
	size int64
}

func (w *dirWriter) path() string { return w.dir.path(w.name) }

func (w *dirWriter) Write(p []byte) (n int, err error) {
	if err = at(StepWrite, w.path()); err != nil {
		n, _ = w.file.Write(p[:len(p)/2]) // as disks fail
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
	defer w.Abort() // where it went wrong before the rename
	for _, s := range []struct {
		step Step
		do   func() error
	}{
		{StepMode, func() error { return w.file.Chmod(0o666 &^ umask()) }}, // CreateTemp made it private
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

// sync makes the names in the folder durable, as far as its file system can:
// some of those that are reached over a network have no such call.
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
