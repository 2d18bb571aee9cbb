package definitions

import (
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"math"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"

	"pretext/internal/failure"
)

// A File is a file of definitions, opened for reading. It is safe for concurrent use.
type File struct {
	r      io.ReaderAt
	blocks []fileBlock
	count  int64
}

// A fileBlock is one entry of the index; it describes a block.
type fileBlock struct {
	offset int64
	size   int    // compressed size
	hashes []byte // hashes of the names of its records, 4 bytes each
}

// decoder decodes blocks. All files share it.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock+64), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic("BUG: options of a decoder: " + err.Error())
	}
	return z
})

// Open opens a file of size bytes. It reads the index and holds it in memory: about 60
// bytes for each 8 KiB of definitions, and 4 bytes for each definition.
func Open(r io.ReaderAt, size int64) (*File, error) {
	if size < int64(len(magic))+footerBytes {
		return nil, corrupt("%d bytes, less than an empty file has", size)
	}
	var head [len(magic)]byte
	var footer [footerBytes]byte
	if err := readFull(r, head[:], 0); err != nil {
		return nil, err
	}
	if err := readFull(r, footer[:], size-footerBytes); err != nil {
		return nil, err
	}
	if err := failure.CheckMagic(string(head[:]), magic); err != nil {
		return nil, err
	}
	start := int64(binary.LittleEndian.Uint64(footer[0:]))
	if string(head[:]) != magic || start < int64(len(magic)) || start > size-footerBytes {
		return nil, corrupt("not a file of definitions, or truncated")
	}
	index := make([]byte, size-footerBytes-start)
	if err := readFull(r, index, start); err != nil {
		return nil, err
	}
	sum := xxhash.New()
	sum.Write(index)
	sum.Write(footer[:24])
	if sum.Sum64() != binary.LittleEndian.Uint64(footer[24:]) {
		return nil, corrupt("checksum of the index")
	}
	f := &File{r: r, count: int64(binary.LittleEndian.Uint64(footer[8:]))}
	return f, f.parse(index, start, binary.LittleEndian.Uint64(footer[16:]))
}

// parse parses the index. start is the file offset of the index.
func (f *File) parse(index []byte, start int64, blocks uint64) error {
	offset := int64(len(magic))
	for len(index) > 0 {
		size, n := binary.Uvarint(index)
		if n <= 0 || size > maxBlock*2 {
			return corrupt("index")
		}
		index = index[n:]
		records, n := binary.Uvarint(index)
		if n <= 0 || records > uint64(len(index)-n)/4 {
			return corrupt("index")
		}
		end := n + 4*int(records)
		f.blocks = append(f.blocks, fileBlock{offset, int(size), index[n:end]})
		offset, index = offset+int64(size), index[end:]
	}
	if offset != start || uint64(len(f.blocks)) != blocks {
		return corrupt("the index does not cover the blocks")
	}
	return nil
}

// cutText returns the text at the start of b and the rest of b. The text's length
// precedes it.
func cutText(b []byte) (text, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > math.MaxInt32 || uint64(len(b)-n) < size {
		return nil, nil, false
	}
	return b[n : n+int(size)], b[n+int(size):], true
}

// readFull reads len(p) bytes at an offset. A file that ends too early is corrupt.
func readFull(r io.ReaderAt, p []byte, offset int64) error {
	n, err := r.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return corrupt("truncated at byte %d", offset+int64(n))
	}
	return err
}

// Len returns the number of definitions.
func (f *File) Len() int64 { return f.count }

// readBlock returns the records of a block.
func readBlock(r io.ReaderAt, b fileBlock) ([]byte, error) {
	packed := make([]byte, b.size)
	if err := readFull(r, packed, b.offset); err != nil {
		return nil, err
	}
	records, err := decoder().DecodeAll(packed, make([]byte, 0, blockBytes+4096))
	if err != nil {
		return nil, corrupt("block at byte %d: %v", b.offset, err)
	}
	return records, nil
}

// cutRecord returns the record at the start of b and the rest of b. The record's
// texts share the memory of b.
func (at fileBlock) cutRecord(b []byte) (name, title, value, rest []byte, err error) {
	rest = b
	for _, to := range []*[]byte{&name, &title, &value} {
		var ok bool
		if *to, rest, ok = cutText(rest); !ok {
			return nil, nil, nil, nil, corrupt("record in the block at byte %d", at.offset)
		}
	}
	return name, title, value, rest, nil
}

// All yields all definitions in their order, and at most one error.
func (f *File) All() iter.Seq2[Definition, error] {
	return func(yield func(Definition, error) bool) {
		for _, b := range f.blocks {
			records, err := readBlock(f.r, b)
			for err == nil && len(records) > 0 {
				var name, title, value []byte
				if name, title, value, records, err = b.cutRecord(records); err == nil && !yield(Definition{string(name), string(title), string(value)}, nil) {
					return
				}
			}
			if err != nil {
				yield(Definition{}, err)
				return
			}
		}
	}
}
