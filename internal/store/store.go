// Package store reads and writes folders of files, in the local file system or in an object
// store. Other packages do not depend on which of the two it is.
//
// A [Folder] is a set of immutable files with plain names. Stages of the
// pipeline exchange data only through folders. A file becomes visible as a
// whole, with [Writer.Commit]; the interface has no rename, append or partial
// write, so that an object store can implement it. A commit does not replace a
// file. Writing a file again with the same bytes succeeds, so a task may run twice.
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
// A Folder is safe for concurrent use; a [File] or [Writer] is not.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"pretext/internal/failure"
)

// TempPrefix begins the name of every uncommitted file. Temporary names never
// contain the final name, so that no reader's pattern, such as *.tfrecord*,
// matches them.
const TempPrefix = ".tmp-"

// ErrNotFile is the error for a path that is a folder, device, pipe or socket, which
// cannot be read at an offset and may have no end.
var ErrNotFile = failure.Usage(errors.New("not a regular file"))

// A Folder is a set of files with names without slashes, and of subfolders.
type Folder interface {
	// Open opens a committed file. If it does not exist, the error matches
	// [fs.ErrNotExist].
	Open(ctx context.Context, name string) (File, error)
	// Create starts to write a file. It creates the folder if necessary. Several
	// writers may write the same name at once.
	Create(ctx context.Context, name string) (Writer, error)
	// Stat describes a committed file without opening it.
	Stat(ctx context.Context, name string) (fs.FileInfo, error)
	// List returns the committed files, sorted by name, without temporary files
	// and subfolders.
	List(ctx context.Context) ([]fs.FileInfo, error)
	// Remove removes a file durably. If the file does not exist, it returns nil.
	Remove(ctx context.Context, name string) error
	// Folder returns a subfolder, which need not exist.
	Folder(name string) Folder
	// String returns the location, in the form that [Open] accepts.
	String() string

	// lock locks the folder, creating it if necessary, without waiting.
	lock() (held, error)
	// sweep implements [Sweep].
	sweep() error
}

// A File is a committed file, open for reading at any offset. It is an alias, so
// that public packages can name the same type.
type File = interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// A Writer writes one file.
type Writer interface {
	io.Writer
	Committer
	// Abort discards the written bytes. It does nothing after a commit.
	Abort()
}

// A Committer gives a complete file its final name. After an error that matches
// [fs.ErrExist], Commit, Replace or Abort must follow; any other result ends
// the writer. It is an alias, so that public packages can name the same type.
type Committer = interface {
	// Commit makes the file durable and visible under its name. If another file has
	// that name already, the error matches [fs.ErrExist], unless both have the same
	// content.
	Commit() error
	// Replace makes the file durable and visible under its name, in place of the
	// existing file that old, a result of [Folder.Stat], describes. If another file
	// has the name meanwhile, the error matches [fs.ErrExist]. If old is nil, any
	// existing file is replaced.
	Replace(old fs.FileInfo) error
	// Withdraw removes the file again after a commit. It does not remove the file if
	// another writer has replaced it, or if Commit found an equal file.
	Withdraw() error
}

// errNotLocal is the error for a location of an object store where a directory of
// the local file system is needed.
var errNotLocal = failure.Usage(errors.New("not a local directory"))

// local returns a folder as a local directory.
func local(folder Folder, what string) (dir, error) {
	if d, ok := folder.(dir); ok {
		return d, nil
	}
	return "", fmt.Errorf("%s %s: %w", what, folder, errNotLocal)
}

// Open returns the folder at a location: a path of the local file system, or the
// URL of an object store of a scheme that the program has [Register]ed. It need
// not exist.
func Open(location string) (Folder, error) {
	if location == "" {
		return nil, fmt.Errorf("open folder: empty path")
	}
	l := Locate(location)
	if path, ok := l.Local(); ok {
		return dir(path), nil
	}
	return openObjects(l)
}

// OpenPath opens a file by its location. A folder, device, pipe or socket is a usage
// error.
func OpenPath(ctx context.Context, location string) (File, error) {
	return openPath(location, func(f Folder, name string) (File, error) { return f.Open(ctx, name) })
}

// OpenStream is [OpenPath] for a file that is read from its beginning in order.
func OpenStream(ctx context.Context, location string) (File, error) {
	return openPath(location, func(f Folder, name string) (File, error) { return OpenAt(ctx, f, name, 0, ToEnd) })
}

// openPath implements OpenPath. open opens a file of an object store.
func openPath(location string, open func(Folder, string) (File, error)) (File, error) {
	if path, ok := Locate(location).Local(); ok {
		f, err := openFile(path)
		if err != nil {
			return nil, err // not f: a nil *dirFile in an interface is not nil
		}
		return f, nil
	}
	folder, err := Open(Dir(location))
	if err != nil {
		return nil, err
	}
	return open(folder, Base(location))
}

// Stat describes the file or folder at a location.
func Stat(ctx context.Context, location string) (fs.FileInfo, error) {
	l := Locate(location)
	if path, ok := l.Local(); ok {
		return os.Stat(path)
	}
	return statObjects(ctx, l)
}

// ReadDir returns the files and subfolders of the folder at a location, sorted by name. It
// includes names that begin with a dot.
func ReadDir(ctx context.Context, location string) ([]fs.DirEntry, error) {
	l := Locate(location)
	if path, ok := l.Local(); ok {
		return os.ReadDir(path)
	}
	return readObjects(ctx, l)
}

// An Opener opens files for reading. Every [Folder] is an Opener.
type Opener interface {
	Open(ctx context.Context, name string) (File, error)
}

// ReadFile returns the whole content of a small file of a data set, see [Parts].
func ReadFile(ctx context.Context, folder Opener, name string) ([]byte, error) {
	f, err := OpenAt(ctx, folder, name, 0, ToEnd)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Parts.read(f, name)
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
	return w.Replace(nil)
}

// AddFile creates a small file. If a file of that name exists, AddFile does not change it,
// and returns a usage error unless the content is the same.
func AddFile(ctx context.Context, folder Folder, name string, data []byte) error {
	w, err := folder.Create(ctx, name)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := w.Write(data); err != nil {
		return err
	}
	err = w.Commit()
	if errors.Is(err, fs.ErrExist) {
		return failure.Usagef("%s exists with other content: give another folder", Join(folder.String(), name))
	}
	return err
}

// NewReader returns a reader of the bytes of f from offset to the end.
func NewReader(f File, offset int64) io.Reader {
	Sequential(f, offset, f.Size()-offset)
	return io.NewSectionReader(f, offset, f.Size()-offset)
}
