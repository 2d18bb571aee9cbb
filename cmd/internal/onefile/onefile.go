// Package onefile writes a single file whose name a user gave with a flag: a report, a
// card, a plot, a list. A mistyped name must not destroy data, so an [Output] replaces only
// files that the same command wrote:
//
//	o := onefile.Output{Flag: "out", Path: path, Kind: onefile.Report, Overwrite: overwrite}
//	if err := o.Check(ctx); err != nil { // before the work
//		return err
//	}
//	…
//	return o.Write(ctx, page) // checks again, then writes the file as a whole
//
// What happens depends on what exists at the path:
//
//   - nothing, an empty file, or a file of the same kind: it is written
//   - another file: a usage error, unless Overwrite is set
//   - a file of a data set or a model, an input of the command, a folder, device, pipe,
//     socket, or a link to one of these or to nothing: a usage error
//
// A symbolic link to a file that may be replaced is kept, and its target is replaced.
// Locations in object stores work too.
package onefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pretext/internal/failure"
	"pretext/internal/store"
)

// An Output is a single file that a command writes.
type Output struct {
	Flag      string // name of the flag that gave Path; "": an argument
	Path      string
	Kind      Kind     // kind of the file; an existing file of this kind is replaced
	Overwrite bool     // replace a file of another kind too
	Fixed     bool     // the command has no --overwrite: errors do not name it
	Inputs    []string // files that the command reads; never replaced
}

// Check returns a usage error if [Output.Write] would refuse to write the file.
func (o *Output) Check(ctx context.Context) error {
	_, err := o.target(ctx)
	return err
}

// Write writes the file atomically.
func (o *Output) Write(ctx context.Context, data []byte) error {
	t, err := o.target(ctx)
	if err != nil {
		return err
	}
	w, err := t.folder.Create(ctx, t.name)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := w.Write(data); err != nil {
		return err
	}
	if t.old == nil {
		err = w.Commit()
	} else {
		err = w.Replace(t.old)
	}
	if errors.Is(err, fs.ErrExist) {
		return o.refuse("another program is writing it: give another name")
	}
	return err
}

// A target is the location to which an output is written.
type target struct {
	folder store.Folder
	name   string
	old    fs.FileInfo // the file that is replaced, nil if there is none
}

// target returns the location of the output, or the reason why it cannot be written.
func (o *Output) target(ctx context.Context) (t target, err error) {
	path, err := o.resolve()
	if err != nil {
		return t, err
	}
	if t.folder, err = store.Open(store.Dir(path)); err != nil {
		return t, err
	}
	t.name = store.Base(path)
	info, err := store.Stat(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t, o.checkName(ctx, t)
	case err != nil:
		return t, err
	case !info.Mode().IsRegular():
		return t, o.refuse("%s: give the file to write", store.ModeName(info.Mode()))
	}
	if t.old, err = t.folder.Stat(ctx, t.name); err != nil {
		return t, err
	}
	for _, in := range o.Inputs {
		if same(ctx, in, path) {
			return t, o.refuse("an input of this command: give another name")
		}
	}
	if err := o.checkName(ctx, t); err != nil || info.Size() == 0 && !inData(ctx, t.folder) {
		return t, err
	}
	own, err := o.isOwn(ctx, t)
	switch {
	case err != nil || own:
		return t, err
	case inData(ctx, t.folder):
		return t, o.refuse("the folder is that of a data set or model, and the file is not %s: give another name", o.Kind.name)
	case o.Fixed:
		return t, o.refuse("the file is not %s: give another name, or remove it", o.Kind.name)
	case !o.Overwrite:
		return t, o.refuse("the file is not %s: give another name, or --overwrite to replace it", o.Kind.name)
	}
	return t, nil
}

// resolve returns the path after following symbolic links.
func (o *Output) resolve() (string, error) {
	path, local := store.Locate(o.Path).Local()
	if !local {
		return o.Path, nil
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return path, nil // the caller's Stat reports the error
	}
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", o.refuse("a symbolic link that leads to no file: give the file to write")
	}
	return to, nil
}

// isOwn reports whether the existing file is of the output's kind, so that the same
// command probably wrote it.
func (o *Output) isOwn(ctx context.Context, t target) (bool, error) {
	f, err := t.folder.Open(ctx, t.name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, min(f.Size(), headBytes))
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	return o.Kind.is(head[:n]), nil
}

// same reports whether two locations name the same file.
func same(ctx context.Context, a, b string) bool {
	if store.Absolute(a) == store.Absolute(b) {
		return true
	}
	_, localA := store.Locate(a).Local()
	_, localB := store.Locate(b).Local()
	if !localA || !localB {
		return false
	}
	x, errA := store.Stat(ctx, a)
	y, errB := store.Stat(ctx, b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// refuse returns the usage error that explains why the output is not written.
func (o *Output) refuse(format string, args ...any) error {
	flag := o.Path
	if o.Flag != "" {
		flag = "--" + o.Flag + " " + o.Path
	}
	return failure.Usagef("%s: %s", flag, fmt.Sprintf(format, args...))
}
