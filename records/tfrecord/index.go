package tfrecord

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// A Span is the location of one frame in an uncompressed file: one line of an
// index.
type Span struct {
	Offset int64 // of the frame's first byte
	Length int64 // of the whole frame: payload plus FrameBytes
}

// AppendIndex appends the index line of a frame to dst.
func AppendIndex(dst []byte, s Span) []byte {
	if s.Offset < 0 || s.Length < 0 { // no frame
		dst = append(strconv.AppendInt(dst, s.Offset, 10), ' ')
		return append(strconv.AppendInt(dst, s.Length, 10), '\n')
	}
	dst = slices.Grow(dst, maxIndexLine)
	n := len(dst)
	line := dst[n : n+maxIndexLine]
	at := putDecimal(line, maxIndexLine-1, uint64(s.Length))
	line[maxIndexLine-1], line[at-1] = '\n', ' '
	at = putDecimal(line, at-1, uint64(s.Offset))
	return dst[:n+copy(line, line[at:])]
}

// putDecimal writes v into buf, in front of end, and returns where it begins.
func putDecimal(buf []byte, end int, v uint64) int {
	for v >= 100 {
		end -= 2
		copy(buf[end:end+2], pairs[2*(v%100):])
		v /= 100
	}
	if v >= 10 {
		end -= 2
		copy(buf[end:end+2], pairs[2*v:])
		return end
	}
	buf[end-1] = '0' + byte(v)
	return end - 1
}

// pairs has the decimal digits of all numbers below 100.
const pairs = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// maxIndexLine is the maximum length of an index line in bytes. Two int64 in decimal with a
// separator and a line end are shorter.
const maxIndexLine = 64

// An IndexReader reads an index line by line.
type IndexReader struct {
	br   *bufio.Reader
	line int64
	err  error
}

// NewIndexReader returns an IndexReader of r.
func NewIndexReader(r io.Reader) *IndexReader {
	return &IndexReader{br: bufio.NewReaderSize(r, 16<<10)}
}

// Next returns the next line, or [io.EOF] after the last. Lines may end in LF or CR LF; the
// last line needs no line end. The error is an [*IndexError] if a line is not two numbers,
// or if they cannot be the location of a frame. Later calls return the same error.
func (x *IndexReader) Next() (Span, error) {
	if x.err != nil {
		return Span{}, x.err
	}
	span, err := x.next()
	x.err = err
	return span, err
}

func (x *IndexReader) next() (Span, error) {
	line, err := x.br.ReadSlice('\n')
	switch {
	case err == io.EOF && len(line) == 0:
		return Span{}, io.EOF
	case err != nil && err != io.EOF && err != bufio.ErrBufferFull:
		return Span{}, fmt.Errorf("read index: %w", err)
	case len(line) > maxIndexLine:
		return Span{}, x.fault("line too long")
	}
	span, reason := parseSpan(line)
	if reason != "" {
		return Span{}, x.fault(reason)
	}
	x.line++
	return span, nil
}

func (x *IndexReader) fault(reason string) error {
	return &IndexError{Line: x.line + 1, Reason: reason}
}

func parseSpan(line []byte) (Span, string) {
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	first, second, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return Span{}, "not two numbers"
	}
	offset, err1 := strconv.ParseUint(string(first), 10, 63)
	length, err2 := strconv.ParseUint(string(second), 10, 63)
	switch {
	case err1 != nil || err2 != nil:
		return Span{}, "not two numbers"
	case length < FrameBytes || length > FrameBytes+MaxRecordBytes:
		return Span{}, fmt.Sprintf("%d bytes cannot be a record", length)
	case offset > math.MaxInt64-length:
		return Span{}, fmt.Sprintf("offset %d is beyond any file", offset)
	}
	return Span{Offset: int64(offset), Length: int64(length)}, ""
}

// An IndexError locates an invalid line of an index.
type IndexError struct {
	Line   int64 // from 1
	Reason string
}

func (e *IndexError) Error() string { return fmt.Sprintf("index line %d: %s", e.Line, e.Reason) }

// Unwrap returns [ErrCorrupt].
func (e *IndexError) Unwrap() error { return ErrCorrupt }

// ReadAt reads the record at a location from an index and returns its payload. It uses buf
// if that is large enough. The file must not be compressed. If there is no valid frame of
// this length at the location, the error is a [*CorruptError].
func ReadAt(file io.ReaderAt, s Span, buf []byte) ([]byte, error) {
	corrupt := func(reason string) error {
		return &CorruptError{Offset: s.Offset, Record: -1, Reason: reason}
	}
	if s.Offset < 0 || s.Length < FrameBytes || s.Length > FrameBytes+MaxRecordBytes {
		return nil, corrupt(fmt.Sprintf("span of %d bytes cannot be a record", s.Length))
	}
	frame, err := readSpan(file, s, buf[:0])
	switch {
	case err == io.EOF:
		return nil, corrupt("truncated record")
	case err != nil:
		return nil, fmt.Errorf("read record at byte %d: %w", s.Offset, err)
	}
	return Payload(frame, s.Offset)
}

// Payload returns the payload of frame, a whole frame in memory, without copying. If the
// frame is invalid or has the wrong length, the error is a [*CorruptError] with the given
// offset: the position of the frame in its file.
func Payload(frame []byte, offset int64) ([]byte, error) {
	if len(frame) < FrameBytes {
		return nil, &CorruptError{Offset: offset, Record: -1, Reason: "truncated record"}
	}
	length, reason := parseHeader(frame, MaxRecordBytes)
	if reason == "" && length+FrameBytes != int64(len(frame)) {
		reason = fmt.Sprintf("length %d where the index says %d", length+FrameBytes, len(frame))
	}
	if reason != "" {
		return nil, &CorruptError{Offset: offset, Record: -1, Reason: reason}
	}
	end := headerBytes + length
	if !payloadIntact(frame[headerBytes:end], frame[end:]) {
		return nil, &CorruptError{Offset: offset, Record: -1, Reason: "data checksum mismatch"}
	}
	return frame[headerBytes:end:end], nil
}

// readSpan reads s.Length bytes. It allocates memory as the bytes arrive,
// because the length in an index may be wrong.
func readSpan(file io.ReaderAt, s Span, buf []byte) ([]byte, error) {
	for int64(len(buf)) < s.Length {
		start := len(buf)
		if cap(buf) == start {
			grown := make([]byte, start, min(s.Length, int64(max(2*start, readBufferBytes))))
			copy(grown, buf)
			buf = grown
		}
		buf = buf[:min(s.Length, int64(cap(buf)))]
		n, err := file.ReadAt(buf[start:], s.Offset+int64(start))
		if n < len(buf)-start {
			if err == nil { // a faulty io.ReaderAt that returns no data and no error: do not loop
				err = io.ErrNoProgress
			}
			return nil, err
		}
	}
	return buf, nil
}
