// Package torchfile reads the tensors of a file written by torch.save, such as
// pytorch_model.bin, without executing code from the file.
//
//	f, err := torchfile.Open(path)
//	...
//	defer f.Close()
//	for _, t := range f.Tensors {
//		err := f.Read(t, func(i int64, element []byte) { ... })
//	}
//
// # Format
//
// Since PyTorch 1.6 the file is a zip archive. Its entries are in one folder
// and stored without compression:
//
//	NAME/data.pkl     a pickle: a dictionary from names to tensors
//	NAME/data/KEY     the bytes of the storage KEY
//	NAME/byteorder    "little" or "big"; optional, default little
//	NAME/version      format version; ignored
//
// A tensor is a view of a storage: an offset, a shape and strides, in elements.
//
// A pickle is a program. This package interprets a fixed subset of its
// instructions. It allows only calls of functions that make tensors, ordered
// dictionaries and storages, and implements these functions itself. Any other
// function is rejected with an error that names it.
//
// Memory holds the pickle (at most 4 MiB) and, while a tensor that is not contiguous
// is read, its whole storage.
package torchfile

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"

	"pretext/internal/store"
)

// maxPickle limits the size of data.pkl in bytes; a model takes about 130 bytes
// for each tensor.
const maxPickle = 4 << 20

// A Tensor describes one tensor of a file. Offset, Shape and Stride are in
// elements.
type Tensor struct {
	Name   string
	DType  string // as safetensors spells it: F32, F16, BF16, F64, I64 and so on
	Shape  []int64
	Stride []int64
	Offset int64

	storage storage
}

// Elements returns the number of elements.
func (t *Tensor) Elements() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// A File is an open file. It is safe for concurrent use.
type File struct {
	Tensors []*Tensor // in the order of the file

	r       io.ReaderAt
	size    int64
	entries map[string]*zip.File // by name without the folder
	closer  io.Closer
}

// Open opens a file. Close it after use. If the file has another format, the error
// names the format, if it is known, and how to convert the file.
func Open(path string) (*File, error) {
	f, err := store.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		var t *File
		if t, err = New(f, info.Size()); err == nil {
			t.closer = f
			return t, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), f.Close())
}

// New opens the file that r reads, which has size bytes. It reads the directory and the
// pickle.
func New(r io.ReaderAt, size int64) (*File, error) {
	head := make([]byte, min(size, 512))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if err := otherFormat(head); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("read zip directory: %w", err)
	}
	f := &File{r: r, size: size}
	if err := f.index(z); err != nil {
		return nil, err
	}
	if f.entries["byteorder"] != nil {
		order, err := f.whole("byteorder", 16)
		if err != nil {
			return nil, err
		}
		if string(order) != "little" {
			return nil, fmt.Errorf("%w: byte order %q: save the model on a little-endian machine", ErrFormat, order)
		}
	}
	program, err := f.whole("data.pkl", maxPickle)
	if err != nil {
		return nil, err
	}
	if f.Tensors, err = unpickle(program); err != nil {
		return nil, fmt.Errorf("data.pkl: %w", err)
	}
	return f, f.checkStorages()
}

// Close closes a file opened by [Open].
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// ErrFormat is matched by errors about a file that seems intact, but has another
// format or contains other objects than tensors.
var ErrFormat = errors.New("not a file of weights that can be read")

// otherFormat returns an error for a file that is not a zip archive. If its first bytes
// show which format it has, the error says how to convert it.
func otherFormat(head []byte) error {
	const resave = "load it once with torch.load(FILE, weights_only=True) and save the result with torch.save, or with save_pretrained"
	legacy := []byte("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19") // the magic number, after PROTO
	switch {
	case len(head) > 4 && bytes.Equal(head[:4], []byte("PK\x03\x04")):
		return nil
	case len(head) > 14 && head[0] == 0x80 && bytes.Equal(head[2:14], legacy):
		return fmt.Errorf("%w: the format of PyTorch before 1.6: %s", ErrFormat, resave)
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return fmt.Errorf("%w: a tar archive, the format of PyTorch before 0.4: %s", ErrFormat, resave)
	case bytes.HasPrefix(head, []byte("version https://git-lfs")):
		return fmt.Errorf("%w: a pointer of Git LFS, without the data: run git lfs pull where the file was cloned", ErrFormat)
	case len(head) > 0 && head[0] == 0x80:
		return fmt.Errorf("%w: a bare pickle, which is not read: save the tensors with torch.save", ErrFormat)
	}
	return errors.New("not a zip archive, which torch.save writes: truncated, corrupt or another kind of file")
}

// index fills f.entries. All entries must be stored: a compressed entry is not from
// torch.save, and could expand to far more than the file's size.
func (f *File) index(z *zip.Reader) error {
	folder, found := "", false
	for _, e := range z.File {
		if dir, ok := strings.CutSuffix(e.Name, "/data.pkl"); ok && !strings.Contains(dir, "/") {
			if found {
				return fmt.Errorf("two pickles, %q and %q", folder+"/data.pkl", e.Name)
			}
			folder, found = dir, true
		}
	}
	if !found {
		return fmt.Errorf("%w: a zip archive without data.pkl: not written by torch.save", ErrFormat)
	}
	f.entries = map[string]*zip.File{}
	for _, e := range z.File {
		name, ok := strings.CutPrefix(e.Name, folder+"/")
		if !ok {
			continue
		}
		if f.entries[name] != nil {
			return fmt.Errorf("entry %q appears twice", e.Name)
		}
		if e.Method != zip.Store || e.UncompressedSize64 != e.CompressedSize64 {
			return fmt.Errorf("%w: entry %q is compressed, where torch.save only stores: unpack it and zip it without compression", ErrFormat, e.Name)
		}
		f.entries[name] = e
	}
	return nil
}

