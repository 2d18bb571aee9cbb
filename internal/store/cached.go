package store

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"
)

// Limits of [Cached].
const (
	cachedFile  = 8 << 20  // bytes of the largest file that is kept
	cachedFiles = 64 << 20 // bytes of all files that are kept
)

// Cached returns a view of a folder for a program that reads its files several times, one
// name after the other. Small files of an object store are read with one request and kept
// in memory for a while, so the view may not show later changes. Another folder is returned
// unchanged.
func Cached(folder Folder) Folder {
	if o, ok := folder.(*objects); ok {
		return &cached{objects: o, files: map[string]*cachedObject{}}
	}
	return folder
}

// A cached is the folder that [Cached] returns.
type cached struct {
	*objects
	mu    sync.Mutex
	files map[string]*cachedObject
	names []string // names in files that are read completely, the oldest first
	bytes int64    // of the files in names
}

// A cachedObject is a file of a cached folder, while it is being read and afterwards.
type cachedObject struct {
	read sync.Mutex // held while the file is being read
	data []byte
	kept bool // data is the content
}

func (c *cached) Open(ctx context.Context, name string) (File, error) {
	return c.OpenAt(ctx, name, 0, ToEnd)
}

// OpenAt implements [OpenAt].
func (c *cached) OpenAt(ctx context.Context, name string, off, n int64) (File, error) {
	c.mu.Lock()
	o := c.files[name]
	if o == nil {
		o = &cachedObject{}
		c.files[name] = o
	}
	c.mu.Unlock()
	o.read.Lock()
	defer o.read.Unlock()
	if o.kept {
		return cachedReader{bytes.NewReader(o.data)}, nil
	}
	f, err := c.objects.OpenAt(ctx, name, off, n)
	if err != nil || f.Size() > cachedFile || off > 0 {
		return f, err
	}
	defer f.Close()
	o.data = make([]byte, f.Size())
	if _, err := f.ReadAt(o.data, 0); err != nil && err != io.EOF {
		return nil, err
	}
	o.kept = true
	c.keep(name, int64(len(o.data)))
	return cachedReader{bytes.NewReader(o.data)}, nil
}

// keep notes that a file is in memory, and forgets the oldest files above the limit.
func (c *cached) keep(name string, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names, c.bytes = append(c.names, name), c.bytes+size
	n := 0
	for c.bytes > cachedFiles && n < len(c.names)-1 {
		c.bytes -= int64(len(c.files[c.names[n]].data))
		delete(c.files, c.names[n])
		n++
	}
	c.names = slices.Delete(c.names, 0, n)
}

// A cachedReader is an open file of a cached folder.
type cachedReader struct{ *bytes.Reader }

func (cachedReader) Close() error { return nil }
