package download

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Failures after which another attempt may succeed.
var (
	errIgnoredRange = errors.New("the server sends the whole file again instead of the rest")
	errChanged      = errors.New("the file changed on the server during the download")
	errPart         = errors.New("the server sent only a part of the missing bytes")
)

// request sends a request for the bytes from offset to the end of the file.
func (t *transfer) request(ctx context.Context, offset int64) (*response, error) {
	h := http.Header{"Accept-Encoding": {"identity"}}
	if offset > 0 {
		h.Set("Range", fmt.Sprintf("bytes=%d-", offset))
		if t.note.Validator != "" {
			h.Set("If-Range", t.note.Validator)
		}
	}
	return t.client.open(ctx, http.MethodGet, t.file.URL, h)
}

// attempt sends one request for the missing bytes and appends the response to
// the partial file.
func (t *transfer) attempt(ctx context.Context) error {
	if t.done() {
		return nil
	}
	if t.part.Size() > 0 && !t.resumable() {
		if err := t.reset(); err != nil {
			return err
		}
	}
	offset := t.part.Size()
	r, err := t.request(ctx, offset)
	if err != nil {
		return err
	}
	defer r.close()
	if r.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return t.beyond(r)
	}
	if err := t.client.statusOf(r); err != nil {
		return err
	}
	body, err := t.checkContent(r) // before existing bytes are discarded
	if err != nil {
		return err
	}
	left, err := t.accept(r, offset)
	if err != nil {
		return err
	}
	if err := t.append(body, left); err != nil {
		return err
	}
	t.complete = r.StatusCode == http.StatusOK // the body was the whole file
	return nil
}

// beyond handles status 416, "range not satisfiable". Either the partial file
// is complete, or it belongs to another version of the file and is discarded.
func (t *transfer) beyond(r *response) error {
	span, err := parseContentRange(r.Header.Get("Content-Range"))
	known := t.file.Checksum != "" || strongTag(r.Header) == t.note.Validator
	if err == nil && known && span.total == t.part.Size() && t.file.Bytes == 0 && t.part.Size() > 0 {
		t.note.Total = span.total
		return nil
	}
	reason := fmt.Errorf("status %s at byte %d", r.Status, t.part.Size())
	if err := t.restart(reason); err != nil {
		return err
	}
	return reason
}

// accept checks the headers of the response to a request for the bytes from offset on.
// left is the expected number of bytes in the body, or -1 if unknown.
func (t *transfer) accept(r *response, offset int64) (left int64, err error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return 0, fmt.Errorf("the server sent a compressed response (%s), which the request excluded", clip(e))
	}
	if r.StatusCode == http.StatusPartialContent {
		return t.acceptRest(r, offset)
	}
	if offset > 0 {
		reason := errChanged
		if tag := strongTag(r.Header); tag != "" && tag == t.note.Validator { // the file has not changed
			reason = errIgnoredRange
		}
		if t.ignored++; reason == errIgnoredRange && t.ignored <= 2 {
			return 0, reason // another of several servers may support ranges, so keep the bytes
		}
		if err := t.restart(reason); err != nil {
			return 0, err
		}
	}
	return t.acceptWhole(r)
}

// acceptWhole checks the headers of a response with the whole file. It returns left as
// [transfer.accept] does.
func (t *transfer) acceptWhole(r *response) (left int64, err error) {
	length := r.ContentLength
	closes := length < 0 && len(r.TransferEncoding) == 0
	switch {
	case t.file.Bytes > 0 && length >= 0 && length != t.file.Bytes:
		return 0, fmt.Errorf("the response has %d bytes, but %s gives the size %d", length, t.file.ChecksumSource, t.file.Bytes)
	case length > t.client.options.MaxBytes:
		return 0, &fatalError{fmt.Errorf("%w: %d bytes, more than the limit of %d", ErrRefused, length, t.client.options.MaxBytes)}
	case closes && t.file.Checksum == "":
		return 0, errors.New("the server does not state the size of the file, so an incomplete download could not be detected")
	}
	t.note.Validator, t.note.Total, t.note.Synced = strongTag(r.Header), max(0, length), 0
	if t.file.Bytes > 0 {
		length = t.file.Bytes
	}
	return length, t.writeNote()
}

