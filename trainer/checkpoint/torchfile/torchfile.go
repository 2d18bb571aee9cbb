// Package torchfile reads the tensors of a file that torch.save wrote, such as
// pytorch_model.bin, without running anything that the file holds.
//
//	f, err := torchfile.Open(path)
//	...
//	defer f.Close()
//	for _, t := range f.Tensors {
//		err := f.Read(t, func(i int64, element []byte) { ... })
//	}
//
// # The file
//
// Since PyTorch 1.6 a zip archive, all of whose entries lie below one folder and are
// stored, not compressed: data.pkl, a pickle; data/KEY, the bytes of the storage KEY;
// byteorder ("little" where there is none); version. The pickle makes a dictionary of
// tensors by name. A tensor is a view on a storage: an offset, a shape and strides,
// counted in elements.
//
// A pickle is a program. This package interprets a fixed list of its instructions, and
// of the functions that it may call only those that make tensors, ordered dictionaries
// and storages, as values of its own. Anything else is refused with an error that
// names the function. Memory is bounded by the size of the pickle, at most 4 MiB, and
// of the largest storage that a view does not read in order.
package torchfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strings"
)

// maxPickle bounds data.pkl in bytes: that of a model takes about 130 a tensor.
const maxPickle = 4 << 20

// A Tensor describes one tensor of a file. Offset, shape and strides are in elements.
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

// A File is open for reading. Several goroutines may read it at once.
type File struct {
	Tensors []*Tensor // in the order of the file

	r       io.ReaderAt
	size    int64
	entries map[string]*zip.File // by name without the folder
	closer  io.Closer
}

// Open opens a file; close it with Close. An error that is not the file system's says
// what the file is instead and what to do.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
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

// New reads the directory and the pickle of a file of size bytes.
func New(r io.ReaderAt, size int64) (*File, error) {
	head := make([]byte, min(size, 512))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if err := foreign(head); err != nil {
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
	if err := f.checkOrder(); err != nil {
		return nil, err
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

// ErrFormat is matched by the error of a file that is not corrupt as far as can be
// seen, but of another format, or more than tensors.
var ErrFormat = errors.New("not a file of weights that can be read")

// foreign recognizes other files by their first bytes.
func foreign(head []byte) error {
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

// index finds the entries. All must be stored: a compressed one is not torch's, and
// could be far larger than the file.
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

// checkOrder refuses storages of a big-endian machine.
func (f *File) checkOrder() error {
	if f.entries["byteorder"] == nil {
		return nil
	}
	order, err := f.whole("byteorder", 16)
	if err != nil {
		return err
	}
	if string(order) != "little" {
		return fmt.Errorf("%w: byte order %q: save the model on a little-endian machine", ErrFormat, order)
	}
	return nil
}

// whole reads an entry of at most so many bytes.
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
	b := make([]byte, 0, min(e.UncompressedSize64, 1<<20)) // no more than is there
	w := bytes.NewBuffer(b)
	if _, err := io.Copy(w, r); err != nil {
		return nil, fmt.Errorf("entry %q: %w", name, err)
	}
	return w.Bytes(), nil
}

// checkStorages demands that every storage is there, has the announced size and lies
// apart from the others, and that every tensor lies within its storage.
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
	sorted := make([]place, 0, len(places))
	for _, p := range places {
		sorted = append(sorted, p)
	}
	slices.SortFunc(sorted, func(a, b place) int { return int(min(max(a.begin-b.begin, -1), 1)) })
	for i := 1; i < len(sorted); i++ {
		if sorted[i].begin < sorted[i-1].end {
			return errors.New("two storages overlap in the archive")
		}
	}
	return nil
}

// pieceSize is how much is read at a time, in bytes: a multiple of all element sizes.
const pieceSize = 1 << 20

// Read calls each for every element of a tensor in row-major order, with its bytes,
// little endian, valid during the call. The checksum of the storage is compared.
func (f *File) Read(t *Tensor, each func(i int64, element []byte)) error {
	if t.Elements() == 0 {
		return nil
	}
	var err error
	if t.inOrder() {
		err = f.readInOrder(t, each)
	} else {
		err = f.gather(t, each)
	}
	if err != nil {
		return fmt.Errorf("read tensor %q: %w", t.Name, err)
	}
	return nil
}

// readInOrder reads a tensor that is a part of its storage from end to end.
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

// pieces reads a storage from its first to its last byte.
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

// gather reads a tensor whose elements do not lie one after another, such as a
// transposed one, out of its whole storage.
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
