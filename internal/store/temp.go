package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A tempFile is a temporary file that this process holds, so that [Sweep] of
// another process keeps it.
type tempFile struct {
	*os.File
	release func() // ends the hold; call it once the file has its final name or is removed
}

// createTemp creates the temporary file for a final name.
func (d dir) createTemp(name string) (*tempFile, error) {
	if err := d.mkdir(); err != nil {
		return nil, err
	}
	err := at(StepCreate, d.path(name))
	for err == nil {
		var f *os.File
		if f, err = os.CreateTemp(string(d), TempPrefix+"*"); err != nil {
			break
		}
		release := hold(f.Name())
		if _, err := os.Lstat(f.Name()); err == nil {
			return &tempFile{f, release}, nil
		}
		release() // a sweep removed it before it was held
		f.Close()
	}
	return nil, d.space(named(err, "create", d.path(name)), d.path(name), 0, 0)
}

func (d dir) mkdir() error {
	err := at(StepMkdir, string(d))
	if err == nil {
		err = d.make()
	}
	return d.space(err, string(d), 0, 0)
}

// above returns the parent directory. It works on the path text without
// resolving "..": the parent of a/../b is a/.., which symbolic links can make
// different from the parent of b.
func (d dir) above() dir {
	trim := func(path string) string {
		for len(path) > 1 && os.IsPathSeparator(path[len(path)-1]) {
			path = path[:len(path)-1]
		}
		return path
	}
	parent, _ := filepath.Split(trim(string(d)))
	if parent == "" {
		return "."
	}
	return dir(trim(parent))
}

// make creates the folder and its missing parents, and syncs each parent: a
// folder whose name is not durable is lost with everything synced in it.
func (d dir) make() error {
	info, err := os.Stat(string(d))
	if err == nil && info.IsDir() {
		return nil
	}
	err = os.Mkdir(string(d), 0o777)
	above := d.above()
	if errors.Is(err, fs.ErrNotExist) && above != d {
		if err := above.make(); err != nil {
			return err
		}
		err = os.Mkdir(string(d), 0o777)
	}
	if errors.Is(err, fs.ErrExist) { // created by another process, or not a folder
		if info, err := os.Stat(string(d)); err != nil || !info.IsDir() { // also a dangling link
			return &fs.PathError{Op: "mkdir", Path: string(d), Err: syscall.ENOTDIR}
		}
		return nil
	}
	if err != nil {
		return err
	}
	if err := above.sync(); !errors.Is(err, fs.ErrPermission) { // a directory that may be written may still be unreadable
		return err
	}
	return nil
}

// scratchName replaces the name of a scratch file, which has no name, in error
// messages.
const scratchName = "(scratch file)"

func (d dir) Scratch(context.Context) (Scratch, error) {
	f, err := d.createTemp(scratchName)
	if err != nil {
		return nil, err
	}
	unnamed := false
	defer func() {
		f.release()
		if unnamed {
			return
		}
		f.Close()
		if at(StepDiscard, d.path(scratchName)) == nil {
			os.Remove(f.Name())
		}
	}()
	// Unlink it now, so that it disappears however the process ends.
	if err = at(StepUnname, d.path(scratchName)); err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		return nil, named(err, "unname", d.path(scratchName))
	}
	unnamed = true
	return &dirScratch{f.File, d}, nil
}

// A dirScratch is a scratch file that is already unlinked. Its errors name the
// folder.
type dirScratch struct {
	*os.File
	dir dir
}

func (s *dirScratch) WriteAt(p []byte, off int64) (n int, err error) {
	path := s.dir.path(scratchName)
	if err = at(StepWrite, path); err == nil {
		n, err = s.File.WriteAt(p, off)
	}
	return n, s.dir.space(named(err, "write", path), path, int64(len(p)-n), off+int64(n))
}

func (s *dirScratch) ReadAt(p []byte, off int64) (int, error) {
	path := s.dir.path(scratchName)
	if err := at(StepRead, path); err != nil {
		return 0, err
	}
	n, err := s.File.ReadAt(p, off)
	return n, named(err, "read", path)
}

// folderPrefix begins the names of temporary folders.
const folderPrefix = TempPrefix + "folder-"

// TempFolder creates a temporary folder on the local disk, for code that needs
// a real directory. It is inside folder if that is local, so that [Sweep]
// removes it if the process is killed. It returns the path and a function that
// removes the folder with its content.
func TempFolder(folder Folder) (path string, remove func(), err error) {
	parent := ""
	if d, ok := folder.(dir); ok {
		parent = string(d)
		if err := d.mkdir(); err != nil {
			return "", nil, err
		}
	}
	if err := at(StepTempFolder, parent); err != nil {
		return "", nil, err
	}
	if path, err = os.MkdirTemp(parent, folderPrefix+"*"); err != nil {
		return "", nil, dir(parent).space(named(err, "create temporary folder in", parent), parent, 0, 0)
	}
	return path, func() {
		if at(StepDiscard, parent) == nil {
			os.RemoveAll(path)
		}
	}, nil
}

// Sweep removes the temporary files and folders that killed processes left in a
// local folder. It keeps the temporary files of running processes, which may be
// workers of a job whose driver was killed. The caller must hold the folder's
// lock.
func Sweep(folder Folder) error {
	return removeEntries(folder, func(e os.DirEntry) func(path string) error {
		switch {
		case strings.HasPrefix(e.Name(), folderPrefix):
			return os.RemoveAll
		case strings.HasPrefix(e.Name(), TempPrefix) && !e.IsDir():
			return removeUnheld
		}
		return nil
	})
}

// removeEntries calls by for each entry of a local folder. by returns the
// function that removes the entry, or nil to keep it.
func removeEntries(folder Folder, by func(os.DirEntry) func(path string) error) error {
	d, ok := folder.(dir)
	if !ok {
		return nil
	}
	entries, err := d.entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if remove := by(e); remove != nil {
			if err := d.remove(remove, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// entries returns the directory entries of the folder, none if it does not
// exist.
func (d dir) entries() ([]os.DirEntry, error) {
	if err := at(StepList, string(d)); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// removeUnheld removes a file unless a running process holds it.
func removeUnheld(path string) error {
	if held(path) {
		return nil
	}
	return os.Remove(path)
}
