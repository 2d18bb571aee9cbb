package checkpoint

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"pretext/internal/store"
)

// maxHeader is the maximum size of a header in bytes, as in the reference
// implementation.
const maxHeader = 100 << 20

// A DType is the element type of a stored tensor, as safetensors spells it.
type DType string

// The element types that this package converts. Tensors of other types are
// listed, but reading them is an error.
const (
	F64  DType = "F64"
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I64  DType = "I64"
	I32  DType = "I32"
)

// Size returns the size of an element in bytes, 0 for an unknown type.
func (d DType) Size() int64 {
	switch d {
	case "F64", "I64", "U64":
		return 8
	case "F32", "I32", "U32":
		return 4
	case "F16", "BF16", "I16", "U16":
		return 2
	case "BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2":
		return 1
	}
	return 0
}

// An Entry describes one tensor of a safetensors file.
type Entry struct {
	Name       string
	DType      DType
	Shape      []int64
	Begin, End int64 // byte range in the data part
}

// Elements returns the number of elements.
func (e Entry) Elements() int64 { return (e.End - e.Begin) / e.DType.Size() }

// A Safetensors is an open safetensors file. It is safe for concurrent use.
type Safetensors struct {
	Metadata map[string]string // "__metadata__" of the header; nil if absent
	Entries  []Entry           // in the order of their data

	r      io.ReaderAt
	base   int64          // offset of the data part in the file
	byName map[string]int // tensor name → index in Entries
	closer io.Closer
	path   string // path of the file, for error messages; "" without OpenSafetensors
}

// OpenSafetensors opens the safetensors file at path and checks its header.
// Close it after use.
func OpenSafetensors(path string) (*Safetensors, error) {
	f, err := store.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		var s *Safetensors
		if s, err = NewSafetensors(f, info.Size()); err == nil {
			s.closer, s.path = f, path
			return s, nil
		}
	}
	return nil, errors.Join(damaged(fmt.Errorf("open %s: %w", path, err)), f.Close())
}

// NewSafetensors opens the safetensors file that r reads, which has size bytes,
// and checks its header: tensor names must be unique, and the tensors must
// cover the data part without gap or overlap.
func NewSafetensors(r io.ReaderAt, size int64) (*Safetensors, error) {
	var length [8]byte
	if size < 8 {
		return nil, fmt.Errorf("safetensors of %d bytes: no header", size)
	}
	if _, err := r.ReadAt(length[:], 0); err != nil {
		return nil, fmt.Errorf("read safetensors header: %w", err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if string(length[:]) == "version " { // "version https://git-lfs.github.com/spec/v1"
		return nil, errors.New("a pointer of Git LFS, without the data: run git lfs pull where the file was cloned")
	}
	if n > maxHeader || int64(n) > size-8 {
		return nil, fmt.Errorf("safetensors header of %d bytes in a file of %d: corrupt or truncated", n, size)
	}
	header := make([]byte, n)
	if _, err := r.ReadAt(header, 8); err != nil {
		return nil, fmt.Errorf("read safetensors header: %w", err)
	}
	s := &Safetensors{r: r, base: 8 + int64(n), byName: map[string]int{}}
	if err := s.parseHeader(header); err != nil {
		return nil, fmt.Errorf("parse safetensors header: %w", err)
	}
	if err := s.checkLayout(size - s.base); err != nil {
		return nil, fmt.Errorf("parse safetensors header: %w", err)
	}
	return s, nil
}

// checkLayout sorts the entries by offset, checks that they cover the data part
// of size bytes without gap or overlap, and fills s.byName.
func (s *Safetensors) checkLayout(size int64) error {
	slices.SortStableFunc(s.Entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End)) // an empty tensor has the same offset as the tensor after it
	})
	at := int64(0)
	for i, e := range s.Entries {
		if e.Begin != at {
			return fmt.Errorf("tensor %q: data begins at byte %d, expected %d", e.Name, e.Begin, at)
		}
		at = e.End
		s.byName[e.Name] = i
	}
	if at != size {
		return fmt.Errorf("tensors of %d bytes in a data part of %d", at, size)
	}
	return nil
}

// Close closes a file opened by [OpenSafetensors].
func (s *Safetensors) Close() error {
	if s.closer == nil {
		return nil
	}
	return s.closer.Close()
}

// Lookup returns the entry of the tensor name, or false if there is none.
func (s *Safetensors) Lookup(name string) (Entry, bool) {
	i, ok := s.byName[name]
	if !ok {
		return Entry{}, false
	}
	return s.Entries[i], true
}

// Float32s reads a floating-point tensor into dst, converted to float32. dst is
// grown as needed.
func (s *Safetensors) Float32s(name string, dst []float32) ([]float32, error) {
	e, ok := s.Lookup(name)
	if !ok {
		return nil, noTensor(name)
	}
	convert := floatOf(e.DType)
	if convert == nil {
		return nil, fmt.Errorf("tensor %q: element type %s is not floating point", name, e.DType)
	}
	dst = slices.Grow(dst[:0], int(e.Elements()))[:e.Elements()]
	return dst, read(s, e, func(i int64, b []byte) { dst[i] = convert(b) })
}

// floatOf returns the function that converts the bytes of an element of type d
// to float32, or nil if d is not floating point.
func floatOf(d DType) func([]byte) float32 {
	switch d {
	case F32:
		return func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
	case F64:
		return func(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) }
	case BF16:
		return func(b []byte) float32 { return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16) }
	case F16:
		return func(b []byte) float32 { return halfToFloat32(binary.LittleEndian.Uint16(b)) }
	}
	return nil
}

// Int32s reads an integer tensor into dst, which is grown as needed. A value
// that does not fit into 32 bits is an error.
func (s *Safetensors) Int32s(name string, dst []int32) ([]int32, error) {
	e, ok := s.Lookup(name)
	if !ok {
		return nil, noTensor(name)
	}
	if e.DType != I32 && e.DType != I64 {
		return nil, fmt.Errorf("tensor %q: element type %s is not I32 or I64", name, e.DType)
	}
	dst = slices.Grow(dst[:0], int(e.Elements()))[:e.Elements()]
	wide := false
	err := read(s, e, func(i int64, b []byte) {
		v := int64(int32(binary.LittleEndian.Uint32(b)))
		if len(b) == 8 && v != int64(binary.LittleEndian.Uint64(b)) {
			wide = true
		}
		dst[i] = int32(v)
	})
	if err == nil && wide {
		err = fmt.Errorf("tensor %q: a value exceeds 32 bits", name)
	}
	return dst, err
}

// read calls f for every element of e, with its number i and its bytes b. It
// reads at most 1 MiB at a time.
func read(s *Safetensors, e Entry, f func(i int64, b []byte)) error {
	size := e.DType.Size()
	buf := make([]byte, min(1<<20, e.End-e.Begin))
	i := int64(0)
	for at := e.Begin; at < e.End; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), e.End-at)]
		if _, err := s.r.ReadAt(buf, s.base+at); err != nil {
			return fmt.Errorf("read tensor %q: %w", e.Name, err)
		}
		for j := int64(0); j < int64(len(buf)); j += size {
			f(i, buf[j:j+size])
			i++
		}
	}
	return nil
}

// halfToFloat32 converts an IEEE binary16 value.
func halfToFloat32(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exponent {
	case 0: // zero and subnormal: fraction · 2^-24
		v := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(sign | math.Float32bits(v))
	case 31: // infinity and NaN
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}
