// Package definitions stores the definitions of a wiki's templates in sorted
// files, in which a definition is found by its name.
//
//	w, err := definitions.NewWriter(out)
//	for _, d := range sorted { // by Compare
//		err = w.Add(d)
//	}
//	err = w.Close()
//
//	f, err := definitions.Open(file, size)
//	value, err := f.Find(name, title)
//
// # Layout
//
//	magic    8 bytes "PTDEFS1\n"
//	blocks   zstd frames with checksums, each of about 8 KiB of records
//	index    for each block: its compressed size, its first name
//	footer   32 bytes: offset of the index, number of definitions, number of
//	         blocks, xxHash64 of the index and of the three numbers before;
//	         each 8 bytes, little-endian
//
// A record is the folded name of a template, its title and its value; each is a
// text behind its length. Lengths and sizes are unsigned varints. Records are
// sorted by [Compare].
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
	Name  string // folded: lower case, spaces for underscores
	Title string // as the wiki has it, without the namespace
	Value string // wikitext that a page which uses it includes, or rendering.Alias and the title of another template
}

// Compare orders definitions by name, title and value.
func Compare(a, b Definition) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Title, b.Title), strings.Compare(a.Value, b.Value))
}

// Size returns the bytes of text in a definition.
func (d Definition) Size() int { return len(d.Name) + len(d.Title) + len(d.Value) }

// ErrCorrupt is wrapped by the errors for a file of definitions that is corrupt.
var ErrCorrupt = failure.Damaged("corrupt definitions of templates")

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

const (
	magic       = "PTDEFS1\n"
	footerBytes = 32
	blockBytes  = 8 << 10 // of records, after which a block is closed
	// maxBlock is the maximum size of a block's records: one definition of the
	// largest allowed size behind a full block.
	maxBlock = blockBytes + MaxText
)

// MaxText is the maximum size of a definition's text in bytes.
const MaxText = 1 << 20

// A Writer writes a file of definitions.
type Writer struct {
	w      io.Writer
	z      *zstd.Encoder
	block  []byte
	packed []byte
	first  string // name of the first record in block
	last   Definition
	index  []byte
	offset int64 // of the next block
	count  int64
	blocks int64
}

// NewWriter begins a file of definitions.
func NewWriter(w io.Writer) (*Writer, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(true), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(w, magic)
	return &Writer{w: w, z: z, offset: int64(len(magic))}, err
}

// Add appends a definition. Definitions must be added in the order of [Compare];
// one that is not greater than the last is a programming error.
func (w *Writer) Add(d Definition) error {
	if w.count > 0 && Compare(w.last, d) >= 0 {
		panic("BUG: definitions are not sorted")
	}
	if d.Size() > MaxText {
		return fmt.Errorf("definition of %s: %d bytes, want at most %d", d.Name, d.Size(), MaxText)
	}
	if len(w.block) == 0 {
		w.first = d.Name
	}
	w.last = d
	w.count++
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
	w.index = binary.AppendUvarint(w.index, uint64(len(w.first)))
	w.index = append(w.index, w.first...)
	w.offset += int64(len(w.packed))
	w.blocks++
	w.block = w.block[:0]
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
