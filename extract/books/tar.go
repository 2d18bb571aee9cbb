package books

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"path"
	"strconv"

	"pretext/extract/internal/counting"
	"pretext/extract/text"
)

// tarBlock is the unit of a tar archive, and the size of a header.
const tarBlock = 512

// isTar reports whether a block is a tar header: it contains its checksum in octal,
// the sum of all bytes with that field as blanks.
func isTar(block []byte) bool {
	if len(block) < tarBlock {
		return false
	}
	digits := bytes.Trim(block[148:156], " \x00")
	want, err := strconv.ParseInt(string(digits), 8, 32)
	if err != nil {
		return false
	}
	var sum int64
	for i, b := range block[:tarBlock] {
		if i >= 148 && i < 156 {
			b = ' '
		}
		sum += int64(b)
	}
	return sum == want
}

// readTar reads the members of a tar archive one after the other.
func (r *Reader) readTar(src io.Reader) error {
	counter := &counting.Reader{R: src}
	archive := tar.NewReader(counter)
	for {
		header, err := archive.Next()
		if err == io.EOF && counter.N > 0 {
			return nil
		}
		// The path is never opened or written, so an insecure one is accepted.
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return r.tarError(counter, err)
		}
		if header.Typeflag != tar.TypeReg && header.Typeflag != tar.TypeGNUSparse {
			r.stats.Skipped++
			continue
		}
		err = r.readMember(header.Name, func() (io.Reader, error) { return archive, nil })
		if err == errStopped {
			return err
		}
		if err != nil {
			return r.tarError(counter, err)
		}
	}
}

// tarError separates corruption from errors of the source.
func (r *Reader) tarError(c *counting.Reader, err error) error {
	switch {
	case errors.Is(err, text.ErrCorrupt): // of the compression
		return err
	case c.Err != nil:
		return c.Err
	}
	return &CorruptError{File: path.Base(string(r.task.Path)), Offset: c.N, Reason: err.Error()}
}
