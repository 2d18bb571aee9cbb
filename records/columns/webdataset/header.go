package webdataset

import (
	"archive/tar"
	"bytes"
	"fmt"

	"pretext/records/columns"
)

// blockBytes is the size of the blocks that a tar file consists of.
const blockBytes = 512

// zeros are the two blocks that end a tar file.
var zeros [2 * blockBytes]byte

// Fields of a header in ustar format: the name, and octal digits with a zero byte after
// them.
const (
	nameBytes          = 100
	sizeAt, sizeDigits = 124, 11
	sumAt, sumDigits   = 148, 6
)

// numberDigits is the length of the numbers of rows in names, and maxNumber the last number
// of this length.
const (
	numberDigits = 8
	maxNumber    = 99_999_999
)

// A header is the tar header of the arrays of one column. Package archive/tar makes it
// once: the headers of all rows differ in the number of the row, the size and the checksum
// only, and to set these takes a small part of the time of making a header.
type header struct {
	block [blockBytes]byte
	name  int // offset of the number in the name; -1: it is left as it is
	sum   int // sum of all bytes but those of number, size and checksum
}

// newHeaders returns the headers of all columns. row is the number of the row that they are
// for; those of row 0 serve all rows up to maxNumber.
func newHeaders(p columns.Part, row int64) ([]header, error) {
	headers := make([]header, len(p.Schema))
	for i, c := range p.Schema {
		var b bytes.Buffer
		name := member(p.Stem, row, c)
		if err := tar.NewWriter(&b).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		h := &headers[i]
		copy(h.block[:], b.Bytes())
		h.name = -1
		if row <= maxNumber {
			// The beginning of a long name may stand in another field.
			at := bytes.LastIndex(h.block[:nameBytes], fmt.Appendf(nil, "%08d.%s", row, c.Name))
			if at < 0 {
				return nil, fmt.Errorf("BUG: webdataset: no number in the tar header of %s", name)
			}
			h.name = at
			clear(h.block[at : at+numberDigits])
		}
		clear(h.block[sizeAt : sizeAt+sizeDigits])
		for j := range sumDigits + 2 {
			h.block[sumAt+j] = ' ' // as the checksum counts itself
		}
		for _, v := range h.block {
			h.sum += int(v)
		}
	}
	return headers, nil
}

// append appends the header of an array of size bytes.
func (h *header) append(dst []byte, row int64, size int) []byte {
	dst = append(dst, h.block[:]...)
	block := dst[len(dst)-blockBytes:]
	sum := h.sum
	if h.name >= 0 {
		sum += putDigits(block[h.name:h.name+numberDigits], row, 10)
	}
	sum += putDigits(block[sizeAt:sizeAt+sizeDigits], int64(size), 8)
	putDigits(block[sumAt:sumAt+sumDigits], int64(sum), 8)
	block[sumAt+sumDigits] = 0
	return dst
}

// putDigits writes all digits of n in a base up to 10, and returns the sum of their bytes.
func putDigits(out []byte, n, base int64) (sum int) {
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = byte('0' + n%base)
		sum += int(out[i])
		n /= base
	}
	return sum
}
