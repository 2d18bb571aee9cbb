package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A tempFile is a temporary file that this process has marked as used, so that [Sweep] in
// another process does not remove it.
type tempFile struct {
	*os.File
	release func() // removes the mark; call it once the file has its final name or is removed
}

// createTemp creates the temporary file for the file with the final name name.
func (d dir) createTemp(name string) (*tempFile, error) {
	if err := d.mkdir(); err != nil {
		return nil, err
	}
	err := at(StepCreate, d.path(name))
	for err == nil {
		var f *os.File
		if f, err = createTemp(string(d)); err != nil {
			break
		}
		release := hold(f.Name())
		if _, err := os.Lstat(f.Name()); err == nil {
			return &tempFile{f, release}, nil
		}
		release() // Sweep of another process removed the file before it was marked
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
		for len(path) > len(filepath.VolumeName(path))+1 && os.IsPathSeparator(path[len(path)-1]) {
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

// missing returns those of the folder and its parents that do not exist, the deepest first.
func (d dir) missing() (all []dir) {
	for {
		if _, err := os.Lstat(string(d)); !errors.Is(err, fs.ErrNotExist) {
			return all
		}
		all = append(all, d)
		above := d.above()
		if above == d {
			return all
		}
		d = above
	}
}

// make creates the folder and its missing parents, and syncs each parent: if the name of a
// folder is not durable, a crash can lose the folder and all files in it.
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
	if err := above.sync(); !errors.Is(err, fs.ErrPermission) { // a writable directory may be unreadable, and then cannot be synced
		return err
	}
	return nil
}

// scratchName stands in error messages for the name of a scratch file, which has none.
const scratchName = "(scratch file)"

// A Scratch is a temporary file of one task.
type Scratch interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Discard(off, n int64) // frees the space of n bytes, which are not read again
}

// NewScratch creates an unnamed temporary file, which disappears when it is closed. It is
// created in the local directory temp. If temp is "", it is created in folder, or, if folder
// is not local, in the system's directory for temporary files.
func NewScratch(folder Folder, temp string) (Scratch, error) {
	return tempDir(folder, temp).scratch()
}

// tempDir returns the directory for temporary files, chosen as [NewScratch] describes.
func tempDir(folder Folder, temp string) dir {
	d, ok := folder.(dir)
	switch {
	case temp != "":
		return dir(temp)
	case ok:
		return d
	}
	return dir(os.TempDir())
}

func (d dir) scratch() (Scratch, error) {
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

// TempFolder creates a temporary folder on the local disk, for code that needs a real
// directory. Its place is chosen as for [NewScratch]. It returns the path, and a function
// that removes the folder with its content. If the process is killed, [Sweep] removes the
// folder, but only if it was created in folder.
func TempFolder(folder Folder, temp string) (path string, remove func(), err error) {
	d := tempDir(folder, temp)
	if err := d.mkdir(); err != nil {
		return "", nil, err
	}
	parent := string(d)
	if err := at(StepTempFolder, parent); err != nil {
		return "", nil, err
	}
	if path, err = os.MkdirTemp(parent, folderPrefix+"*"); err != nil {
		return "", nil, d.space(named(err, "create temporary folder in", parent), parent, 0, 0)
	}
	return path, func() {
		if at(StepDiscard, parent) == nil {
			os.RemoveAll(path)
		}
	}, nil
}

// Sweep removes the uncommitted data of killed processes from a folder: temporary files and
// folders, and incomplete uploads. It keeps the temporary files of running processes, but
// cannot tell whether the process of an upload is running. So the caller must hold the
// folder's lock, and no job may be running in the folder.
func Sweep(folder Folder) error { return folder.sweep() }

func (d dir) sweep() error {
	return d.removeEntries(func(e os.DirEntry) func(path string) error {
		if name, ok := strings.CutPrefix(e.Name(), asidePrefix); ok {
			return func(string) error { return d.restore(name) }
		}
		switch {
		case strings.HasPrefix(e.Name(), folderPrefix):
			return os.RemoveAll
		case strings.HasPrefix(e.Name(), TempPrefix) && !e.IsDir():
			return removeUnheld
		}
		return nil
	})
}

// sweep cancels incomplete uploads. Objects whose names begin with uploadPrefix
// record their keys.
func (o *objects) sweep() error {
	ctx := context.Background()
	if err := o.lease.check(ctx); err != nil {
		return err
	}
	entries, err := o.entries(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case e.folder:
		case strings.HasPrefix(e.name, uploadPrefix):
			err = o.cancel(ctx, e.name)
		case strings.HasPrefix(e.name, probePrefix):
			err = o.remove(ctx, e.name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cancel cancels the uploads of the key that the object marker records, and removes marker.
func (o *objects) cancel(ctx context.Context, marker string) error {
	key, err := ReadFile(ctx, o, marker)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	uploads, err := try(ctx, o.b, "list", string(key), func() ([]Upload, error) { return o.b.Uploads(ctx, string(key)) })
	if err != nil {
		return err
	}
	for _, u := range uploads {
		_, err := try(ctx, o.b, "cancel", u.Key, func() (struct{}, error) { return struct{}{}, o.b.Cancel(ctx, u) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return o.remove(ctx, marker)
}

// removeEntries removes entries of the folder. It calls by for each entry; by returns the
// function that removes the entry, or nil to keep it.
func (d dir) removeEntries(by func(os.DirEntry) func(path string) error) error {
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
	if isHeld(path) {
		return nil
	}
	return os.Remove(path)
}
