package sharding

import (
	"context"
	"io"
	"io/fs"
)

// A Folder gives access to the files of one directory of a data set. [Open] returns
// Folders on the local disk; implement it to read from another place. A Folder is
// safe for concurrent use.
type Folder interface {
	// Open opens a file for reading. If it does not exist, the error matches
	// [fs.ErrNotExist].
	Open(ctx context.Context, name string) (File, error)
	// Stat describes a file without opening it.
	Stat(ctx context.Context, name string) (fs.FileInfo, error)
	// String returns the location, for messages.
	String() string
}

// A File is an open file of a [Folder].
type File = interface {
	io.ReaderAt
	io.Closer
	Size() int64
}
