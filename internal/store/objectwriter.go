package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"time"
)

// partBytes is the size of the parts of an upload. S3 allows 10,000 parts, so files can have
// up to 80 GB.
const partBytes = 8 << 20

// An objectWriter writes an object, by an upload in parts if it is larger than
// one part.
type objectWriter struct {
	ctx    context.Context
	folder *objects
	key    string
	buf    []byte // at most partBytes
	size   int64
	sum    hash.Hash // SHA-256 of what was written
	upload Upload    // zero before the second part
	marker string    // name of the object that records the upload
	tags   []string  // tags of the uploaded parts
	made   string    // version of the object that was committed
	closed bool
}

func (o *objects) Create(ctx context.Context, name string) (Writer, error) {
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("create %q in %s: %w", name, o, err)
	}
	if err := o.lease.check(ctx); err != nil {
		return nil, err
	}
	return &objectWriter{ctx: ctx, folder: o, key: o.key(name), sum: sha256.New()}, nil
}

func (w *objectWriter) Write(p []byte) (n int, err error) {
	if w.closed {
		return 0, fmt.Errorf("write %s: already closed", w.key)
	}
	w.sum.Write(p)
	for len(p) > 0 {
		if len(w.buf) == partBytes {
			if err := w.flush(); err != nil {
				return n, err
			}
		}
		m := min(len(p), partBytes-len(w.buf))
		w.buf = append(w.buf, p[:m]...)
		p, n, w.size = p[m:], n+m, w.size+int64(m)
	}
	return n, nil
}

// uploadPrefix begins the names of objects that record incomplete uploads. They are needed
// because MinIO can list the uploads of one key only, not those of a folder.
const uploadPrefix = ".upload-"

// flush uploads the buffer as the next part.
func (w *objectWriter) flush() error {
	b := w.folder.b
	if w.upload.ID == "" {
		w.marker = w.folder.key(uploadPrefix + rand.Text())
		_, err := try(w.ctx, b, "put", w.marker, func() (Object, error) { return b.Put(w.ctx, w.marker, []byte(w.key), Condition{}) })
		if err != nil {
			return err
		}
		if w.upload, err = try(w.ctx, b, "begin", w.key, func() (Upload, error) { return b.Begin(w.ctx, w.key) }); err != nil {
			return err
		}
	}
	tag, err := try(w.ctx, b, "part", w.key, func() (string, error) { return b.Upload(w.ctx, w.upload, len(w.tags)+1, w.buf) })
	if err != nil {
		return err
	}
	count("written_bytes", int64(len(w.buf)))
	w.tags, w.buf = append(w.tags, tag), w.buf[:0]
	return nil
}

func (w *objectWriter) Commit() error { return w.commit(Condition{Absent: true}) }

func (w *objectWriter) Replace(old fs.FileInfo) error {
	if old == nil {
		return w.commit(Condition{})
	}
	object, ok := old.Sys().(Object)
	if !ok {
		return fmt.Errorf("replace %s: BUG: not described by its folder", w.key)
	}
	return w.commit(Condition{Version: object.Version})
}

// commit makes the object visible if the condition is met.
func (w *objectWriter) commit(when Condition) error {
	if w.closed {
		return fmt.Errorf("commit %s: already closed", w.key)
	}
	err := w.folder.lease.check(w.ctx)
	var made Object
	if err == nil {
		made, err = w.send(when)
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		// This also happens if our request succeeded but its response was lost: the retry
		// then finds the object, and no longer an upload.
		same, sameErr := w.same()
		switch {
		case sameErr != nil:
			err = sameErr
		case same:
			w.Abort()
			return nil
		case errors.Is(err, fs.ErrExist) || when.Version != "" && w.upload.ID == "": // the object was replaced or removed
			return &fs.PathError{Op: "commit", Path: w.folder.b.url + "/" + w.key, Err: fs.ErrExist}
		}
	}
	if err != nil {
		w.Abort()
		return err
	}
	w.made, w.closed, w.buf = made.Version, true, nil
	w.unmark(w.ctx)
	return nil
}

// send makes the request that creates the object.
func (w *objectWriter) send(when Condition) (Object, error) {
	b := w.folder.b
	if w.upload.ID == "" {
		object, err := try(w.ctx, b, "put", w.key, func() (Object, error) { return b.Put(w.ctx, w.key, w.buf, when) })
		if err == nil {
			count("written_bytes", int64(len(w.buf)))
		}
		return object, err
	}
	if len(w.buf) > 0 {
		if err := w.flush(); err != nil {
			return Object{}, err
		}
	}
	return try(w.ctx, b, "complete", w.key, func() (Object, error) { return b.Complete(w.ctx, w.upload, w.tags, when) })
}

// same reports whether the object exists and has the content that was written.
func (w *objectWriter) same() (bool, error) {
	o := &objects{b: w.folder.b, lease: new(lease)}
	f, err := o.Open(w.ctx, w.key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if f.Size() != w.size {
		return false, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, NewReader(f, 0)); err != nil {
		return false, err
	}
	return bytes.Equal(h.Sum(nil), w.sum.Sum(nil)), nil
}

// Withdraw implements [Committer]. It checks and removes the object in two requests, because
// S3 has no conditional removal. If another writer creates the object between the two, that
// object is lost; the stage of the other writer notices it.
func (w *objectWriter) Withdraw() error {
	if w.made == "" {
		return nil
	}
	ctx, cancel := cleanup(w.ctx)
	defer cancel()
	o := &objects{b: w.folder.b, lease: new(lease)}
	info, err := o.Stat(ctx, w.key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || info.Sys().(Object).Version != w.made {
		return err
	}
	return o.remove(ctx, w.key)
}

func (w *objectWriter) Abort() {
	if w.closed {
		return
	}
	w.closed, w.buf = true, nil
	ctx, cancel := cleanup(w.ctx)
	defer cancel()
	if w.upload.ID != "" {
		b := w.folder.b
		_, err := try(ctx, b, "cancel", w.key, func() (struct{}, error) { return struct{}{}, b.Cancel(ctx, w.upload) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return // Sweep of the next run cancels it
		}
	}
	w.unmark(ctx)
}

// unmark removes the object that records the upload.
func (w *objectWriter) unmark(ctx context.Context) {
	if w.marker == "" {
		return
	}
	o := &objects{b: w.folder.b, lease: new(lease)}
	if o.remove(ctx, w.marker) == nil { // else Sweep removes it
		w.marker = ""
	}
}

// cleanup returns a context for requests that clean up after ctx was cancelled.
func cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
}
