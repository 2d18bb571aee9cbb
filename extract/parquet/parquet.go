// Package parquet reads one string column of a Parquet file. Many text data
// sets, such as those on Hugging Face, are Parquet files with one sentence or
// document in each row.
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
// # Format
//
//	"PAR1"
//	row group    column chunk: [dictionary page] data page ... ; next column chunk ...
//	row group    ...
//	footer       FileMetaData: schema, offsets of all column chunks (Thrift, compact)
//	uint32       length of the footer
//	"PAR1"
//
// The package follows the Parquet format 2.11 (apache/parquet-format:
// README.md, Encodings.md, Compression.md, parquet.thrift) as far as string
// columns need it:
//
//   - a column of the top level of type BYTE_ARRAY, required or optional;
//   - data pages of versions 1 and 2, dictionary pages;
//   - encodings PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY,
//     DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY;
//   - no compression, SNAPPY, GZIP, ZSTD and LZ4_RAW.
//
// Any other feature (BROTLI, LZO, the old LZ4 of Hadoop, nested columns,
// encryption) is an [UnsupportedError] that names the feature.
//
// # Limits
//
// Files are not trusted: every length is compared with the size of the enclosing
// part before memory is allocated, and corrupt data is a [CorruptError] with its
// offset. A page may have up to [maxPageBytes], the footer up to
// [maxFooterBytes]. A reader holds at most a page, its compressed form and a
// dictionary, about 300 MB. A file that expands to more than a thousand times
// its size is rejected as a decompression bomb.
//
// A [File] may be shared; each call of [File.Values] has its own buffers.
package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits in bytes on a page, compressed or not, and on the footer. Typical files need
// only a thousandth of this, unless a page contains one large value.
const (
	maxPageBytes   = 72 << 20
	maxFooterBytes = 32 << 20
)

const magic = "PAR1"

// ErrCorrupt is wrapped by every [CorruptError].
var ErrCorrupt = errors.New("corrupt Parquet file")

// A CorruptError locates corrupt data.
type CorruptError struct {
	Offset int64 // file offset of the footer or page
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v near byte %d: %s", ErrCorrupt, e.Offset, e.Reason)
}

// Unwrap returns [ErrCorrupt].
func (e *CorruptError) Unwrap() error { return ErrCorrupt }

// An UnsupportedError reports that a valid file uses a feature that this package does
// not support.
type UnsupportedError struct {
	What   string
	Column bool // only the selected column is unsupported; another may be readable
}

func (e *UnsupportedError) Error() string { return "Parquet file: " + e.What }

// Usage reports whether another column of the file may be readable. Then the user
// should select another column.
func (e *UnsupportedError) Usage() bool { return e.Column }

// Damaged reports whether no column of the file can be read.
func (e *UnsupportedError) Damaged() bool { return !e.Column }

// A Group describes a row group of a file.
type Group struct {
	Rows  int64
	Bytes int64 // compressed size of the column's data
}

// A File is one column of an open Parquet file.
type File struct {
	r        io.ReaderAt
	size     int64
	optional bool
	chunks   []chunk
}

// A chunk is the data of the column in one row group.
type chunk struct {
	rows   int64
	codec  codec
	values int64
	offset int64 // file offset of the first page
	bytes  int64 // size of all pages together
}

// Open parses the footer of a Parquet file of size bytes and finds the column
// with the given name.
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
			continue // the offset of an empty group may be invalid
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

// readFooter returns the footer and its offset in the file.
func readFooter(r io.ReaderAt, size int64) (footer []byte, at int64, err error) {
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
	if string(end[4:]) != magic || n > size-tail-int64(len(magic)) || n > maxFooterBytes {
		return nil, 0, &CorruptError{size - tail, "no footer: file cut short?"}
	}
	footer = make([]byte, n)
	return footer, size - tail - n, readAt(r, footer, size-tail-n)
}

// readAt fills p with the bytes at offset at. If the file ends too early, the error is
// a [CorruptError].
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

// Groups returns the row groups, in order.
func (f *File) Groups() []Group {
	groups := make([]Group, len(f.chunks))
	for i, c := range f.chunks {
		groups[i] = Group{c.rows, c.bytes}
	}
	return groups
}
