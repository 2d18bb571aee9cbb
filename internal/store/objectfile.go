package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"sync"
)

const (
	// headBytes is the number of bytes read when an object is opened. Most JSON files
	// are smaller, so that they take one request.
	headBytes = 16 << 10
	// Sequential reads request windows of growing size, so that a reader that stops
	// early wastes little, and a reader of the whole object makes few requests.
	firstWindow   = 8 << 20
	longestWindow = 64 << 20
	// skipBytes is the largest gap that is read and dropped instead of making a
	// new request.
	skipBytes = 128 << 10
)

// An objectFile is an open object. Consecutive reads share one request.
type objectFile struct {
	ctx    context.Context
	b      *bucket
	object Object
	head   []byte // the first bytes

	mu     sync.Mutex
	stream io.ReadCloser // answer to the last request; nil: none
	at     int64         // offset of the stream
	end    int64         // offset at which the stream ends
	last   int64         // end of the last read
	window int64         // bytes of the last sequential request
	until  int64         // end of the range announced by Sequential
}

func (o *objects) Open(ctx context.Context, name string) (File, error) {
	key := o.key(name)
	f := &objectFile{ctx: ctx, b: o.b}
	var err error
	f.head, err = try(ctx, o.b, "get", key, func() (head []byte, err error) {
		var body io.ReadCloser
		if body, f.object, err = o.b.Get(ctx, key, Part{Length: headBytes}); err != nil {
			return nil, err
		}
		defer body.Close()
		head = make([]byte, min(headBytes, f.object.Size))
		_, err = io.ReadFull(body, head)
		return head, transient(err)
	})
	if err != nil {
		return nil, err
	}
	count("read_bytes", int64(len(f.head)))
	f.last = int64(len(f.head))
	return f, nil
}

// OpenAt implements [OpenAt]: the request that opens the object is also the first that
// reads it.
func (o *objects) OpenAt(ctx context.Context, name string, off, n int64) (File, error) {
	key := o.key(name)
	f := &objectFile{ctx: ctx, b: o.b}
	length := min(n, longestWindow)
	if n == ToEnd {
		length = firstWindow
	}
	body, err := try(ctx, o.b, "get", key, func() (body io.ReadCloser, err error) {
		body, f.object, err = o.b.Get(ctx, key, Part{Offset: off, Length: length})
		return body, err
	})
	if err != nil {
		return nil, err
	}
	f.until = f.object.Size
	if n != ToEnd {
		f.until = min(off+n, f.object.Size)
	}
	f.stream, f.at, f.end, f.last, f.window = body, off, min(off+length, f.object.Size), off, length
	return f, nil
}

// transient marks the error of a response that ended early, so that the request is retried.
func transient(err error) error {
	if err == nil || errors.Is(err, ErrTransient) {
		return err
	}
	return &brokenError{err}
}

// A brokenError reports a response that ended early.
type brokenError struct{ err error }

func (e *brokenError) Error() string        { return "the answer was cut off: " + e.err.Error() }
func (e *brokenError) Unwrap() error        { return e.err }
func (e *brokenError) Is(target error) bool { return target == ErrTransient }

func (f *objectFile) Size() int64 { return f.object.Size }

// Sequential announces that the n bytes from off on will be read in order.
func (f *objectFile) Sequential(off, n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = min(off+n, f.object.Size)
	if off >= int64(len(f.head)) {
		f.last = off
	} else {
		f.last = int64(len(f.head))
	}
}

func (f *objectFile) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, &fs.PathError{Op: "read", Path: f.b.url + "/" + f.object.Key, Err: fs.ErrInvalid}
	}
	if off < int64(len(f.head)) {
		n = copy(p, f.head[off:])
		off += int64(n)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	want := min(int64(len(p)-n), max(0, f.object.Size-off))
	m, err := f.read(p[n:n+int(want)], off)
	n += m
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// read fills p with the bytes from offset off. off+len(p) must not exceed the object's size.
func (f *objectFile) read(p []byte, off int64) (n int, err error) {
	w := newWait(f.b)
	for n < len(p) {
		if err = f.seek(off+int64(n), int64(len(p)-n)); err != nil {
			return n, err
		}
		m, err := io.ReadFull(f.stream, p[n:n+int(min(int64(len(p)-n), f.end-f.at))])
		n += m
		f.at += int64(m)
		count("read_bytes", int64(m))
		if err == nil {
			continue
		}
		f.close()
		if f.ctx.Err() != nil {
			return n, f.ctx.Err()
		}
		if m > 0 {
			w = newWait(f.b)
		}
		if !w.next(f.ctx, err) {
			return n, &requestError{f.b.url + "/" + f.object.Key, transient(err)}
		}
	}
	f.last = off + int64(n)
	return n, nil
}

// seek positions the stream at off, with at least one byte left. If necessary, it makes a
// new request. n is the number of bytes that the caller wants.
func (f *objectFile) seek(off, n int64) error {
	if f.stream != nil && off > f.at && off-f.at <= skipBytes && off < f.end {
		m, err := io.CopyN(io.Discard, f.stream, off-f.at)
		f.at += m
		count("read_bytes", m)
		if err != nil {
			f.close() // a new request follows below
		}
	}
	if f.stream != nil && off == f.at && f.at < f.end {
		return nil
	}
	length := n
	if off == f.last || f.stream != nil && off == f.at { // sequential
		f.window = min(max(2*f.window, firstWindow), longestWindow)
		if off < f.until {
			f.window = min(f.until-off, longestWindow)
		}
		length = max(n, f.window)
	} else {
		f.window = 0
	}
	f.close()
	length = min(length, f.object.Size-off)
	body, err := try(f.ctx, f.b, "get", f.object.Key, func() (io.ReadCloser, error) {
		body, _, err := f.b.Get(f.ctx, f.object.Key, Part{off, length, f.object.Version})
		return body, err
	})
	if errors.Is(err, fs.ErrExist) { // the object has another version
		return &fs.PathError{Op: "read", Path: f.b.url + "/" + f.object.Key, Err: errors.New("the object was replaced while it was read")}
	}
	f.stream, f.at, f.end = body, off, off+length
	return err
}

func (f *objectFile) close() {
	if f.stream != nil {
		f.stream.Close()
		f.stream = nil
	}
}

func (f *objectFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.close()
	return nil
}

// ToEnd is a number of bytes for [OpenAt]: all to the end of the file.
const ToEnd = math.MaxInt64

// OpenAt opens a file whose n bytes from off on are read next, in order. With an object
// store it takes one request less than [Opener.Open] and [Sequential]. off must be in the
// file, or 0.
func OpenAt(ctx context.Context, folder Opener, name string, off, n int64) (File, error) {
	if o, ok := folder.(interface {
		OpenAt(ctx context.Context, name string, off, n int64) (File, error)
	}); ok {
		return o.OpenAt(ctx, name, off, n)
	}
	return folder.Open(ctx, name)
}

// Sequential announces that the n bytes of f from off on will be read in order,
// so that an object store gets few requests. It does nothing for other files.
func Sequential(f File, off, n int64) {
	if s, ok := f.(interface{ Sequential(off, n int64) }); ok {
		s.Sequential(off, n)
	}
}
