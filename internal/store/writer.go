package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// A dirWriter writes a temporary file and gives it its final name. The library
// google/renameio does the same, but its temporary names contain the final name
// and it does not sync the folder.
type dirWriter struct {
	file    *os.File    // nil once closed
	temp    string      // path of the temporary file; "" once committed or aborted
	made    fs.FileInfo // the committed file; nil before, and if another writer committed equal content
	release func()      // removes the mark on temp, see [hold]
	dir     dir
	name    string // final name, for errors
	to      string // final path
	size    int64
	ahead   reservation
	behind  writeback
	past    direct
}

func (d dir) newWriter(t *tempFile, name, to string) *dirWriter {
	return &dirWriter{file: t.File, temp: t.Name(), release: t.release, dir: d, name: name, to: to}
}

func (w *dirWriter) path() string { return w.dir.path(w.name) }

func (w *dirWriter) Write(p []byte) (n int, err error) {
	if err = at(StepWrite, w.path()); err != nil {
		n, _ = w.file.Write(p[:len(p)/2]) // a simulated failure writes half, as a full disk may
	} else {
		w.ahead.extend(w.file, w.size, int64(len(p)))
		n, err = w.past.write(w.file, w.size, p)
	}
	w.size += int64(n)
	if err == nil {
		w.behind.begin(w.file, w.size)
	}
	return n, w.dir.space(named(err, "write", w.path()), w.path(), int64(len(p)-n), w.size)
}

func (w *dirWriter) Commit() error {
	if err := w.complete(); err != nil {
		w.Abort()
		return err
	}
	err := w.step(StepRename, func() error { return renameIfAbsent(w.temp, w.to) })
	if errors.Is(err, fs.ErrExist) {
		same, err := sameContent(w.temp, w.to)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			w.Abort()
			return named(err, "commit", w.path())
		case same:
			w.Abort()
			return w.dir.sync() // the writer of the existing file may have been killed before it synced the folder
		}
		return &fs.PathError{Op: "commit", Path: w.path(), Err: fs.ErrExist}
	}
	return w.committed(err)
}

func (w *dirWriter) Replace(old fs.FileInfo) error {
	if err := w.complete(); err != nil {
		w.Abort()
		return err
	}
	if old != nil {
		err := w.dir.removeIf(w.name, w.to, old)
		if errors.Is(err, fs.ErrExist) {
			return err
		}
		if err != nil {
			w.Abort()
			return err
		}
		return w.Commit()
	}
	return w.committed(w.step(StepRename, func() error { return rename(w.temp, w.to) }))
}

// complete makes the content of the temporary file durable and closes it.
func (w *dirWriter) complete() error {
	if w.temp == "" {
		return fmt.Errorf("commit %s: already closed", w.path())
	}
	if w.file == nil { // closed by an earlier Commit that found another file of this name
		return nil
	}
	w.ahead.trim(w.file, w.size)
	for _, s := range []struct {
		step Step
		do   func() error
	}{
		{StepMode, func() error { return w.file.Chmod(0o666 &^ umask()) }}, // CreateTemp creates it with mode 0600
		{StepSync, w.file.Sync},
		{StepClose, w.file.Close},
	} {
		if err := w.step(s.step, s.do); err != nil {
			return err
		}
	}
	w.file = nil
	return nil
}

// step performs one operation, unless a test makes it fail.
func (w *dirWriter) step(step Step, do func() error) error {
	err := at(step, w.path())
	if err == nil {
		err = do()
	}
	return w.dir.space(named(err, string(step), w.path()), w.path(), 0, w.size)
}

// committed ends a commit whose rename returned err.
func (w *dirWriter) committed(err error) error {
	if err != nil {
		w.Abort()
		return err
	}
	w.temp = ""
	w.release()
	if w.made, err = identified(os.Lstat(w.to)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return w.dir.sync()
}

func (w *dirWriter) Withdraw() error {
	if w.made == nil {
		return nil
	}
	err := w.dir.removeIf(w.name, w.to, w.made)
	if errors.Is(err, fs.ErrExist) {
		return nil // another writer has replaced the file
	}
	return err
}

func (w *dirWriter) Abort() {
	if w.temp == "" {
		return
	}
	if w.file != nil {
		w.file.Close()
	}
	if at(StepDiscard, w.path()) == nil {
		os.Remove(w.temp) // if it remains, Sweep of the next run removes it
	}
	w.release()
	w.file, w.temp = nil, ""
}

// removeIf removes the file at path if it is still the file that old describes; otherwise
// the error matches [fs.ErrExist]. It moves the file to another name before it compares, so
// that no writer can replace the file in between. Messages call the file name.
func (d dir) removeIf(name, path string, old fs.FileInfo) error {
	step := func(step Step, do func() error) error {
		err := at(step, d.path(name))
		if err == nil {
			err = do()
		}
		return named(err, string(step), d.path(name))
	}
	away, err := d.createTemp(name)
	if err != nil {
		return err
	}
	away.Close()
	if runtime.GOOS == "windows" { // where an open file cannot be replaced
		away.release()
	} else {
		defer away.release()
	}
	if err := step(StepRemove, func() error { return rename(path, away.Name()) }); err != nil {
		os.Remove(away.Name())
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	now, err := os.Lstat(away.Name())
	if err == nil && os.SameFile(now, old) && now.Size() == old.Size() && now.ModTime().Equal(old.ModTime()) {
		return step(StepDiscard, func() error { return os.Remove(away.Name()) })
	}
	if err == nil {
		err = renameIfAbsent(away.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) { // a third writer was faster
		err = os.Remove(away.Name())
	}
	if err != nil {
		return named(err, "restore", d.path(name))
	}
	return &fs.PathError{Op: "replace", Path: d.path(name), Err: fs.ErrExist}
}

// renameIfAbsent renames a file. If the new name exists, the error matches
// [fs.ErrExist].
func renameIfAbsent(from, to string) error {
	err := renameNoReplace(from, to)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	err = os.Link(from, to)
	if err == nil {
		return os.Remove(from)
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The file system has no links, such as exFAT. This check is then the only
	// protection against two writers of the same name, and it is not atomic.
	if _, err := os.Lstat(to); err == nil {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	return rename(from, to)
}

// sync makes the names in the folder durable.
func (d dir) sync() error {
	if err := at(StepSyncFolder, string(d)); err != nil {
		return err
	}
	return syncFolder(string(d))
}
