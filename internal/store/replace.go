package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A Replacement creates or replaces a folder atomically. The new files become visible with
// [Replacement.Commit]; until then an existing folder of the same name is not changed. A
// Replacement must not be used by several goroutines at once.
//
//	r, err := store.Replace(parent, "step-00001000")
//	if err != nil {
//		return err
//	}
//	defer r.Abort() // does nothing after Commit
//	w, err := r.Create("config.json")
//	…
//	return r.Commit()
//
// Commit every file before the folder. The folder must be local.
type Replacement struct {
	parent dir
	name   string
	temp   string // "" once committed or aborted
}

// Replace starts to create or replace the subfolder name of a local folder. It creates the
// local folder if necessary, and removes the temporary files of a killed process that tried
// the same.
func Replace(folder Folder, name string) (*Replacement, error) {
	d, err := local(folder, "replace "+name+" in")
	if err != nil {
		return nil, err
	}
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("replace folder %q in %s: %w", name, d, err)
	}
	if err := d.mkdir(); err != nil {
		return nil, err
	}
	if err := d.restore(name); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(d.path(name)); err == nil && info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "replace", Path: d.path(name), Err: errors.New("a file has this name, want a folder")}
	}
	r := &Replacement{parent: d, name: name, temp: d.tempFolder(name)}
	if err := d.removeAll(StepRemove, name, r.temp); err != nil {
		return nil, err
	}
	err = at(StepTempFolder, d.path(name))
	if err == nil {
		err = os.Mkdir(r.temp, 0o777)
	}
	if err != nil {
		return nil, d.space(named(err, "create folder", d.path(name)), d.path(name), 0, 0)
	}
	return r, nil
}

// tempFolder returns the path of the temporary folder for a name. The path depends only on
// the name, so that the next process finds the temporary folder of a killed process.
func (d dir) tempFolder(name string) string {
	h := sha256.Sum256([]byte(name))
	return d.path(folderPrefix + hex.EncodeToString(h[:8]))
}

// removeAll removes temp, the temporary folder for a name. step is the
// operation to report to tests.
func (d dir) removeAll(step Step, name, temp string) error {
	err := at(step, d.path(name))
	if err == nil {
		err = os.RemoveAll(temp)
	}
	return named(err, "remove", d.path(name))
}

// final returns the folder under its final name.
func (r *Replacement) final() dir { return dir(r.parent.path(r.name)) }

// Create creates a file in the folder.
func (r *Replacement) Create(name string) (*Member, error) {
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("create %q in %s: %w", name, r.final(), err)
	}
	path := r.final().path(name)
	err := at(StepCreate, path)
	if err == nil {
		var f *os.File
		f, err = os.OpenFile(filepath.Join(r.temp, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			return &Member{dirWriter{file: f, temp: f.Name(), release: func() {}, dir: r.final(), name: name}}, nil
		}
	}
	return nil, r.parent.space(named(err, "create", path), path, 0, 0)
}

// Commit moves the folder to its final name, replacing an existing folder.
func (r *Replacement) Commit() error {
	if r.temp == "" {
		return fmt.Errorf("commit %s: already closed", r.final())
	}
	defer r.Abort() // on failure removes the new folder; after the rename, the replaced one
	path := string(r.final())
	for _, s := range []struct {
		step Step
		do   func() error
	}{
		{StepSyncFolder, func() error { return syncFolder(r.temp) }},
		{StepRename, r.swap},
	} {
		err := at(s.step, path)
		if err == nil {
			err = s.do()
		}
		if err != nil {
			return r.parent.space(named(err, string(s.step), path), path, 0, 0)
		}
	}
	return r.parent.sync()
}

// Abort removes the new files. It does nothing after Commit.
func (r *Replacement) Abort() {
	if r.temp == "" {
		return
	}
	_ = r.parent.removeAll(StepDiscard, r.name, r.temp) // on failure the next process cleans up
	r.temp = ""
}

// swap moves the new folder to its final name. An existing folder of that name gets the
// temporary name.
func (r *Replacement) swap() error {
	path := string(r.final())
	err := exchange(r.temp, path)
	if errors.Is(err, fs.ErrNotExist) {
		return rename(r.temp, path)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return r.parent.swapByRenames(r.name, r.temp)
	}
	return err
}

// swapByRenames swaps the folder called name and temp on a system that cannot exchange two
// names atomically. It first moves the old folder aside, to a name with asidePrefix, so for a
// moment there is no folder called name. If the process is killed then, restore moves the
// old folder back.
func (d dir) swapByRenames(name, temp string) error {
	aside := d.path(asidePrefix + name)
	if err := rename(d.path(name), aside); errors.Is(err, fs.ErrNotExist) {
		return rename(temp, d.path(name))
	} else if err != nil {
		return err
	}
	if err := rename(temp, d.path(name)); err != nil {
		return errors.Join(err, rename(aside, d.path(name)))
	}
	return rename(aside, temp)
}

// asidePrefix begins the temporary name of the old folder in swapByRenames.
const asidePrefix = folderPrefix + "old-"

// restore cleans up after a process that was killed in swapByRenames. If the new folder has
// the final name, it removes the old folder; otherwise it gives the old folder its name back.
func (d dir) restore(name string) error {
	aside := d.path(asidePrefix + name)
	if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(d.path(name)); errors.Is(err, fs.ErrNotExist) {
		return named(rename(aside, d.path(name)), "restore", d.path(name))
	}
	return d.removeAll(StepRemove, name, aside)
}

// RemoveFolder removes the folder called name, with all its content, from a
// local folder. It renames the folder first, so that no process sees it
// incomplete. If the folder does not exist, RemoveFolder returns nil.
func RemoveFolder(folder Folder, name string) error {
	d, err := local(folder, "remove "+name+" in")
	if err != nil {
		return err
	}
	if err := checkName(name); err != nil {
		return fmt.Errorf("remove folder %q in %s: %w", name, d, err)
	}
	temp := d.tempFolder(name)
	if err := errors.Join(d.restore(name), d.removeAll(StepRemove, name, temp)); err != nil {
		return err
	}
	err = at(StepRename, d.path(name))
	if err == nil {
		err = rename(d.path(name), temp)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return named(err, "remove", d.path(name))
	}
	return d.removeAll(StepRemove, name, temp)
}

// A Member is a file of a [Replacement] under construction.
type Member struct{ w dirWriter }

// Write appends to the file.
func (m *Member) Write(p []byte) (int, error) { return m.w.Write(p) }

// Abort discards the file. It does nothing after Commit.
func (m *Member) Abort() { m.w.Abort() }

// Commit makes the file's content durable. Committing the folder makes its name
// durable.
func (m *Member) Commit() error {
	w := &m.w
	if w.file == nil {
		return fmt.Errorf("commit %s: already closed", w.path())
	}
	for _, s := range []struct {
		step Step
		do   func() error
	}{{StepSync, w.file.Sync}, {StepClose, w.file.Close}} {
		if err := w.step(s.step, s.do); err != nil {
			w.Abort()
			return err
		}
	}
	w.file, w.temp = nil, ""
	return nil
}
