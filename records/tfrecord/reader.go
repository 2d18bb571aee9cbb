package tfrecord

import (
	"errors"
	"fmt"
	"io"
)

// ReaderOptions configures a [Reader]. The zero value is right for untrusted
// files.
type ReaderOptions struct {
	// SkipChecksums disables the payload checksums. Header checksums are always
	// verified: with a corrupt length the rest of the file would be unreadable.
	SkipChecksums bool

	// MaxRecordBytes limits the payload size. 0, or a value above the constant
	// [MaxRecordBytes], means that constant.
	MaxRecordBytes int64
}

// readBufferBytes is the initial size of a Reader's buffer, which grows for longer records.
const readBufferBytes = 128 << 10

// maxEmptyReads is the maximum number of consecutive reads that return neither data nor an
// error, as in package bufio.
const maxEmptyReads = 100

// A Reader reads the records of a file or stream, compressed or not. It must
// not be used by several goroutines at once.
type Reader struct {
	src  *source // nil until the first call of Next
	raw  io.Reader
	opts ReaderOptions

	buf    []byte
	lo, hi int // buf[lo:hi] is read and not yet returned
	offset int64
	record int64
	err    error // set once the stream has ended
}

// NewReader returns a Reader of the frames in r. It reads nothing before the
// first call of [Reader.Next].
func NewReader(r io.Reader, opts ReaderOptions) *Reader {
	if opts.MaxRecordBytes <= 0 || opts.MaxRecordBytes > MaxRecordBytes {
		opts.MaxRecordBytes = MaxRecordBytes
	}
	return &Reader{raw: r, opts: opts}
}

// Next returns the payload of the next record, valid until the next call, or
// [io.EOF] after the last record. Corrupt data is reported as a
// [*CorruptError]; an error of the source is wrapped. After an error, further
// calls return the same error.
func (r *Reader) Next() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	payload, err := r.next()
	if err != nil {
		r.err = err
		return nil, err
	}
	return payload, nil
}

func (r *Reader) next() ([]byte, error) {
	switch err := r.need(headerBytes); {
	case err == io.EOF && r.hi == r.lo:
		return nil, io.EOF
	case err != nil:
		return nil, r.readError(err, "truncated header")
	}
	length, reason := parseHeader(r.buf[r.lo:], r.opts.MaxRecordBytes)
	if reason != "" {
		return nil, r.corrupt(reason)
	}
	frame := FrameBytes + int(length)
	if err := r.need(frame); err != nil {
		return nil, r.readError(err, "truncated record")
	}
	payload := r.buf[r.lo+headerBytes : r.lo+frame-footerBytes : r.lo+frame-footerBytes]
	if !r.opts.SkipChecksums && !payloadIntact(payload, r.buf[r.lo+frame-footerBytes:]) {
		return nil, r.corrupt("data checksum mismatch")
	}
	r.lo += frame
	r.offset += int64(frame)
	r.record++
	return payload, nil
}

// Offset returns the offset, in the uncompressed stream, of the record that the next call
// of [Reader.Next] will return. After an error it is the offset of the unreadable record.
// The difference between the offsets before and after a record is the frame length for an
// index.
func (r *Reader) Offset() int64 { return r.offset }

// Records returns the number of records returned so far.
func (r *Reader) Records() int64 { return r.record }

// Compression returns the compression of the source: "", "gzip" or "zlib". Before the first
// call of [Reader.Next] it is "".
func (r *Reader) Compression() string {
	if r.src == nil {
		return ""
	}
	return r.src.compression
}

func (r *Reader) corrupt(reason string) error {
	return &CorruptError{Offset: r.offset, Record: r.record, Reason: reason}
}

// readError converts an error of the source to the error that Next returns. io.EOF within a
// record becomes a CorruptError with the reason truncated; corrupt compressed data also
// becomes a CorruptError. Any other error is wrapped.
func (r *Reader) readError(err error, truncated string) error {
	var damage *damageError
	switch {
	case err == io.EOF:
		return r.corrupt(truncated)
	case errors.As(err, &damage):
		return r.corrupt(damage.reason)
	}
	return fmt.Errorf("read record at byte %d: %w", r.offset, err)
}

// need reads until buf[lo:hi] has at least n bytes. It returns io.EOF if the source ends
// before that.
func (r *Reader) need(n int) error {
	if r.hi-r.lo >= n {
		return nil
	}
	if err := r.open(); err != nil {
		return err
	}
	for empty := 0; r.hi-r.lo < n; {
		r.makeRoom(n)
		m, err := r.src.Read(r.buf[r.hi:])
		r.hi += m
		switch {
		case m > 0:
			empty = 0 // if err came with data, the next read returns it again
		case err != nil:
			return err
		default:
			if empty++; empty == maxEmptyReads {
				return io.ErrNoProgress
			}
		}
	}
	return nil
}

// makeRoom makes room for at least one byte at buf[hi:], for a record of n bytes. When
// full, the buffer doubles, up to n bytes. So a corrupt length costs at most twice the
// memory of the bytes that the source really has.
func (r *Reader) makeRoom(n int) {
	if r.lo > 0 && (r.lo == r.hi || r.lo+n > len(r.buf)) {
		r.hi = copy(r.buf, r.buf[r.lo:r.hi])
		r.lo = 0
	}
	if r.hi < len(r.buf) {
		return
	}
	grown := make([]byte, max(readBufferBytes, min(2*len(r.buf), n)))
	r.hi = copy(grown, r.buf[r.lo:r.hi])
	r.lo = 0
	r.buf = grown
}

// open detects how the source is compressed and prepares the decompressor.
func (r *Reader) open() error {
	if r.src != nil {
		return nil
	}
	src, err := openSource(r.raw)
	if err != nil {
		return err
	}
	r.src = src
	return nil
}
