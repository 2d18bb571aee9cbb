package tfrecord

import (
	"errors"
	"fmt"
	"io"
)

// ReaderOptions changes how a [Reader] reads. The zero value is right for
// files that may come from anywhere.
type ReaderOptions struct {
	// SkipChecksums trusts the payloads. Headers are checked in any case: a
	// damaged length would make the rest of the file unreadable.
	SkipChecksums bool

	// MaxRecordBytes is the longest payload to accept; 0 means, and more than
	// [MaxRecordBytes] is, that constant.
	MaxRecordBytes int64
}

// readBufferBytes is what a Reader asks its source for, and the memory it
// holds unless a record is longer.
const readBufferBytes = 128 << 10

// maxEmptyReads is how often a source may return nothing and no error.
const maxEmptyReads = 100

// A Reader reads the records of a file or stream, compressed or not.
type Reader struct {
	src  *source // nil until the first call of Next
	raw  io.Reader
	opts ReaderOptions

	buf    []byte
	lo, hi int // buf[lo:hi] is read and not yet returned
	offset int64
	record int64
	err    error // what ended the stream
}

// NewReader returns a Reader of the frames in r. Nothing is read before the
// first call of [Reader.Next].
func NewReader(r io.Reader, opts ReaderOptions) *Reader {
	if opts.MaxRecordBytes <= 0 || opts.MaxRecordBytes > MaxRecordBytes {
		opts.MaxRecordBytes = MaxRecordBytes
	}
	return &Reader{raw: r, opts: opts}
}

// Next returns the payload of the next record, valid until the next call, and
// [io.EOF] after the last one. Damage is reported as a [*CorruptError], an
// error of the source as it came, wrapped; both end the stream, and further
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

// Offset returns the offset, in the uncompressed stream, of the record that
// [Reader.Next] will return; after an error, of the one it failed at. With the
// offset before, it gives a record's line of an index.
func (r *Reader) Offset() int64 { return r.offset }

// Records returns how many records were returned.
func (r *Reader) Records() int64 { return r.record }

// Compression returns "", "gzip" or "zlib": how the source is compressed. It
// is known after the first call of [Reader.Next].
func (r *Reader) Compression() string {
	if r.src == nil {
		return ""
	}
	return r.src.compression
}

func (r *Reader) corrupt(reason string) error {
	return &CorruptError{Offset: r.offset, Record: r.record, Reason: reason}
}

// readError tells damage from an error of the source: io.EOF within a record
// is truncation, a decompressor's complaint is damage, and anything else is
// not the data's fault.
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

// need makes n bytes available at buf[lo:]. With fewer left in the source it
// returns io.EOF.
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
			empty = 0 // an error beside data comes again when the data is used up
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

// makeRoom leaves at least one free byte at buf[hi:]. The buffer grows by
// doubling, never past n: a length that lies costs at most twice the bytes
// that are there.
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

// open looks at the first bytes of the source.
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
