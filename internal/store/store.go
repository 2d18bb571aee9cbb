// Package store is the one place that knows where files live.
//
// A [Folder] is a set of immutable files under plain names. Stages of the
// pipeline meet only in folders, so that a folder may one day be a bucket of
// an object store: there is no rename, no append and no partial write in the
// interface, and nothing is visible before [Writer.Commit]. Writing equal bytes
// under the same name again is legal; that is what makes a repeated task
// harmless.
//
//	w, err := folder.Create(ctx, "train-00000-of-00004.tfrecord")
//	if err != nil {
//		return err
//	}
//	defer w.Abort() // does nothing after Commit
//	if _, err := w.Write(data); err != nil {
//		return err
//	}
//	return w.Commit()
//
// Folders are safe for concurrent use; files and writers are not.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// TempPrefix begins the name of every file that is not committed. Such names
// never contain the name under construction, so that no pattern a reader uses
// (*.tfrecord*) can match them.
const TempPrefix = ".tmp-"

// ErrNotFile says that a name belongs to a folder, a device or a pipe: such
// things cannot be read at any offset.
var ErrNotFile = errors.New("not a regular file")

// A Folder is a set of files with slash-free names, and folders below it.
type Folder interface {
	// Open opens a committed file. The error matches [fs.ErrNotExist] when
	// there is none.
	Open(ctx context.Context, name string) (File, error)
	// Create begins a file. The folder is made if it does not exist.
	Create(ctx context.Context, name string) (Writer, error)
	// Scratch creates a nameless temporary file that is gone when closed.
	Scratch(ctx context.Context) (Scratch, error)
	// Stat returns what is known of a committed file without opening it.
	Stat(ctx context.Context, name string) (Info, error)
	// List returns the committed files sorted by name; temporary files and
	// folders are not among them.
	List(ctx context.Context) ([]Info, error)
	// Remove deletes a file for good; a file that does not exist is no error.
	Remove(ctx context.Context, name string) error
	// Folder returns the folder below this one; it need not exist.
	Folder(name string) Folder
	// String returns the location as [Open] takes it.
	String() string
}

// A File is a committed file open for reading at any offset.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// A Writer writes one file. Exactly one of Commit and Abort takes effect: the
// first that is called.
type Writer interface {
	io.Writer
	// Commit makes the file durable and visible under its name.
	Commit() error
	// Abort discards what was written.
	Abort()
}

// A Scratch is a temporary file for one task.
type Scratch interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// Info describes a committed file.
type Info struct {
	Name string
	Size int64
}

// Open returns the folder at a location: a path of the local file system.
func Open(location string) (Folder, error) {
	if scheme, _, ok := strings.Cut(location, "://"); ok {
		return nil, fmt.Errorf("open folder %q: no support for %s:// locations, give a local path", location, scheme)
	}
	if location == "" {
		return nil, fmt.Errorf("open folder: empty path")
	}
	return dir(location), nil
}

// ReadFile returns the whole content of a small file.
func ReadFile(ctx context.Context, folder Folder, name string) ([]byte, error) {
	f, err := folder.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, f.Size())
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return b, nil
}

// WriteFile creates or replaces a small file.
func WriteFile(ctx context.Context, folder Folder, name string, data []byte) error {
	w, err := folder.Create(ctx, name)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Commit()
}

// NewReader returns a sequential reader of a file from an offset to its end.
func NewReader(f File, offset int64) io.Reader {
	return io.NewSectionReader(f, offset, f.Size()-offset)
}