// acceptRest checks the headers of a response (status 206) with the bytes from offset
// to the end of the file. It returns left as [transfer.accept] does.
func (t *transfer) acceptRest(r *response, offset int64) (left int64, err error) {
	span, err := parseContentRange(r.Header.Get("Content-Range"))
	switch {
	case err != nil:
	case offset == 0 || span.first != offset:
		err = fmt.Errorf("the server sends bytes from offset %d, want offset %d", span.first, offset)
	case r.ContentLength >= 0 && r.ContentLength != span.last-span.first+1:
		err = fmt.Errorf("the response has %d bytes, but its range is %v", r.ContentLength, span)
	}
	if err != nil {
		if t.ignored++; t.ignored <= 2 || offset == 0 {
			return 0, err
		}
		return 0, errors.Join(err, t.restart(err)) // the server may send only whole files
	}
	if !t.belongs(r, span) {
		if err := t.restart(errChanged); err != nil {
			return 0, err
		}
		return 0, errChanged
	}
	t.ignored = 0
	if t.total() == 0 && span.total > 0 {
		t.note.Total = span.total
		if err := t.writeNote(); err != nil {
			return 0, err
		}
	}
	return span.last - span.first + 1, nil
}

// belongs reports whether a 206 response is from the same version of the file
// as the partial file. For a file without a checksum, the response must repeat
// the strong ETag (required of every 206 by RFC 9110, section 15.3.7) and the
// size of the whole file.
func (t *transfer) belongs(r *response, span contentRange) bool {
	tag := strongTag(r.Header)
	if t.file.Checksum == "" {
		return tag != "" && tag == t.note.Validator && span.total == t.note.Total
	}
	moved := tag != "" && t.note.Validator != "" && tag != t.note.Validator
	return !moved && (span.total < 0 || t.total() == 0 || span.total == t.total())
}

func (t *transfer) writeNote() error {
	b, err := json.Marshal(t.note)
	if err != nil {
		panic("BUG: note cannot be marshalled: " + err.Error())
	}
	if err := t.part.SetNote(b); err != nil {
		return &storageError{err}
	}
	return nil
}

// syncBytes is the maximum number of bytes that are not yet flushed to disk, for a file
// without a checksum. A power failure may lose these bytes.
const syncBytes = 16 << 20

// append appends the body of a response to the partial file: left bytes, or the whole
// body if left is negative.
func (t *transfer) append(body io.Reader, left int64) error {
	known := left >= 0
	if !known {
		left = t.client.options.MaxBytes - t.part.Size()
	}
	buf := make([]byte, 128<<10)
	for left > 0 {
		n, err := body.Read(buf[:min(int64(len(buf)), left)])
		left -= int64(n)
		if _, err := t.part.Write(buf[:n]); err != nil {
			return &storageError{err}
		}
		t.sums.Write(buf[:n])
		t.progress(int64(n))
		if t.part.Size()-t.note.Synced >= syncBytes {
			if err := t.sync(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return errors.Join(err, t.sync())
		}
	}
	if err := t.sync(); err != nil {
		return err
	}
	switch {
	case known && left > 0:
		return io.ErrUnexpectedEOF
	case !known && left == 0:
		return &fatalError{fmt.Errorf("%w: more than the limit of %d bytes", ErrRefused, t.client.options.MaxBytes)}
	}
	return nil
}

// sync flushes the partial file to disk and records its size in the note. For a file
// with a checksum it does nothing, because the checksum would reveal lost bytes.
func (t *transfer) sync() error {
	if t.file.Checksum != "" || t.part.Size() == t.note.Synced {
		return nil
	}
	if err := t.part.Sync(); err != nil {
		return &storageError{err}
	}
	t.note.Synced = t.part.Size()
	return t.writeNote()
}
