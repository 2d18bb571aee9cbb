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
	if err := os.MkdirAll(string(d), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(d.path(PartialName(name)), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, namedPartial(err, "create", d.path(name))
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		f.Close()
		return nil, namedPartial(err, "create", d.path(name))
	}
	return &Partial{file: f, dir: d, name: name, size: size}, nil
}

// namedPartial puts the name that a person knows into an error.
func namedPartial(err error, op, path string) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return &fs.PathError{Op: op, Path: path, Err: p.Err}
	}
	return err
}

// Size is how many bytes were written, by this run and by those before it.
func (p *Partial) Size() int64 { return p.size }

// ReadAt implements [io.ReaderAt].
func (p *Partial) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.file.ReadAt(b, off)
	return n, namedPartial(err, "read", p.dir.path(p.name))
}

// Write appends.
func (p *Partial) Write(b []byte) (int, error) {
	n, err := p.file.WriteAt(b, p.size)
	p.size += int64(n)
	return n, namedPartial(err, "write", p.dir.path(p.name))
}

// Truncate drops all but the first n bytes.
func (p *Partial) Truncate(n int64) error {
	if err := p.file.Truncate(n); err != nil {
		return namedPartial(err, "truncate", p.dir.path(p.name))
	}
	p.size = min(p.size, n)
	return nil
}

// Sync makes what was written durable.
func (p *Partial) Sync() error {
	return namedPartial(p.file.Sync(), "sync", p.dir.path(p.name))
}

const noteSuffix = ".note"

func (p *Partial) notePath() string { return p.dir.path(PartialName(p.name) + noteSuffix) }

// Note returns the note, nil where there is none.
func (p *Partial) Note() []byte {
	b, err := os.ReadFile(p.notePath())
	if err != nil {
		return nil // without its note a partial file is worth nothing, and is begun anew
	}
	return b
}

// SetNote replaces the note, at once and whole.
func (p *Partial) SetNote(note []byte) error {
	f, err := p.dir.createTemp()
	if err != nil {
		return named(err, "create", p.dir.path(p.name))
	}
	_, err = f.Write(note)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), p.notePath())
	}
	if err != nil {
		os.Remove(f.Name())
		return named(err, "write", p.dir.path(p.name))
	}
	return nil
}

// Commit makes the partial file a file of its folder, durable and whole.
func (p *Partial) Commit() error {
	path := p.dir.path(p.name)
	if p.file == nil {
		return fmt.Errorf("commit %s: already closed", path)
	}
	if err := p.Sync(); err != nil {
		return err
	}
	if err := p.Close(); err != nil {
		return err
	}
	if err := os.Rename(p.dir.path(PartialName(p.name)), path); err != nil {
		return err
	}
	if err := os.Remove(p.notePath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(string(p.dir))
}

// Close keeps the partial file for another run; after Commit it does nothing.
func (p *Partial) Close() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.file = nil
	return namedPartial(err, "close", p.dir.path(p.name))
}

// RemovePartials removes all partial files of a folder.
func RemovePartials(folder Folder) error {
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
		if !strings.HasPrefix(e.Name(), PartialPrefix) || e.IsDir() {
			continue
		}
		if err := os.Remove(d.path(e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
