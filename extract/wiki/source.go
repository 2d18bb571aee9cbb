package wiki

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"

	"pretext/extract/bzip2"
	"pretext/extract/internal/counting"
)

// A source reads the decoded bytes of a dump, from the beginning of a range to the end
// of the dump.
type source interface {
	// read reads at least one byte into p, or returns an error, which is io.EOF at
	// the end of the dump. owned reports whether all bytes read belong to the
	// range; once false, it stays false. The first read after the range may return
	// no bytes and no error. p is not empty.
	read(p []byte) (n int, owned bool, err error)
	// offset returns the offset in the file of the bytes last read, or of the
	// compressed block that contains them.
	offset() int64
	// plain reports whether the file is not encoded, so that each decoded byte is at
	// its own file offset.
	plain() bool
}

// openSource returns the source of a range of a dump. It decodes bzip2 with z,
// or with a new reader if z is nil.
func openSource(d Dump, rng Range, z *bzip2.Reader) source {
	if rng.Start < 0 || rng.Start > rng.End || rng.End > d.Size {
		// The file was truncated after it was divided into ranges.
		return failedSource{&CorruptError{Offset: d.Size, Reason: fmt.Sprintf("file is too short for the range %d to %d", rng.Start, rng.End),
			Err: io.ErrUnexpectedEOF}}
	}
	if !d.Head.splittable() {
		// The range that begins at byte 0 owns all pages.
		if rng.Start > 0 {
			return failedSource{io.EOF}
		}
		rng.End = d.Size
	}
	var src source
	switch d.Head.Compression {
	case CompressionBzip2:
		src = newBzip2Source(d, rng, z)
	case CompressionGzip:
		src = &gzipSource{file: &counting.Reader{R: io.NewSectionReader(d.File, 0, d.Size)}}
	default:
		src = &plainSource{r: d.File, size: d.Size, end: rng.End, next: rng.Start}
	}
	switch d.Head.Encoding {
	case EncodingUTF16LE:
		return &utf16Source{src: src}
	case EncodingUTF16BE:
		return &utf16Source{src: src, bigEndian: true}
	}
	return src
}

// A failedSource is a source whose read always returns err.
type failedSource struct{ err error }

func (s failedSource) read([]byte) (int, bool, error) { return 0, false, s.err }
func (failedSource) offset() int64                    { return 0 }
func (failedSource) plain() bool                      { return true }

// A plainSource reads a file that is not compressed.
type plainSource struct {
	r         io.ReaderAt
	size, end int64 // size of the file, end of the range
	next      int64 // offset of the next read
	last      int64 // offset of the last read
}

func (s *plainSource) read(p []byte) (int, bool, error) {
	stop, owned := s.size, false
	if s.next < s.end {
		stop, owned = s.end, true
	}
	p = p[:min(int64(len(p)), stop-s.next)]
	if len(p) == 0 {
		return 0, false, io.EOF
	}
	n, err := s.r.ReadAt(p, s.next)
	if n < len(p) {
		return 0, false, readError(s.next+int64(n), err)
	}
	s.last, s.next = s.next, s.next+int64(n)
	return n, owned, nil
}

func (s *plainSource) offset() int64 { return s.last }
func (s *plainSource) plain() bool   { return true }

// readError returns the error for a ReadAt that returned err and too few bytes. offset
// is where the missing bytes begin.
func readError(offset int64, err error) error {
	if err == nil || err == io.EOF {
		return &CorruptError{Offset: offset, Reason: "file is shorter than its size", Err: io.ErrUnexpectedEOF}
	}
	return fmt.Errorf("read at byte %d: %w", offset, err)
}

// A gzipSource decodes a gzip file of one or several members from its
// beginning.
type gzipSource struct {
	file *counting.Reader
	z    *gzip.Reader // nil until the first read
}

func (s *gzipSource) read(p []byte) (int, bool, error) {
	var err error
	if s.z == nil {
		if s.z, err = gzip.NewReader(s.file); err != nil {
			s.z = nil
			return 0, false, s.corrupt(err)
		}
	}
	n := 0
	for n == 0 && err == nil {
		n, err = s.z.Read(p)
	}
	if n > 0 {
		return n, true, nil // the error will be returned again by the next read
	}
	return 0, false, s.corrupt(err)
}

// corrupt converts an error of the decoder: to a [*CorruptError] if the data are
// corrupt, io.EOF at the end, and another error if the file cannot be read.
func (s *gzipSource) corrupt(err error) error {
	switch {
	case err == io.EOF && s.z != nil:
		return err
	case s.file.Err != nil:
		return readError(s.file.N, s.file.Err)
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return &CorruptError{Offset: s.file.N, Reason: "gzip: file ends early", Err: io.ErrUnexpectedEOF}
	}
	return &CorruptError{Offset: s.file.N, Reason: err.Error(), Err: err}
}

func (s *gzipSource) offset() int64 { return s.file.N }
func (s *gzipSource) plain() bool   { return false }

// A utf16Source converts UTF-16 to UTF-8. An unpaired surrogate becomes three
// bytes of invalid UTF-8, which are later dropped and counted for their page.
type utf16Source struct {
	src       source
	bigEndian bool
	raw       [4096]byte
	start     int // raw[start:end] is not yet converted
	end       int
	eof       bool
}

func (s *utf16Source) read(p []byte) (int, bool, error) {
	for {
		n := s.transcode(p)
		if n > 0 {
			return n, true, nil
		}
		if s.eof {
			if s.start < s.end {
				return 0, false, &CorruptError{Offset: s.offset(), Reason: "file ends inside a UTF-16 character",
					Err: io.ErrUnexpectedEOF}
			}
			return 0, false, io.EOF
		}
		s.end = copy(s.raw[:], s.raw[s.start:s.end])
		s.start = 0
		m, _, err := s.src.read(s.raw[s.end:])
		if err != nil && err != io.EOF {
			return 0, false, err
		}
		s.eof = err == io.EOF
		s.end += m
	}
}

// transcode converts to p as many of the code units in s.raw as fit and returns
// the number of bytes written.
func (s *utf16Source) transcode(p []byte) int {
	n := 0
	for s.end-s.start >= 2 && len(p)-n >= utf8.UTFMax {
		r := s.unit(s.start)
		size := 2
		switch {
		case !utf16.IsSurrogate(r):
			n += utf8.EncodeRune(p[n:], r)
		case s.end-s.start < 4 && !s.eof:
			return n // the second half of the surrogate pair is not yet read
		default:
			pair := rune(utf8.RuneError)
			if s.end-s.start >= 4 {
				pair = utf16.DecodeRune(r, s.unit(s.start+2))
			}
			if pair == utf8.RuneError {
				n += copy(p[n:], []byte{0xE0 | byte(r>>12), 0x80 | byte(r>>6)&0x3F, 0x80 | byte(r)&0x3F})
				break
			}
			size = 4
			n += utf8.EncodeRune(p[n:], pair)
		}
		s.start += size
	}
	return n
}

func (s *utf16Source) unit(i int) rune {
	if s.bigEndian {
		return rune(s.raw[i])<<8 | rune(s.raw[i+1])
	}
	return rune(s.raw[i+1])<<8 | rune(s.raw[i])
}

func (s *utf16Source) offset() int64 { return s.src.offset() }
func (s *utf16Source) plain() bool   { return false }
