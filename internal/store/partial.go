package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// PartialPrefix begins the names of files that are written over several runs.
// Such files are never listed, like temporary files, but [Sweep] keeps them,
// because content such as a download is expensive to get again.
const PartialPrefix = ".part-"

// PartialName returns the name that a file has until it is complete. It
// contains a hash of the final name, so that no file pattern of a reader
// matches it.
func PartialName(name string) string {
	sum := sha256.Sum256([]byte(name))
	return PartialPrefix + hex.EncodeToString(sum[:8])
}

// A Partial is an incomplete file that later runs can continue, such as a download. Bytes
// are only appended, and remain when the process ends. [Partial.Commit] gives the file its
// final name. A note, a few bytes in a second file, identifies the complete file, such as a
// URL and its version. A Partial is not safe for concurrent use.
type Partial struct {
	file *os.File // nil once closed
	dir  dir
	name string
	size int64
	made fs.FileInfo // the committed file
}

// OpenPartial opens the partial file for a final name, or creates an empty one.
// The folder must be local.
func OpenPartial(folder Folder, name string) (*Partial, error) {
	d, err := local(folder, "download "+name+" to")
	if err != nil {
		return nil, err
	}
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("open partial file of %q in %s: %w", name, d, err)
	}
	if err := d.mkdir(); err != nil {
		return nil, err
	}
	p := &Partial{dir: d, name: name}
	err = p.step(StepCreate, func() (err error) {
		p.file, err = os.OpenFile(d.path(PartialName(name)), os.O_RDWR|os.O_CREATE, 0o666)
		return err
	})
	if err == nil {
		p.size, err = p.file.Seek(0, io.SeekEnd)
	}
	if err != nil {
		p.Close()
		return nil, p.failed("create", err, 0)
	}
	return p, nil
}

func (p *Partial) path() string { return p.dir.path(p.name) }

// step performs one file operation, unless a test makes it fail.
func (p *Partial) step(step Step, do func() error) error {
	err := at(step, p.path())
	if err == nil {
		err = do()
	}
	return p.failed(string(step), err, 0)
}

// failed reports errors under the final file name and adds the needed and
// available bytes to ENOSPC.
func (p *Partial) failed(op string, err error, need int64) error {
	return p.dir.space(namedPartial(err, op, p.path()), p.path(), need, p.size)
}

// namedPartial replaces the name in a file system error by path, the final
// name.
func namedPartial(err error, op, path string) error {
	if l := (*os.LinkError)(nil); errors.As(err, &l) {
		return &fs.PathError{Op: op, Path: path, Err: l.Err}
	}
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return &fs.PathError{Op: op, Path: path, Err: p.Err}
	}
	return err
}

// Size returns the number of bytes written, by this run and earlier ones.
func (p *Partial) Size() int64 { return p.size }

// ReadAt implements [io.ReaderAt].
func (p *Partial) ReadAt(b []byte, off int64) (n int, err error) {
	err = p.step(StepRead, func() (err error) {
		n, err = p.file.ReadAt(b, off)
		return err
	})
	return n, err
}

// Write appends b.
func (p *Partial) Write(b []byte) (n int, err error) {
	if err = at(StepWrite, p.path()); err != nil {
		n, _ = p.file.WriteAt(b[:len(b)/2], p.size) // a simulated failure writes half, as a full disk may
	} else {
		n, err = p.file.WriteAt(b, p.size)
	}
	p.size += int64(n)
	return n, p.failed("write", err, int64(len(b)-n))
}

// Truncate removes all but the first n bytes of the file.
func (p *Partial) Truncate(n int64) error {
	err := p.step(StepTruncate, func() error { return p.file.Truncate(n) })
	if err == nil {
		p.size = min(p.size, n)
	}
	return err
}

// Sync makes the bytes written so far durable.
func (p *Partial) Sync() error { return p.step(StepSync, p.file.Sync) }

const noteSuffix = ".note"

func (p *Partial) notePath() string { return p.dir.path(PartialName(p.name) + noteSuffix) }

// Note returns the note, or nil if there is none.
func (p *Partial) Note() (note []byte) {
	err := p.step(StepRead, func() (err error) {
		note, err = os.ReadFile(p.notePath())
		return err
	})
	if err != nil {
		return nil // without its note a partial file cannot be continued; the caller starts again
	}
	return note
}

// SetNote replaces the note atomically.
func (p *Partial) SetNote(note []byte) error {
	f, err := p.dir.createTemp(p.name)
	if err != nil {
		return err
	}
	w := p.dir.newWriter(f, p.name, p.notePath())
	defer w.Abort()
	if _, err := w.Write(note); err != nil {
		return err
	}
	return w.Replace(nil)
}

// Commit implements [Committer].
func (p *Partial) Commit() error {
	if err := p.complete(); err != nil {
		return err
	}
	from := p.dir.path(PartialName(p.name))
	err := p.step(StepRename, func() error { return renameIfAbsent(from, p.path()) })
	if !errors.Is(err, fs.ErrExist) {
		return p.committed(err)
	}
	same, err := sameContent(from, p.path())
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return namedPartial(err, "commit", p.path())
	case same:
		return RemovePartial(p.dir, p.name)
	}
	return &fs.PathError{Op: "commit", Path: p.path(), Err: fs.ErrExist}
}

// Replace implements [Committer].
func (p *Partial) Replace(old fs.FileInfo) error {
	if err := p.complete(); err != nil {
		return err
	}
	if old != nil {
		if err := p.dir.removeIf(p.name, p.path(), old); err != nil {
			return err
		}
		return p.Commit()
	}
	return p.committed(p.step(StepRename, func() error { return rename(p.dir.path(PartialName(p.name)), p.path()) }))
}

// complete makes the content durable and closes the file.
func (p *Partial) complete() error {
	if p.file == nil {
		return nil
	}
	if err := p.Sync(); err != nil {
		return err
	}
	return p.Close()
}

// committed ends a commit whose rename returned err.
func (p *Partial) committed(err error) error {
	if err != nil {
		return err
	}
	if p.made, err = identified(os.Lstat(p.path())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := p.dir.remove(os.Remove, PartialName(p.name)+noteSuffix); err != nil {
		return err
	}
	return p.dir.sync()
}

// Withdraw implements [Committer].
func (p *Partial) Withdraw() error {
	if p.made == nil {
		return nil
	}
	err := p.dir.removeIf(p.name, p.path(), p.made)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Close closes the file without removing it, so that another run can continue. It does
// nothing after Commit.
func (p *Partial) Close() error {
	if p.file == nil {
		return nil
	}
	err := p.step(StepClose, p.file.Close)
	p.file = nil
	return err
}

// RemovePartial removes the partial file and the note for a final name. Either
// may be missing: a run killed during Commit leaves only the note.
func RemovePartial(folder Folder, name string) error {
	d, ok := folder.(dir)
	if !ok {
		return nil
	}
	for _, n := range []string{PartialName(name), PartialName(name) + noteSuffix} {
		if err := d.remove(os.Remove, n); err != nil {
			return err
		}
	}
	return nil
}

// RemovePartials removes all partial files and notes of a folder.
func RemovePartials(folder Folder) error {
	d, ok := folder.(dir)
	if !ok {
		return nil
	}
	return d.removeEntries(func(e os.DirEntry) func(path string) error {
		if strings.HasPrefix(e.Name(), PartialPrefix) && !e.IsDir() {
			return os.Remove
		}
		return nil
	})
}
