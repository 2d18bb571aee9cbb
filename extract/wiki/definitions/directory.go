package definitions

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"pretext/internal/failure"
)

const (
	directoryMagic       = "PTDEFD1\n"
	directoryFooterBytes = 16
)

// A Part is a file of definitions that a directory refers to.
type Part struct {
	Name   string   // name for the open function of [OpenDirectory]
	SHA256 [32]byte // of the file, so that the directory's hash covers all definitions
	File   *File
}

// AppendDirectory appends a directory of the parts to b. It uses only their indexes and
// does not read their blocks.
func AppendDirectory(b []byte, parts []Part) []byte {
	start := len(b)
	b = append(b, directoryMagic...)
	b = binary.AppendUvarint(b, uint64(len(parts)))
	var entries []uint64
	blocks := uint64(0)
	for _, p := range parts {
		b = binary.AppendUvarint(b, uint64(len(p.Name)))
		b = append(append(b, p.Name...), p.SHA256[:]...)
		b = binary.AppendUvarint(b, uint64(p.File.count))
		b = binary.AppendUvarint(b, uint64(len(p.File.blocks)))
		for _, block := range p.File.blocks {
			b = binary.AppendUvarint(b, uint64(block.size))
			for h := block.hashes; len(h) > 0; h = h[4:] {
				entries = append(entries, uint64(binary.LittleEndian.Uint32(h))<<32|blocks)
			}
			blocks++
		}
	}
	slices.Sort(entries)
	entries = slices.Compact(entries)
	b = slices.Grow(b, 8*len(entries)+directoryFooterBytes)
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint64(b, e)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(len(entries)))
	return binary.LittleEndian.AppendUint64(b, xxhash.Sum64(b[start:]))
}

// A PartFile is an open [Part].
type PartFile interface {
	io.ReaderAt
	io.Closer
}

// A Directory finds definitions in its parts by name. Any number of goroutines may
// use it.
type Directory struct {
	open    func(name string) (PartFile, error)
	parts   []string
	blocks  []partBlock
	entries []uint64
	count   int64
}

// A partBlock identifies a block of a part.
type partBlock struct {
	part int
	fileBlock
}

// OpenDirectory opens the directory with the content raw. It takes 8 bytes of memory
// for each definition. Each lookup opens the part that it needs with open, so that
// parts need not stay open.
func OpenDirectory(raw []byte, open func(name string) (PartFile, error)) (*Directory, error) {
	if err := failure.CheckMagic(string(raw[:min(len(raw), len(directoryMagic))]), directoryMagic); err != nil {
		return nil, err
	}
	body, footer, ok := cutDirectory(raw)
	if !ok {
		return nil, corrupt("not a directory of definitions, or truncated")
	}
	if xxhash.Sum64(raw[:len(raw)-8]) != binary.LittleEndian.Uint64(footer[8:]) {
		return nil, corrupt("checksum of the directory")
	}
	d := &Directory{open: open}
	entries, ok := d.parse(body)
	if !ok || uint64(len(entries)) != 8*binary.LittleEndian.Uint64(footer) {
		return nil, corrupt("directory")
	}
	d.entries = make([]uint64, len(entries)/8)
	for i := range d.entries {
		d.entries[i] = binary.LittleEndian.Uint64(entries[8*i:])
		if uint64(uint32(d.entries[i])) >= uint64(len(d.blocks)) || i > 0 && d.entries[i] <= d.entries[i-1] {
			return nil, corrupt("entry %d of the directory", i)
		}
	}
	return d, nil
}

// cutDirectory splits a directory into the body, between the magic bytes and the
// footer, and the footer.
func cutDirectory(raw []byte) (body, footer []byte, ok bool) {
	if len(raw) < len(directoryMagic)+directoryFooterBytes || string(raw[:len(directoryMagic)]) != directoryMagic {
		return nil, nil, false
	}
	end := len(raw) - directoryFooterBytes
	return raw[len(directoryMagic):end], raw[end:], true
}

// parse reads the list of parts and returns the bytes after it.
func (d *Directory) parse(b []byte) (rest []byte, ok bool) {
	ok = true
	number := func(limit uint64) uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > limit {
			ok, n, v = false, 0, 0
		}
		b = b[n:]
		return v
	}
	for part := range number(uint64(len(b))) {
		name, after, found := cutText(b)
		if !ok || !found || len(after) < 32 || bytes.ContainsAny(name, `/\`) { // parts are in the same directory as this file
			return nil, false
		}
		b = after[32:]
		d.parts = append(d.parts, string(name))
		d.count += int64(number(1 << 40))
		offset := int64(len(magic))
		for range number(uint64(len(b))) {
			size := number(maxBlock * 2)
			d.blocks = append(d.blocks, partBlock{int(part), fileBlock{offset: offset, size: int(size)}})
			offset += int64(size)
		}
	}
	return b, ok
}

// Len returns the number of definitions.
func (d *Directory) Len() int64 { return d.count }

// Find returns the value of the template with a folded name, or "" if there is none. If
// several titles differ only in case, Find prefers the one equal to title, ignoring the
// case of the first letter. If none is equal, it returns the first.
func (d *Directory) Find(name, title string) (value string, err error) {
	hash := uint64(hashName(name)) << 32
	k, _ := slices.BinarySearch(d.entries, hash)
	var best Definition
	found, same := false, false
	for ; k < len(d.entries) && d.entries[k]&^(1<<32-1) == hash; k++ {
		for c, err := range d.named(d.blocks[uint32(d.entries[k])], name) {
			if err != nil {
				return "", err
			}
			s := sameTitle(c.Title, title)
			if !found || s && !same || s == same && compare(c, best) < 0 {
				best, found, same = c, true, s
			}
		}
	}
	return best.Value, nil
}

// named yields the definitions in a block that have the given name, and at most one
// error.
func (d *Directory) named(b partBlock, want string) func(func(Definition, error) bool) {
	return func(yield func(Definition, error) bool) {
		records, err := d.read(b)
		for err == nil && len(records) > 0 {
			var name, title, value []byte
			name, title, value, records, err = b.cutRecord(records)
			if err == nil && string(name) == want && !yield(Definition{want, string(title), string(value)}, nil) {
				return
			}
		}
		if err != nil {
			yield(Definition{}, fmt.Errorf("%s: %w", d.parts[b.part], err))
		}
	}
}

// read returns the records of a block.
func (d *Directory) read(b partBlock) ([]byte, error) {
	f, err := d.open(d.parts[b.part])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBlock(f, b.fileBlock)
}

// sameTitle reports whether two titles name the same page on a wiki that ignores the
// case of first letters. Underscores and spaces are equal.
func sameTitle(a, b string) bool {
	a, b = strings.ReplaceAll(a, "_", " "), strings.ReplaceAll(b, "_", " ")
	x, n := utf8.DecodeRuneInString(a)
	y, m := utf8.DecodeRuneInString(b)
	return a[n:] == b[m:] && (x == y || unicode.ToUpper(x) == unicode.ToUpper(y))
}
