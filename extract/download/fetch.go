package download

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"

	"pretext/internal/store"
)

// A Result describes a downloaded file.
type Result struct {
	Bytes  int64
	SHA256 string // in hexadecimal
}

// Hooks are functions that [Client.Fetch] calls. All may be nil.
type Hooks struct {
	// Progress is called when bytes are added to the file. n is their number. Bytes
	// from an earlier run are included. n is negative if bytes were discarded.
	Progress func(n int64)
	// Commit gives the complete file its final name. If Commit is nil, the file
	// replaces an existing file with that name.
	Commit func(Committer) error
}

// A Committer gives a complete file its final name. Commit fails if a file with that
// name exists. Replace replaces the file described by old, or any file if old is nil.
// An error that matches [fs.ErrExist] means that another file has the name. Withdraw
// removes the file again, unless it was replaced in the meantime.
type Committer = interface {
	Commit() error
	Replace(old fs.FileInfo) error
	Withdraw() error
}

// Fetch downloads the file f into the directory dir. It resumes a partial
// download of an earlier run, and downloads nothing if a file with the name and
// checksum of f exists. The error matches [ErrNetwork], [ErrNotFound],
// [ErrCorrupt], [ErrRefused] or [ErrOffline], or is an error of the file
// system. After an error, the bytes received so far are kept.
func (c *Client) Fetch(ctx context.Context, dir string, f File, hooks Hooks) (Result, error) {
	folder, err := store.Open(dir)
	if err != nil {
		return Result{}, err
	}
	if hooks.Progress == nil {
		hooks.Progress = func(int64) {}
	}
	if r, ok, err := have(ctx, folder, f); err != nil || ok {
		if err == nil {
			err = store.RemovePartial(folder, f.Name)
		}
		hooks.Progress(r.Bytes)
		return r, err
	}
	if c.options.Offline {
		return Result{}, fmt.Errorf("%s: %w: the file has not been downloaded yet", f.Name, ErrOffline)
	}
	if f.Bytes > c.options.MaxBytes {
		return Result{}, fmt.Errorf("%s: %w: %d bytes, more than the limit of %d", f.Name, ErrRefused, f.Bytes, c.options.MaxBytes)
	}
	part, err := store.OpenPartial(folder, f.Name)
	if err != nil {
		return Result{}, err
	}
	defer part.Close()
	t := &transfer{client: c, file: f, part: part, progress: hooks.Progress}
	if err := t.resume(ctx); err != nil {
		return Result{}, err
	}
	if err := t.run(ctx); err != nil {
		return Result{}, fmt.Errorf("download %s: %w", f.Name, err)
	}
	if hooks.Commit == nil {
		hooks.Commit = func(c Committer) error { return c.Replace(nil) }
	}
	return Result{Bytes: part.Size(), SHA256: t.sums.sha256()}, hooks.Commit(part)
}

// have reports whether the folder contains the file f with its checksum. If so, r
// describes it. For a file without a checksum, ok is false.
func have(ctx context.Context, folder store.Folder, f File) (r Result, ok bool, err error) {
	if f.Checksum == "" {
		return Result{}, false, nil
	}
	file, err := folder.Open(ctx, f.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return Result{}, false, nil
	}
	if err != nil {
		return Result{}, false, err
	}
	defer file.Close()
	if f.Bytes > 0 && f.Bytes != file.Size() {
		return Result{}, false, nil
	}
	s := newSums(f.Checksum)
	if err := hashPrefix(ctx, s, file, file.Size()); err != nil {
		return Result{}, false, fmt.Errorf("read %s: %w", f.Name, err)
	}
	_, ok = s.match()
	return Result{Bytes: file.Size(), SHA256: s.sha256()}, ok, nil
}

// hashPrefix writes the first n bytes of from to the hash to.
func hashPrefix(ctx context.Context, to io.Writer, from io.ReaderAt, n int64) error {
	buf := make([]byte, 256<<10)
	for at := int64(0); at < n; {
		if err := ctx.Err(); err != nil {
			return err
		}
		got, err := from.ReadAt(buf[:min(int64(len(buf)), n-at)], at)
		to.Write(buf[:got])
		at += int64(got)
		if err != nil && at < n {
			return err
		}
	}
	return nil
}

// A note is stored next to a partial file. It identifies the file, and the version of
// the file, that the partial file is the beginning of.
type note struct {
	URL       string   `json:"url"`                  // redacted
	URLSHA256 string   `json:"url_sha256,omitempty"` // hash of the complete URL, if URL is redacted
	Checksum  Checksum `json:"checksum,omitempty"`
	Validator string   `json:"validator,omitempty"` // strong ETag of the file version that the bytes are from
	Total     int64    `json:"total,omitempty"`     // size of the complete file, 0 if unknown
	// Synced is the number of bytes flushed to disk. It is used only for files without
	// a checksum, because there the loss of bytes in a power failure would not be
	// detected.
	Synced int64 `json:"synced,omitempty"`
}

// A transfer is the download of one file.
type transfer struct {
	client   *Client
	file     File
	part     *store.Partial
	progress func(n int64)
	sums     *sums // hashes of the bytes in part
	note     note
	restarts int  // how often the download was started again from byte 0
	ignored  int  // consecutive range requests with an invalid response
	complete bool // the server has sent the whole file; for files of unknown size
}

