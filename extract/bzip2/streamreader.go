package bzip2

import "io"

// NewStreamReader returns a reader of the decompressed content of a whole bzip2
// file of size bytes: all its streams, one after the other. It returns the same
// errors as [Reader.Next].
func NewStreamReader(src io.ReaderAt, size int64) io.Reader {
	return &streamReader{r: NewReader(src, size, Range{0, size})}
}

type streamReader struct {
	r    *Reader
	data []byte // not yet read
}

// Read implements io.Reader.
func (s *streamReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := s.fill(); err != nil {
		return 0, err
	}
	n := copy(p, s.data)
	s.data = s.data[n:]
	return n, nil
}

// WriteTo implements io.WriterTo. It writes the decoded blocks without copying
// them.
func (s *streamReader) WriteTo(w io.Writer) (int64, error) {
	written := int64(0)
	for {
		if err := s.fill(); err != nil {
			if err == io.EOF {
				err = nil
			}
			return written, err
		}
		n, err := w.Write(s.data)
		written += int64(n)
		s.data = s.data[n:]
		if err != nil {
			return written, err
		}
	}
}

// fill reads the next block if all data has been returned.
func (s *streamReader) fill() error {
	if len(s.data) > 0 {
		return nil
	}
	b, err := s.r.Next()
	s.data = b.Data
	return err
}
