package books

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"io"
	"strconv"

	"pretext/extract/internal/counting"
	"pretext/extract/text"
)

// tarBlock is the size in bytes of a block of a tar archive, and of a header.
const tarBlock = 512

// isTar reports whether a block is the header of a tar archive: it contains its own
// checksum, in octal. The checksum is the sum of all bytes of the block, with spaces in
// place of the checksum itself.
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

// readTar reads the books among the members of a tar archive, in order.
func (r *Reader) readTar(src io.Reader) error {
	counter := &counting.Reader{R: src}
	archive := tar.NewReader(counter)
	c := &crew{r: r, team: r.team}
	for {
		header, err := archive.Next()
		if err == io.EOF && counter.N > 0 {
			return c.drain()
		}
		// No file with the member's path is opened or written, so any path is safe.
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return cmp.Or(c.drain(), r.tarError(counter, err))
		}
		if header.Typeflag != tar.TypeReg && header.Typeflag != tar.TypeGNUSparse {
			r.stats.Skipped++
			continue
		}
		if !isBook(header.Name) {
			r.stats.Skipped++
			continue
		}
		if c.takes(header.Size) {
			err = c.add(held{name: header.Name, size: header.Size, open: plainMember}, header.Size, archive)
		} else if err = c.drain(); err == nil {
			err = r.readMember(header.Name, func() (io.Reader, error) { return archive, nil })
		}
		if err == errStopped {
			return err
		}
		if err != nil {
			return cmp.Or(c.drain(), r.tarError(counter, err))
		}
	}
}

// plainMember opens a member that is stored as it is.
func plainMember(data io.Reader, _ *inflater) (io.Reader, error) { return data, nil }

// tarError returns a [CorruptError] for err. If the cause is an error of reading or
// decompressing the source, it returns the cause instead.
func (r *Reader) tarError(c *counting.Reader, err error) error {
	switch {
	case errors.Is(err, text.ErrCorrupt): // corrupt compressed data
		return err
	case c.Err != nil:
		return c.Err
	}
	return &CorruptError{File: r.base(), Offset: c.N, Reason: err.Error()}
}
