// Package definitions stores the definitions of a wiki's templates in sorted
// files, one for each range of a dump. A directory of these files finds definitions
// by name.
//
//	w, err := definitions.NewWriter(out)
//	for _, d := range sorted { // by name, title and value
//		err = w.Add(d)
//	}
//	err = w.Close()
//
//	f, err := definitions.Open(file, size)
//	parts = append(parts, definitions.Part{Name: name, SHA256: sum, File: f})
//	raw, err := definitions.AppendDirectory(nil, parts)
//
//	d, err := definitions.OpenDirectory(raw, openPart)
//	value, err := d.Find(name, title)
//
// The files are not merged: that would take time proportional to the size of the
// wiki, and all other work would have to wait. The directory is built only from the
// indexes of the files.
//
// # Layout of a file
//
//	magic    8 bytes "PTDEFS2\n"
//	blocks   zstd frames with checksums, each of about 8 KiB of records
//	index    for each block: its compressed size, the number of its records, the
//	         hash of each record's name: the lower 32 bits of its xxHash64
//	footer   32 bytes: offset of the index, number of definitions, number of
//	         blocks, xxHash64 of the index and of the three numbers before;
//	         each 8 bytes
//
// A record is the folded name of a template, its title and its value. Each of these
// texts follows its length. Records are sorted by name, title and value.
//
// # Layout of a directory
//
//	magic    8 bytes "PTDEFD1\n"
//	parts    their number; for each part its name as a text, the SHA-256 of the
//	         file in 32 bytes, the number of definitions, the number of blocks, and
//	         the compressed size of each block
//	entries  8 bytes each, sorted: the hash of a name, times 2^32, plus the number
//	         of a block that contains this name, counted over all parts
//	footer   16 bytes: number of entries, xxHash64 of everything before the hash
//
// Lengths, sizes and numbers are unsigned varints unless a size is given; then they
// are little-endian.
package definitions

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"

	"pretext/internal/failure"
)

// A Definition is a template of a wiki.
type Definition struct {
	Name  string // folded: in lower case, with spaces instead of underscores
	Title string // title on the wiki, without the namespace
	Value string // wikitext to render in place of the template, or rendering.Alias and the title of another template
}

// compare orders definitions by name, title and value.
func compare(a, b Definition) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Title, b.Title), strings.Compare(a.Value, b.Value))
}

// Size returns the number of bytes of text in a definition.
func (d Definition) Size() int { return len(d.Name) + len(d.Title) + len(d.Value) }

// ErrCorrupt is wrapped by the errors for corrupt files of definitions.
var ErrCorrupt = failure.Damaged("corrupt definitions of templates")

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

const (
	magic       = "PTDEFS2\n"
	footerBytes = 32
	blockBytes  = 8 << 10 // a block is closed when its records reach this size
	// maxBlock is the maximum size of a block's records: a full block plus one
	// definition of the maximum size.
	maxBlock = blockBytes + maxText
)

// maxText is the maximum size of a definition's text in bytes.
const maxText = 1 << 20

// A Writer writes a file of definitions.
type Writer struct {
	w      io.Writer
	z      *zstd.Encoder
	block  []byte
	packed []byte
	hashes []byte // hashes of the names in block
	last   Definition
	index  []byte
	offset int64 // offset of the next block
	count  int64
	blocks int64
}

// NewWriter starts a file of definitions.
func NewWriter(w io.Writer) (*Writer, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(true), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(w, magic)
	return &Writer{w: w, z: z, offset: int64(len(magic))}, err
}

// Add appends a definition. Definitions must be added in strictly increasing order of
// name, title and value; any other order is a programming error.
func (w *Writer) Add(d Definition) error {
	if w.count > 0 && compare(w.last, d) >= 0 {
		panic("BUG: definitions are not sorted")
	}
	if d.Size() > maxText {
		return fmt.Errorf("definition of %s: %d bytes, want at most %d", d.Name, d.Size(), maxText)
	}
	w.last = d
	w.count++
	w.hashes = binary.LittleEndian.AppendUint32(w.hashes, hashName(d.Name))
	for _, text := range []string{d.Name, d.Title, d.Value} {
		w.block = binary.AppendUvarint(w.block, uint64(len(text)))
		w.block = append(w.block, text...)
	}
	if len(w.block) >= blockBytes {
		return w.flush()
	}
	return nil
}

// flush writes the open block.
func (w *Writer) flush() error {
	if len(w.block) == 0 {
		return nil
	}
	w.packed = w.z.EncodeAll(w.block, w.packed[:0])
	w.index = binary.AppendUvarint(w.index, uint64(len(w.packed)))
	w.index = binary.AppendUvarint(w.index, uint64(len(w.hashes)/4))
	w.index = append(w.index, w.hashes...)
	w.offset += int64(len(w.packed))
	w.blocks++
	w.block, w.hashes = w.block[:0], w.hashes[:0]
	_, err := w.w.Write(w.packed)
	return err
}

// Count returns the number of definitions added.
func (w *Writer) Count() int64 { return w.count }

// Close writes the index. It does not close the underlying writer.
func (w *Writer) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	footer := binary.LittleEndian.AppendUint64(nil, uint64(w.offset))
	footer = binary.LittleEndian.AppendUint64(footer, uint64(w.count))
	footer = binary.LittleEndian.AppendUint64(footer, uint64(w.blocks))
	sum := xxhash.New()
	sum.Write(w.index)
	sum.Write(footer)
	footer = binary.LittleEndian.AppendUint64(footer, sum.Sum64())
	_, err := w.w.Write(append(w.index, footer...))
	return err
}

// hashName returns the hash of a folded name.
func hashName(name string) uint32 { return uint32(xxhash.Sum64String(name)) }
