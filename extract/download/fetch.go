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

// A Result is what a file turned out to be.
type Result struct {
	Bytes  int64
	SHA256 string // in hexadecimal
}

// Hooks are what the caller of [Client.Fetch] does meanwhile. All may be nil.
type Hooks struct {
	// Progress is told of bytes that the file gained, by this run or earlier
	// ones, and, with a negative number, of bytes that proved to be worth
	// nothing.
	Progress func(n int64)
	// BeforeCommit is asked before the file gets its name; an error keeps it
	// from that.
	BeforeCommit func() error
}

// Fetch downloads a file into the directory dir and resumes a partial download of
// an earlier run. A file that is complete already, by its checksum, is kept. The
// error matches [ErrNetwork], [ErrNotFound], [ErrCorrupt] or [ErrOffline], or is one
// of the file system. After an error, the bytes received so far are kept.
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
		return Result{}, fmt.Errorf("%s: %w: the file is not there", f.Name, ErrOffline)
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
	if hooks.BeforeCommit != nil {
		if err := hooks.BeforeCommit(); err != nil {
			return Result{}, err
		}
	}
	return Result{Bytes: part.Size(), SHA256: t.sums.sha256()}, part.Commit()
}

// have reports whether a file is in a folder and has its checksum. It is false for a
// file without a checksum.
func have(ctx context.Context, folder store.Folder, f File) (Result, bool, error) {
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
	_, ok := s.match()
	return Result{Bytes: file.Size(), SHA256: s.sha256()}, ok, nil
}

// hashPrefix hashes the first n bytes of a file.
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

// A note stands beside a partial file and says what it is a part of.
type note struct {
	URL       string   `json:"url"`                  // without what may be secret
	URLSHA256 string   `json:"url_sha256,omitempty"` // of the whole, where URL is not
	Checksum  Checksum `json:"checksum,omitempty"`
	Validator string   `json:"validator,omitempty"` // strong ETag of the bytes that are there
	Total     int64    `json:"total,omitempty"`     // of the whole, 0 where it is not known
	// Synced is how many bytes are safely on disk. Only files without a
	// checksum need it: nothing else would find what a power failure left.
	Synced int64 `json:"synced,omitempty"`
}

// A transfer is a file on its way.
type transfer struct {
	client   *Client
	file     File
	part     *store.Partial
	progress func(n int64)
	sums     *sums // of all that is in part
	note     note
	restarts int  // how often all was thrown away
	ignored  int  // ranges that were not answered as they should be, in a row
	complete bool // by the word of the server, where no length is known
}

// resume takes over what earlier runs got.
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

// address is the note of a file of which nothing is there.
func (t *transfer) address() note {
	f := t.file.Redacted()
	return note{URL: f.URL, URLSHA256: f.URLSHA256, Checksum: f.Checksum}
}

// reset throws away what was got. The bytes go before the note does, so that no
// note ever stands beside bytes of something else.
func (t *transfer) reset() error {
	t.progress(-t.part.Size())
	if err := t.part.Truncate(0); err != nil {
		return err
	}
	t.sums, t.complete = newSums(t.file.Checksum), false
	t.note = t.address()
	return nil
}

// resumable reports whether the rest of the file may be appended to what is
// there. A checksum proves the whole in the end; without one, only a strong
// validator and the length of the whole tell whether two answers are parts of
// one version.
func (t *transfer) resumable() bool {
	return t.file.Checksum != "" || t.note.Validator != "" && t.note.Total > 0
}

// total is the length of the whole, 0 where it is not known.
func (t *transfer) total() int64 {
	if t.file.Bytes > 0 {
		return t.file.Bytes
	}
	return t.note.Total
}

// maxRestarts is how often a file is fetched anew from its beginning.
const maxRestarts = 3

// restart is reset for a reason, which ends the transfer when it is one too many.
func (t *transfer) restart(reason error) error {
	if t.restarts++; t.restarts > maxRestarts {
		return &fatalError{reason}
	}
	return t.reset()
}

// run fetches until the file is whole and right.
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
		if isStorage(err) {
			return err
		}
		brought := t.part.Size() - before
		if !t.resumable() {
			brought = 0 // it will be thrown away
		}
		if err := failures.failed(ctx, err, brought); err != nil {
			return err
		}
	}
}

// done reports whether all bytes are there.
func (t *transfer) done() bool {
	return t.complete || t.total() > 0 && t.part.Size() == t.total()
}

// storageError marks an error of the disk: no other attempt would help.
type storageError struct{ error }

func (e *storageError) Unwrap() error { return e.error }

func isStorage(err error) bool {
	var s *storageError
	return errors.As(err, &s)
}

// verify compares a finished file with its checksum. Where they differ it asks
// for the file's true length: a transfer that ended too early or late is mended
// by that. Anything else is damage, and the file is fetched anew.
func (t *transfer) verify(ctx context.Context) error {
	got, ok := t.sums.match()
	if ok {
		return nil
	}
	mismatch := fmt.Errorf("%w: %d bytes with checksum %s, %s says %s", ErrCorrupt, t.part.Size(), got, t.file.ChecksumSource, t.file.Checksum)
	if t.file.Bytes == 0 && t.longer(ctx) {
		return errPart // the next attempt brings the rest
	}
	if _, ok := t.sums.match(); ok {
		return nil
	}
	if err := t.restart(mismatch); err != nil {
		return err
	}
	return mismatch
}

// longer asks for what may come after the bytes that are there and reports
// whether there is more. Bytes that came after the end are dropped.
func (t *transfer) longer(ctx context.Context) bool {
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
	switch {
	case r.StatusCode == http.StatusPartialContent && span.first == size:
		t.note.Total, t.complete = span.total, false
		return true
	case r.StatusCode == http.StatusRequestedRangeNotSatisfiable && span.total < size:
		t.cut(ctx, span.total)
	}
	return false
}

// cut drops what came after the end of the file. Where that cannot be done the
// checksum stays wrong, and the file is fetched anew.
func (t *transfer) cut(ctx context.Context, total int64) {
	beyond := t.part.Size() - total
	if t.part.Truncate(total) != nil {
		return
	}
	t.progress(-beyond)
	t.note.Total, t.sums = total, newSums(t.file.Checksum)
	if hashPrefix(ctx, t.sums, t.part, total) != nil {
		t.sums = newSums(t.file.Checksum)
	}
}
