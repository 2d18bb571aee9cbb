package definitions

import (
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

// A File is a file of definitions, open for reading. Any number of goroutines may
// use it.
type File struct {
	r      io.ReaderAt
	blocks []fileBlock
	count  int64
}

// A fileBlock is a line of the index.
type fileBlock struct {
	offset int64
	size   int // compressed
	first  string
}

// decoder decodes blocks. All files share it.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock+64), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic("BUG: options of a decoder: " + err.Error())
	}
	return z
})

// Open opens a file of size bytes. It reads the index, which it keeps in memory:
// about 60 bytes for each 8 KiB of definitions.
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

// parse reads the index, which is at offset start of the file.
func (f *File) parse(index []byte, start int64, blocks uint64) error {
	offset := int64(len(magic))
	for len(index) > 0 {
		size, n := binary.Uvarint(index)
		if n <= 0 || size > maxBlock*2 {
			return corrupt("index")
		}
		first, rest, ok := cutText(index[n:])
		if !ok {
			return corrupt("index")
		}
		f.blocks = append(f.blocks, fileBlock{offset, int(size), string(first)})
		offset, index = offset+int64(size), rest
	}
	if offset != start || uint64(len(f.blocks)) != blocks {
		return corrupt("the index does not cover the blocks")
	}
	return nil
}

// cutText returns the text at the start of b, behind its length, and what follows.
func cutText(b []byte) (text, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > math.MaxInt32 || uint64(len(b)-n) < size {
		return nil, nil, false
	}
	return b[n : n+int(size)], b[n+int(size):], true
}

// readFull reads p at an offset; a file that ends before is corrupt.
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

// block returns the records of block k.
func (f *File) block(k int) ([]byte, error) {
	b := f.blocks[k]
	packed := make([]byte, b.size)
	if err := readFull(f.r, packed, b.offset); err != nil {
		return nil, err
	}
	records, err := decoder().DecodeAll(packed, make([]byte, 0, blockBytes+4096))
	if err != nil {
		return nil, corrupt("block at byte %d: %v", b.offset, err)
	}
	return records, nil
}

// cutRecord returns the record at the start of b and what follows. Its texts are
// in b.
func (f *File) cutRecord(k int, b []byte) (name, title, value, rest []byte, err error) {
	rest = b
	for _, to := range []*[]byte{&name, &title, &value} {
		var ok bool
		if *to, rest, ok = cutText(rest); !ok {
			return nil, nil, nil, nil, corrupt("record in the block at byte %d", f.blocks[k].offset)
		}
	}
	return name, title, value, rest, nil
}

// All yields all definitions in their order, and at most one error.
func (f *File) All() iter.Seq2[Definition, error] {
	return func(yield func(Definition, error) bool) {
		for k := range f.blocks {
			records, err := f.block(k)
			for err == nil && len(records) > 0 {
				var name, title, value []byte
				if name, title, value, records, err = f.cutRecord(k, records); err == nil && !yield(Definition{string(name), string(title), string(value)}, nil) {
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

// Find returns the value of the template with a folded name; "" if there is none.
// Of several, whose titles differ in case, it returns the one with this title, in
// which the case of the first letter does not matter, else the first.
func (f *File) Find(name, title string) (value string, err error) {
	k, _ := slices.BinarySearchFunc(f.blocks, name, func(b fileBlock, name string) int { return strings.Compare(b.first, name) })
	found := false
	for k = max(0, k-1); k < len(f.blocks) && f.blocks[k].first <= name; k++ {
		records, err := f.block(k)
		if err != nil {
			return "", err
		}
		for len(records) > 0 {
			var n, t, v []byte
			if n, t, v, records, err = f.cutRecord(k, records); err != nil {
				return "", err
			}
			if string(n) > name {
				return value, nil
			}
			if string(n) != name {
				continue
			}
			if sameTitle(string(t), title) {
				return string(v), nil
			}
			if !found {
				value, found = string(v), true
			}
		}
	}
	return value, nil
}

// sameTitle reports whether two titles name the same page of a wiki that does not
// distinguish the case of first letters. Underscores are spaces.
func sameTitle(a, b string) bool {
	a, b = strings.ReplaceAll(a, "_", " "), strings.ReplaceAll(b, "_", " ")
	x, n := utf8.DecodeRuneInString(a)
	y, m := utf8.DecodeRuneInString(b)
	return a[n:] == b[m:] && (x == y || unicode.ToUpper(x) == unicode.ToUpper(y))
}