// resume prepares to continue the partial file of an earlier run. It empties the
// partial file if its note is about another file or version, or if the rest of the file
// cannot be requested.
func (t *transfer) resume(ctx context.Context) error {
	t.sums = newSums(t.file.Checksum)
	if err := json.Unmarshal(t.part.Note(), &t.note); err != nil || t.note.URL != t.address().URL || t.note.URLSHA256 != t.address().URLSHA256 || t.note.Checksum != t.file.Checksum {
		return t.reset()
	}
	if !isStrong(t.note.Validator) {
		t.note.Validator = ""
	}
	keep := t.part.Size()
	if t.file.Checksum == "" {
		keep = min(keep, t.note.Synced)
	}
	if !t.resumable() {
		keep = 0
	}
	if total := t.total(); total > 0 && keep > total {
		keep = 0
	}
	if err := t.part.Truncate(keep); err != nil {
		return err
	}
	t.progress(keep)
	return hashPrefix(ctx, t.sums, t.part, keep)
}

// address returns the note for the file before any bytes are received.
func (t *transfer) address() note {
	f := t.file.Redacted()
	return note{URL: f.URL, URLSHA256: f.URLSHA256, Checksum: f.Checksum}
}

// reset discards all bytes of the partial file. It truncates the file before it
// changes the note, so that a note never describes bytes of another version.
func (t *transfer) reset() error {
	t.progress(-t.part.Size())
	if err := t.part.Truncate(0); err != nil {
		return err
	}
	t.sums, t.complete = newSums(t.file.Checksum), false
	t.note = t.address()
	return nil
}

// resumable reports whether the rest of the file may be appended to the partial file.
// It may if the file has a checksum, which will verify the result. Without a checksum,
// a strong ETag and the size of the whole file are needed to show that two responses
// are parts of the same version.
func (t *transfer) resumable() bool {
	return t.file.Checksum != "" || t.note.Validator != "" && t.note.Total > 0
}

// total returns the size of the complete file, 0 if unknown.
func (t *transfer) total() int64 {
	if t.file.Bytes > 0 {
		return t.file.Bytes
	}
	return t.note.Total
}

// maxRestarts is the maximum number of times that a download is started again from byte
// 0.
const maxRestarts = 3

// restart discards all bytes because of reason. After too many restarts it returns a
// [fatalError].
func (t *transfer) restart(reason error) error {
	if t.restarts++; t.restarts > maxRestarts {
		return &fatalError{reason}
	}
	return t.reset()
}

// run sends requests until the file is complete and verified.
func (t *transfer) run(ctx context.Context) error {
	failures := attempts{client: t.client, url: t.file.URL}
	for {
		before := t.part.Size()
		err := t.attempt(ctx)
		if err == nil && t.done() {
			if err = t.verify(ctx); err == nil {
				return nil
			}
		} else if err == nil {
			err = errPart
		}
		if storage := (*storageError)(nil); errors.As(err, &storage) {
			return err
		}
		brought := t.part.Size() - before
		if !t.resumable() {
			brought = 0 // these bytes will be discarded
		}
		if err := failures.failed(ctx, err, brought); err != nil {
			return err
		}
	}
}

// done reports whether all bytes have been received.
func (t *transfer) done() bool {
	return t.complete || t.total() > 0 && t.part.Size() == t.total()
}

// A storageError is an error of the local file system. Another attempt would fail too.
type storageError struct{ error }

func (e *storageError) Unwrap() error { return e.error }

// verify compares a complete file with its checksum. After a mismatch it asks
// the server for the true size. If the partial file is too short, the rest is
// requested; if it is too long, it is truncated. Otherwise the file is corrupt
// and is downloaded again.
func (t *transfer) verify(ctx context.Context) error {
	got, ok := t.sums.match()
	if ok {
		return nil
	}
	mismatch := fmt.Errorf("%w: %d bytes with checksum %s, %s says %s", ErrCorrupt, t.part.Size(), got, t.file.ChecksumSource, t.file.Checksum)
	if t.file.Bytes == 0 && t.hasMore(ctx) {
		return errPart // the next attempt requests the rest
	}
	if _, ok := t.sums.match(); ok {
		return nil
	}
	if err := t.restart(mismatch); err != nil {
		return err
	}
	return mismatch
}

// hasMore asks the server whether the file is longer than the partial file. If the
// server's file is shorter, hasMore truncates the partial file to that size and returns
// false. If truncating fails, the checksum remains wrong and the file is downloaded
// again.
func (t *transfer) hasMore(ctx context.Context) bool {
	size := t.part.Size()
	r, err := t.request(ctx, size)
	if err != nil {
		return false
	}
	defer r.close()
	span, err := parseContentRange(r.Header.Get("Content-Range"))
	if err != nil || span.total < 0 {
		return false
	}
	if r.StatusCode == http.StatusPartialContent && span.first == size {
		t.note.Total, t.complete = span.total, false
		return true
	}
	if r.StatusCode != http.StatusRequestedRangeNotSatisfiable || span.total >= size || t.part.Truncate(span.total) != nil {
		return false
	}
	t.progress(span.total - size)
	t.note.Total, t.sums = span.total, newSums(t.file.Checksum)
	if hashPrefix(ctx, t.sums, t.part, span.total) != nil {
		t.sums = newSums(t.file.Checksum)
	}
	return false
}