// whole reads an entry of at most `most` bytes.
func (f *File) whole(name string, most uint64) ([]byte, error) {
	e := f.entries[name]
	if e.UncompressedSize64 > most {
		return nil, fmt.Errorf("entry %q has %d bytes, more than %d: not a file of weights", name, e.UncompressedSize64, most)
	}
	r, err := e.Open()
	if err != nil {
		return nil, fmt.Errorf("entry %q: %w", name, err)
	}
	defer r.Close()
	b := make([]byte, 0, min(e.UncompressedSize64, 1<<20)) // never more than the file has
	w := bytes.NewBuffer(b)
	if _, err := io.Copy(w, r); err != nil {
		return nil, fmt.Errorf("entry %q: %w", name, err)
	}
	return w.Bytes(), nil
}

// checkStorages checks that every storage exists, has the stated size and does
// not overlap another one, and that every tensor is within its storage.
func (f *File) checkStorages() error {
	type place struct{ begin, end int64 }
	places := map[string]place{}
	for _, t := range f.Tensors {
		if err := t.check(); err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		s := t.storage
		e := f.entries["data/"+s.key]
		if e == nil {
			return fmt.Errorf("tensor %q: the file has no storage %q", t.Name, s.key)
		}
		if e.UncompressedSize64 != uint64(s.elements*s.kind.size) {
			return fmt.Errorf("tensor %q: storage %q has %d bytes, expected %d", t.Name, s.key, e.UncompressedSize64, s.elements*s.kind.size)
		}
		at, err := e.DataOffset()
		if err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		if at > f.size || s.elements*s.kind.size > f.size-at {
			return fmt.Errorf("tensor %q: storage %q reaches beyond the end of the file", t.Name, s.key)
		}
		places[s.key] = place{at, at + int64(e.UncompressedSize64)}
	}
	sorted := slices.Collect(maps.Values(places))
	slices.SortFunc(sorted, func(a, b place) int { return cmp.Compare(a.begin, b.begin) })
	for i := 1; i < len(sorted); i++ {
		if sorted[i].begin < sorted[i-1].end {
			return errors.New("two storages overlap in the archive")
		}
	}
	return nil
}

// pieceSize is the number of bytes read at once: a multiple of all element
// sizes.
const pieceSize = 1 << 20

// Read calls each for every element of a tensor in row-major order. i is the number of
// the element; element holds its little-endian bytes and is valid only during the call.
// Read verifies the checksum of the storage.
func (f *File) Read(t *Tensor, each func(i int64, element []byte)) error {
	if t.Elements() == 0 {
		return nil
	}
	read := f.gather
	if t.inOrder() {
		read = f.readInOrder
	}
	if err := read(t, each); err != nil {
		return fmt.Errorf("read tensor %q: %w", t.Name, err)
	}
	return nil
}

// readInOrder reads a tensor that is a contiguous part of its storage.
func (f *File) readInOrder(t *Tensor, each func(i int64, element []byte)) error {
	size := t.storage.kind.size
	skip, n := t.Offset*size, t.Elements()*size
	i := int64(0)
	return f.pieces(t.storage, func(at int64, b []byte) {
		from, to := max(skip-at, 0), min(skip+n-at, int64(len(b)))
		for ; from < to; from += size {
			each(i, b[from:from+size])
			i++
		}
	})
}

// pieces reads a storage from its beginning to its end, a piece at a time, and verifies
// its checksum.
func (f *File) pieces(s storage, use func(at int64, b []byte)) error {
	e := f.entries["data/"+s.key]
	begin, err := e.DataOffset()
	if err != nil {
		return err
	}
	size := s.elements * s.kind.size
	buf, sum := make([]byte, min(size, pieceSize)), crc32.NewIEEE()
	for at := int64(0); at < size; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), size-at)]
		if _, err := f.r.ReadAt(buf, begin+at); err != nil {
			return fmt.Errorf("storage %q: %w", s.key, err)
		}
		sum.Write(buf)
		use(at, buf)
	}
	if sum.Sum32() != e.CRC32 {
		return fmt.Errorf("storage %q: checksum differs: the file is corrupt", s.key)
	}
	return nil
}

// gather reads a tensor whose elements are not in order in its storage, such as a
// transposed one. It reads the whole storage into memory.
func (f *File) gather(t *Tensor, each func(i int64, element []byte)) error {
	size := t.storage.kind.size
	all := make([]byte, 0, t.storage.elements*size)
	if err := f.pieces(t.storage, func(_ int64, b []byte) { all = append(all, b...) }); err != nil {
		return err
	}
	index := make([]int64, len(t.Shape))
	at := t.Offset
	for i := range t.Elements() {
		each(i, all[at*size:(at+1)*size])
		for d := len(index) - 1; d >= 0; d-- {
			index[d]++
			at += t.Stride[d]
			if index[d] < t.Shape[d] {
				break
			}
			at -= t.Shape[d] * t.Stride[d]
			index[d] = 0
		}
	}
	return nil
}
