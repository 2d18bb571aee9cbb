package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A dir is a folder of the local file system.
type dir string

func (d dir) String() string { return string(d) }

func (d dir) Folder(name string) Folder { return dir(filepath.Join(string(d), name)) }

func (d dir) path(name string) string { return filepath.Join(string(d), name) }

func (d dir) Open(_ context.Context, name string) (File, error) {
	f, err := openFile(d.path(name))
	if err != nil {
		return nil, err // not f: a nil *dirFile in an interface is not nil
	}
	return f, nil
}

// openFile opens a regular file.
func openFile(path string) (*dirFile, error) {
	if err := at(StepOpen, path); err != nil {
		return nil, err
	}
	info, err := os.Stat(path) // Stat first: opening a named pipe would block
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%s, %w", ModeName(info.Mode()), ErrNotFile)}
	}
	f, err := openToRead(path)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil { // it may have been replaced since Stat
		f.Close()
		return nil, err
	}
	return &dirFile{f, info.Size()}, nil
}

// OpenRegular opens a local file for reading. A folder, device, pipe or socket is a usage
// error, see [ErrNotFile].
func OpenRegular(path string) (*os.File, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	return f.File, nil
}

// ModeName describes the kind of a directory entry, such as "a directory".
func ModeName(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something special"
}

func (d dir) Stat(_ context.Context, name string) (fs.FileInfo, error) {
	if err := at(StepStat, d.path(name)); err != nil {
		return nil, err
	}
	return identified(os.Stat(d.path(name)))
}

func (d dir) List(context.Context) ([]fs.FileInfo, error) {
	if err := at(StepList, string(d)); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(string(d)) // sorted by name
	if err != nil {
		return nil, err
	}
	var infos []fs.FileInfo
	for _, e := range entries {
		if e.IsDir() || Hidden(e.Name()) {
			continue
		}
		info, err := os.Stat(d.path(e.Name())) // follows links
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since ReadDir
		}
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			infos = append(infos, info)
		}
	}
	return infos, nil
}

// Hidden reports whether a file does not belong to a data set: temporary files,
// locks, and the files that the file managers of macOS and Windows create.
func Hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.EqualFold(name, "Thumbs.db") || strings.EqualFold(name, "desktop.ini")
}

// Remove syncs the folder, so that several removals survive a power failure in order.
func (d dir) Remove(_ context.Context, name string) error {
	if err := at(StepRemove, d.path(name)); err != nil {
		return err
	}
	err := os.Remove(d.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.sync()
}

// remove removes an entry of the folder, without syncing the folder. If the entry does not
// exist, it returns nil.
func (d dir) remove(remove func(string) error, name string) error {
	if err := at(StepRemove, d.path(name)); err != nil {
		return err
	}
	if err := remove(d.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d dir) Create(_ context.Context, name string) (Writer, error) {
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("create %q in %s: %w", name, d, err)
	}
	f, err := d.createTemp(name)
	if err != nil {
		return nil, err
	}
	return d.newWriter(f, name, d.path(name)), nil
}

// checkName returns an error unless name is a plain file name. It also rejects the prefixes
// of temporary and partial files.
func checkName(name string) error {
	if name != filepath.Base(name) || strings.Trim(name, ".") == "" || strings.HasPrefix(name, TempPrefix) || strings.HasPrefix(name, PartialPrefix) {
		return errors.New("not a plain file name")
	}
	return nil
}

// named replaces the temporary name in a file system error by path, the final
// name.
func named(err error, op, path string) error {
	if l := (*os.LinkError)(nil); errors.As(err, &l) { // the error of a rename
		return &fs.PathError{Op: op, Path: path, Err: l.Err}
	}
	if p := (*fs.PathError)(nil); errors.As(err, &p) && strings.Contains(p.Path, TempPrefix) {
		return &fs.PathError{Op: op, Path: path, Err: p.Err}
	}
	return err
}

type dirFile struct {
	*os.File
	size int64
}

func (f *dirFile) Size() int64 { return f.size }

func (f *dirFile) ReadAt(p []byte, off int64) (int, error) {
	if err := at(StepRead, f.Name()); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

type fsMode = fs.FileMode

// identified makes info store the identity of its file now. On Windows the identity would
// otherwise be looked up by name at the first comparison, when another file may have that
// name.
func identified(info fs.FileInfo, err error) (fs.FileInfo, error) {
	if err == nil {
		os.SameFile(info, info)
	}
	return info, err
}
