// Package parquet reads one column of strings of a Parquet file: what text data
// sets are kept in, such as those of Hugging Face, a row a sentence or document.
//
//	f, err := parquet.Open(file, size, "text")
//	...
//	for i := range f.Groups() {
//		for value, err := range f.Values(i) { // nil for a null
//			if err != nil {
//				return err
//			}
//			use(value)
//		}
//	}
//
// It follows the Parquet format 2.11 (apache/parquet-format: README.md,
// Encodings.md, Compression.md, parquet.thrift) as far as such columns need it:
//
//   - a column of the top level of type BYTE_ARRAY, required or optional;
//   - data pages of versions 1 and 2, dictionary pages;
//   - encodings PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY, DELTA_LENGTH_BYTE_ARRAY
//     and DELTA_BYTE_ARRAY;
//   - no compression, SNAPPY, GZIP, ZSTD and LZ4_RAW.
//
// Anything else (BROTLI, LZO, the old LZ4 of Hadoop, nested columns, encrypted
// files) is an [UnsupportedError] that names it.
//
// Files are not trusted: every length is checked against what holds it before
// memory is taken, and damage is a [CorruptError] with its place. A page may
// have [MaxPageBytes], the footer [MaxFooterBytes]; the most that a reader holds
// is a page, its compressed form and a dictionary, some 300 MB, whatever the file
// says. A file that stands for more than a thousand times its bytes is taken for
// a bomb.
//
// A [File] may be shared; each use of [File.Values] has buffers of its own.
package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits of what is read: what writers make is a thousandth of it, but for a
// page with a single large value.
const (
	MaxPageBytes   = 72 << 20
	MaxFooterBytes = 32 << 20
)

const magic = "PAR1"

// ErrCorrupt is what a [CorruptError] unwraps to.
var ErrCorrupt = errors.New("corrupt Parquet file")

// A CorruptError locates damage.
type CorruptError struct {
	Offset int64 // in the file: of the footer or of the page
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v near byte %d: %s", ErrCorrupt, e.Offset, e.Reason)
}

// Unwrap returns [ErrCorrupt].
func (e *CorruptError) Unwrap() error { return ErrCorrupt }

// An UnsupportedError says what a sound file has that is not read here.
type UnsupportedError struct {
	What   string
	Column bool // what is amiss is the column asked for; another one may be read
}

func (e *UnsupportedError) Error() string { return "Parquet file: " + e.What }

// A Group is a part of the rows that is read at once.
type Group struct {
	Rows  int64
	Bytes int64 // of the column in the file
}

// A File is one column of an open file.
type File struct {
	r        io.ReaderAt
	size     int64
	optional bool
	chunks   []chunk
}

// A chunk is the column in one row group.
type chunk struct {
	rows   int64
	codec  codec
	values int64
	offset int64 // of the first page
	bytes  int64 // of all pages
}

// Open reads the footer of a file and finds a column.
func Open(r io.ReaderAt, size int64, column string) (*File, error) {
	footer, at, err := readFooter(r, size)
	if err != nil {
		return nil, err
	}
	meta, err := parseFooter(footer, column)
	if err != nil {
		if bad := (*damage)(nil); errors.As(err, &bad) {
			return nil, &CorruptError{at, "footer: " + bad.reason}
		}
		return nil, err
	}
	f := &File{r: r, size: size, optional: meta.optional, chunks: meta.chunks}
	rows := int64(0)
	for i, c := range f.chunks {
		rows += c.rows
		if c.rows == 0 && c.values == 0 {
			continue // such groups may lie nowhere
		}
		if c.offset < int64(len(magic)) || c.bytes < 0 || c.bytes > at-c.offset || c.values < 0 || c.rows != c.values ||
			c.values > freeValues && c.values/maxRatio > c.bytes {
			return nil, &CorruptError{at, fmt.Sprintf("row group %d: impossible place or number of values", i)}
		}
	}
	if rows != meta.rows {
		return nil, &CorruptError{at, fmt.Sprintf("%d rows in the row groups, %d in the footer", rows, meta.rows)}
	}
	return f, nil
}

// readFooter returns the footer and its place.
func readFooter(r io.ReaderAt, size int64) ([]byte, int64, error) {
	const tail = 8
	if size < int64(len(magic))+tail {
		return nil, 0, &CorruptError{0, "too short"}
	}
	var end [tail]byte
	if err := readAt(r, end[:], size-tail); err != nil {
		return nil, 0, err
	}
	if string(end[4:]) == "PARE" {
		return nil, 0, &UnsupportedError{What: "encrypted"}
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if string(end[4:]) != magic || n > size-tail-int64(len(magic)) || n > MaxFooterBytes {
		return nil, 0, &CorruptError{size - tail, "no footer: file cut short?"}
	}
	footer := make([]byte, n)
	return footer, size - tail - n, readAt(r, footer, size-tail-n)
}

// readAt fills p.
func readAt(r io.ReaderAt, p []byte, at int64) error {
	n, err := r.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == io.EOF {
		return &CorruptError{at, "cut short"}
	}
	return err
}

// Groups returns the parts of the rows, in order.
func (f *File) Groups() []Group {
	groups := make([]Group, len(f.chunks))
	for i, c := range f.chunks {
		groups[i] = Group{c.rows, c.bytes}
	}
	return groups
}
