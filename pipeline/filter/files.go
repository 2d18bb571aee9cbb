package filter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"pretext/internal/store"
	"pretext/sharding"
)

// openAtOnce is the maximum number of task files that are open at the same time.
const openAtOnce = 128

// taskFiles are the files of all tasks of a stage, one per task. The number of open files
// is limited: opening another file closes the one that was opened first. taskFiles are
// not safe for concurrent use.
type taskFiles struct {
	ctx    context.Context
	folder store.Folder
	atOnce int
	open   []*taskFile // in the order of opening
}

// A taskFile is the file of one task. Its Close does nothing.
type taskFile struct {
	files *taskFiles
	name  string
	size  int64
	file  store.File // nil if not open
}

// openTasks opens the files of all tasks in a stage's directory and calls read with each
// file. If the content is corrupt, the error matches [sharding.ErrFormat].
func openTasks(ctx context.Context, location string, name func(task int) string, read func(store.File) error) (files *taskFiles, err error) {
	folder, err := store.Open(location)
	if err != nil {
		return nil, err
	}
	plan, err := sharding.ReadPlan(ctx, folder)
	if err != nil {
		return nil, err
	}
	files = &taskFiles{ctx: ctx, folder: folder, atOnce: openAtOnce}
	for task := range plan.Tasks {
		if err := files.add(name(task), read); err != nil {
			return nil, errors.Join(err, files.close())
		}
	}
	return files, nil
}

// add opens a file and calls read with it.
func (t *taskFiles) add(name string, read func(store.File) error) error {
	f := &taskFile{files: t, name: name}
	if err := f.reopen(); err != nil {
		return err
	}
	f.size = f.file.Size()
	if err := read(f); err != nil {
		return fmt.Errorf("read %s in %s: %w: %w", name, t.folder, sharding.ErrFormat, err)
	}
	return nil
}

// close closes all files.
func (t *taskFiles) close() error {
	var errs []error
	for _, f := range t.open {
		errs = append(errs, f.file.Close())
		f.file = nil
	}
	t.open = nil
	return errors.Join(errs...)
}

func (f *taskFile) reopen() error {
	t := f.files
	if len(t.open) >= t.atOnce {
		oldest := t.open[0]
		t.open = t.open[1:]
		err := oldest.file.Close()
		oldest.file = nil
		if err != nil {
			return err
		}
	}
	file, err := t.folder.Open(t.ctx, f.name)
	if err != nil {
		return err
	}
	f.file = file
	t.open = append(t.open, f)
	return nil
}

// Size returns the size of the file when it was first opened.
func (f *taskFile) Size() int64 { return f.size }

// Close does nothing: taskFiles closes all files.
func (f *taskFile) Close() error { return nil }

// ReadAt reads from the file, and opens it again if necessary.
func (f *taskFile) ReadAt(p []byte, off int64) (int, error) {
	if f.file == nil {
		if err := f.reopen(); err != nil {
			return 0, err
		}
		if f.file.Size() != f.size {
			return 0, fmt.Errorf("%w: %s in %s changed while it was read", fs.ErrInvalid, f.name, f.files.folder)
		}
	}
	return f.file.ReadAt(p, off)
}
