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

// dir is a folder of the local file system.
type dir string

func (d dir) String() string { return string(d) }

func (d dir) Folder(name string) Folder { return dir(filepath.Join(string(d), name)) }

func (d dir) path(name string) string { return filepath.Join(string(d), name) }

func (d dir) Open(_ context.Context, name string) (File, error) {
	info, err := os.Stat(d.path(name)) // first, since opening a pipe would wait for its writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: d.path(name), Err: ErrNotFile}
	}
	f, err := os.Open(d.path(name))
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil { // it may have been replaced since
		f.Close()
		return nil, err
	}
	return &dirFile{f, info.Size()}, nil
}

func (d dir) Stat(_ context.Context, name string) (Info, error) {
	info, err := os.Stat(d.path(name))
	if err != nil {
		return Info{}, err
	}
	return Info{Name: name, Size: info.Size()}, nil
}

func (d dir) List(context.Context) ([]Info, error) {
	entries, err := os.ReadDir(string(d)) // sorted by name
	if err != nil {
		return nil, err
	}
	var infos []Info
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := os.Stat(d.path(e.Name())) // follows links
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since
		}
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			infos = append(infos, Info{Name: e.Name(), Size: info.Size()})
		}
	}
	return infos, nil
}

func (d dir) Remove(_ context.Context, name string) error {
	if err := os.Remove(d.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d dir) Create(_ context.Context, name string) (Writer, error) {
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("create %q in %s: %w", name, d, err)
	}
	f, err := d.createTemp()
	if err != nil {
		return nil, named(err, "create", d.path(name))
	}
	return &dirWriter{file: f, dir: d, name: name}, nil
}

// checkName wants a name without a folder that is no temporary one.
func checkName(name string) error {
	if name != filepath.Base(name) || strings.Trim(name, ".") == "" || strings.HasPrefix(name, TempPrefix) || strings.HasPrefix(name, PartialPrefix) {
		return errors.New("not a plain file name")
	}
	return nil
}

// named puts a name that a person knows into the error of a temporary file.
func named(err error, op, path string) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) && strings.HasPrefix(filepath.Base(p.Path), TempPrefix) {
		return &fs.PathError{Op: op, Path: path, Err: p.Err}
	}
	return err
}

func (d dir) createTemp() (*os.File, error) {
	if err := os.MkdirAll(string(d), 0o777); err != nil {
		return nil, err
	}
	return os.CreateTemp(string(d), TempPrefix+"*")
}

func (d dir) Scratch(context.Context) (Scratch, error) {
	f, err := d.createTemp()
	if err != nil {
		return nil, err
	}
	// Without a name the file cannot outlive the process, however it ends.
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return &dirScratch{f, d.path("(scratch file)")}, nil
}

// dirScratch is a file that has lost its name; errors say where it lies.
type dirScratch struct {
	*os.File
	place string
}

func (s *dirScratch) WriteAt(p []byte, off int64) (int, error) {
	n, err := s.File.WriteAt(p, off)
	return n, named(err, "write", s.place)
}

func (s *dirScratch) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.File.ReadAt(p, off)
	return n, named(err, "read", s.place)
}

// folderPrefix begins the names of temporary folders.
const folderPrefix = TempPrefix + "folder-"

// TempFolder makes a temporary folder on the local disk, for programs that
// insist on one: inside the folder where it is local, so that [Sweep] finds it
// when the process is killed. It returns its path and the function that removes
// it with all that is in it.
func TempFolder(folder Folder) (path string, remove func(), err error) {
	parent := ""
	if d, ok := folder.(dir); ok {
		parent = string(d)
		if err := os.MkdirAll(parent, 0o777); err != nil {
			return "", nil, err
		}
	}
	if path, err = os.MkdirTemp(parent, folderPrefix+"*"); err != nil {
		return "", nil, named(err, "create temporary folder in", parent)
	}
	return path, func() { os.RemoveAll(path) }, nil
}

// Sweep removes the temporary files and folders that killed runs left in a local
// folder.
// The caller holds the folder's lock.
func Sweep(folder Folder) error {
	d, ok := folder.(dir)
	if !ok {
		return nil
	}
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		remove := os.Remove
		switch {
		case strings.HasPrefix(e.Name(), folderPrefix):
			remove = os.RemoveAll
		case !strings.HasPrefix(e.Name(), TempPrefix) || e.IsDir():
			continue
		}
		if err := remove(d.path(e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

type dirFile struct {
	*os.File
	size int64
}

func (f *dirFile) Size() int64 { return f.size }

// dirWriter writes a temporary file of its folder and renames it on Commit.
// google/renameio does the same but names its temporary file after the final
// one and does not sync the folder.
type dirWriter struct {
	file *os.File // nil once committed or aborted
	dir  dir
	name string
}

func (w *dirWriter) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	return n, named(err, "write", w.dir.path(w.name))
}

func (w *dirWriter) Commit() error {
	if w.file == nil {
		return fmt.Errorf("commit %s: already closed", w.dir.path(w.name))
	}
	if err := w.file.Chmod(0o666 &^ umask()); err != nil { // CreateTemp made it private
		w.Abort()
		return named(err, "commit", w.dir.path(w.name))
	}
	if err := w.file.Sync(); err != nil {
		w.Abort()
		return named(err, "sync", w.dir.path(w.name))
	}
	temp := w.file.Name()
	err := w.file.Close()
	w.file = nil
	if err == nil {
		err = os.Rename(temp, w.dir.path(w.name))
	}
	if err != nil {
		os.Remove(temp)
		return named(err, "commit", w.dir.path(w.name))
	}
	return syncDir(string(w.dir))
}

func (w *dirWriter) Abort() {
	if w.file == nil {
		return
	}
	w.file.Close()
	os.Remove(w.file.Name())
	w.file = nil
}

// syncDir makes a rename durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

type fsMode = fs.FileMode
