package tfrecord

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
)

// compressedBufferBytes is the size of a decompressor's input buffer.
const compressedBufferBytes = 32 << 10

// A source is the uncompressed stream of a file.
type source struct {
	compression string // "", "gzip", "zlib"
	r           io.Reader
	under       *tracked
	tail        *bufio.Reader // rest of the file after a zlib stream, to check that no data follows
}

// A tracked reader is the input of a decompressor. It records read errors, because the
// decompressor may replace them with its own.
type tracked struct {
	r   io.Reader
	err error
}

func (t *tracked) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if err != nil && err != io.EOF {
		t.err = err
	}
	return n, err
}

// A damageError states why a decompressor found compressed data corrupt.
type damageError struct{ reason string }

func (e *damageError) Error() string { return e.reason }

// openSource returns the uncompressed stream of r. It detects the compression
// from the first bytes.
func openSource(r io.Reader) (*source, error) {
	s := &source{under: &tracked{r: r}}
	start := bufio.NewReaderSize(s.under, headerBytes) // small, so that larger reads bypass it
	head, err := start.Peek(headerBytes)
	if err != nil && err != io.EOF {
		return nil, err
	}
	s.compression = detect(head)
	switch s.compression {
	case "gzip":
		s.r, err = gzip.NewReader(bufio.NewReaderSize(start, compressedBufferBytes))
	case "zlib":
		s.tail = bufio.NewReaderSize(start, compressedBufferBytes)
		s.r, err = zlib.NewReader(s.tail)
	default:
		s.r, err = start, nil
	}
	if err != nil {
		return nil, s.fault(err)
	}
	return s, nil
}

// detect returns the compression of a file that begins with head. A valid frame header
// takes precedence, because its length field may contain the magic number of a compression.
func detect(head []byte) string {
	if len(head) >= headerBytes {
		if _, reason := parseHeader(head, MaxRecordBytes); reason == "" {
			return ""
		}
	}
	switch {
	case len(head) >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8:
		return "gzip"
	case len(head) >= 3 && isZlib(head):
		return "zlib"
	}
	return ""
}

// isZlib reports whether head begins with the two header bytes of RFC 1950 for deflate with
// a 32 KiB window and no dictionary. A corrupt frame header can begin with the same bytes;
// then the upper bytes of its length are zero. A valid deflate stream cannot have these
// zeros: a stored block of length 0 is followed by the complement ff ff.
func isZlib(head []byte) bool {
	const deflate32K, dictionary = 0x78, 0x20
	return head[0] == deflate32K && head[1]&dictionary == 0 &&
		binary.BigEndian.Uint16(head)%31 == 0 &&
		!(len(head) >= 8 && binary.LittleEndian.Uint32(head[4:]) == 0 && head[2] == 0)
}

// Read reads the uncompressed stream. Errors of the underlying stream are
// returned unchanged; errors of the decompressor become a damageError.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err == nil {
		return n, nil
	}
	if err != io.EOF {
		return n, s.fault(err)
	}
	if s.tail != nil {
		if _, err := s.tail.Peek(1); err == nil {
			return n, &damageError{"data after the end of the zlib stream"}
		}
	}
	if s.under.err != nil {
		return n, s.under.err
	}
	return n, io.EOF
}

func (s *source) fault(err error) error {
	switch {
	case s.under.err != nil:
		return s.under.err
	case s.compression == "":
		return err
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return &damageError{"truncated " + s.compression + " stream"}
	}
	return &damageError{fmt.Sprintf("%s stream: %v", s.compression, err)}
}
