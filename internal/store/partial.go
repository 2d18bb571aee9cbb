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

// PartialPrefix begins the names of files that are made over several runs. Like
// temporary ones they are never listed, but [Sweep] leaves them: what they hold
// was dear to get.
const PartialPrefix = ".part-"

// PartialName returns the name under which a file waits for its end: it tells
// the final name to nobody, so that no pattern of a reader matches it.
func PartialName(name string) string {
	sum := sha256.Sum256([]byte(name))
	return PartialPrefix + hex.EncodeToString(sum[:8])
}

// A Partial is a file that may take several runs to write. It grows at its end
// only, keeps its bytes when the process ends in whatever way, and becomes a
// file of its folder with [Partial.Commit]. Beside it lies a note, a few bytes
// that say what it is a part of. It is not safe for concurrent use.
type Partial struct {
	file *os.File // nil once closed
	dir  dir
	name string
	size int64
}

// OpenPartial opens the partial file of a name, empty where there is none yet.
// Only local folders have partial files.
func OpenPartial(folder Folder, name string) (*Partial, error) {
	d, ok := folder.(dir)
	if !ok {
		return nil, fmt.Errorf("open partial file of %q in %s: not a local folder", name, folder)
	}
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("open partial file of %q in %s: %w", name, d, err)
	}
	if err := d.mkdir(); err != nil {
		return nil, err
	}
	p := &Partial{dir: d, name: name}
	err := p.step(StepCreate, func() (err error) {
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

// step does one step, unless a test has it fail.
func (p *Partial) step(step Step, do func() error) error {
	err := at(step, p.path())
	if err == nil {
		err = do()
	}
	return p.failed(string(step), err, 0)
}

// failed puts the name that a person knows into an error, and figures into that
// of a full disk.
func (p *Partial) failed(op string, err error, need int64) error {
	return p.dir.space(namedPartial(err, op, p.path()), p.path(), need, p.size)
}

// namedPartial puts the name that a person knows into an error.
func namedPartial(err error, op, path string) error {
	if l := (*os.LinkError)(nil); errors.As(err, &l) {
		return &fs.PathError{Op: op, Path: path, Err: l.Err}
	}
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return &fs.PathError{Op: op, Path: path, Err: p.Err}
	}
	return err
}

// Size is how many bytes were written, by this run and by those before it.
func (p *Partial) Size() int64 { return p.size }

// ReadAt implements [io.ReaderAt].
func (p *Partial) ReadAt(b []byte, off int64) (n int, err error) {
	err = p.step(StepRead, func() (err error) {
		n, err = p.file.ReadAt(b, off)
		return err
	})
	return n, err
}

// Write appends.
func (p *Partial) Write(b []byte) (n int, err error) {
	if err = at(StepWrite, p.path()); err != nil {
		n, _ = p.file.WriteAt(b[:len(b)/2], p.size) // as disks fail
	} else {
		n, err = p.file.WriteAt(b, p.size)
	}
	p.size += int64(n)
	return n, p.failed("write", err, int64(len(b)-n))
}

// Truncate drops all but the first n bytes.
func (p *Partial) Truncate(n int64) error {
	err := p.step(StepTruncate, func() error { return p.file.Truncate(n) })
	if err == nil {
		p.size = min(p.size, n)
	}
	return err
}

// Sync makes what was written durable.
func (p *Partial) Sync() error { return p.step(StepSync, p.file.Sync) }

const noteSuffix = ".note"

func (p *Partial) notePath() string { return p.dir.path(PartialName(p.name) + noteSuffix) }

// Note returns the note, nil where there is none.
func (p *Partial) Note() (note []byte) {
	err := p.step(StepRead, func() (err error) {
		note, err = os.ReadFile(p.notePath())
		return err
	})
	if err != nil {
		return nil // without its note a partial file is worth nothing, and is begun anew
	}
	return note
}

// SetNote replaces the note, at once and whole.
func (p *Partial) SetNote(note []byte) error {
	f, err := p.dir.createTemp(p.name)
	if err != nil {
		return err
	}
	w := &dirWriter{file: f, dir: p.dir, name: p.name, to: p.notePath()}
	defer w.Abort()
	if _, err := w.Write(note); err != nil {
		return err
	}
	return w.Commit()
}

// Commit makes the partial file a file of its folder, durable and whole.
func (p *Partial) Commit() error {
	if p.file == nil {
		return fmt.Errorf("commit %s: already closed", p.path())
	}
	if err := p.Sync(); err != nil {
		return err
	}
	if err := p.Close(); err != nil {
		return err
	}
	if err := p.step(StepRename, func() error { return os.Rename(p.dir.path(PartialName(p.name)), p.path()) }); err != nil {
		return err
	}
	if err := p.dir.remove(os.Remove, PartialName(p.name)+noteSuffix); err != nil {
		return err
	}
	return p.dir.sync()
}

// Close keeps the partial file for another run; after Commit it does nothing.
func (p *Partial) Close() error {
	if p.file == nil {
		return nil
	}
	err := p.step(StepClose, p.file.Close)
	p.file = nil
	return err
}

// RemovePartial removes the partial file of a name, and its note, where a run
// ended between giving the file its name and that.
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

// RemovePartials removes all partial files of a folder.
func RemovePartials(folder Folder) error {
	d, ok := folder.(dir)
	if !ok {
		return nil
	}
	entries, err := d.entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), PartialPrefix) || e.IsDir() {
			continue
		}
		if err := d.remove(os.Remove, e.Name()); err != nil {
			return err
		}
	}
	return nil
}
