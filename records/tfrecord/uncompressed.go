package tfrecord

import (
	"errors"
	"io"
)

// Uncompressed returns the uncompressed stream of a file, and "", "gzip" or
// "zlib": how the file is compressed, told by its first bytes as [Reader] does.
// Damage of the compression is a [*CorruptError] with the offset at which the
// stream ends, and record -1.
func Uncompressed(r io.Reader) (stream io.Reader, compression string, err error) {
	s, err := openSource(r)
	u := &uncompressed{source: s}
	if err != nil {
		return nil, "", u.fault(err)
	}
	return u, s.compression, nil
}

// An uncompressed stream knows where it is.
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
