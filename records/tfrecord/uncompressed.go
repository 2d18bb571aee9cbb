package tfrecord

import (
	"errors"
	"io"
)

// Uncompressed returns the uncompressed stream of a file, and its compression:
// "", "gzip" or "zlib", detected from the first bytes as [Reader] does. If the
// compressed data is corrupt, reading fails with a [*CorruptError] that has
// Record -1 and the offset at which the uncompressed stream ends.
func Uncompressed(r io.Reader) (stream io.Reader, compression string, err error) {
	s, err := openSource(r)
	u := &uncompressed{source: s}
	if err != nil {
		return nil, "", u.fault(err)
	}
	return u, s.compression, nil
}

// An uncompressed is the uncompressed stream of a file. It counts the bytes
// read.
type uncompressed struct {
	source *source
	offset int64
}

func (u *uncompressed) Read(p []byte) (int, error) {
	n, err := u.source.Read(p)
	u.offset += int64(n)
	return n, u.fault(err)
}

func (u *uncompressed) fault(err error) error {
	var damage *damageError
	if errors.As(err, &damage) {
		return &CorruptError{Offset: u.offset, Record: -1, Reason: damage.reason}
	}
	return err
}
