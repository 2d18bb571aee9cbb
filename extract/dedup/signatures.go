package dedup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// A signature file holds the sketches of a list of documents, column by column,
// so that an index reads one band of all documents contiguously. Integers are
// little-endian:
//
//	"ptxsig1\n"  u32 documents n  u32 bands b
//	n × u8       state: 0 compare, 1 ignore, 2 only the digest (no words)
//	n × 16 bytes digest
//	b × n × u64  hashes of the bands, band by band
//	(n+1) × u32  offset of each ID in the IDs, and their total length
//	IDs
const (
	signaturesMagic = "ptxsig1\n"
	signaturesHead  = len(signaturesMagic) + 8
	digestBytes     = len(Digest{})
)

// maxIDBytes is the length, in bytes, to which IDs are truncated.
const maxIDBytes = 1 << 10

// ErrCorrupt is wrapped by the errors for corrupt signature and samples files.
var ErrCorrupt = errors.New("corrupt file of signatures")

// States of a document in a signature file.
const (
	stateCompared = 0 // compare the document with others
	stateAside    = 1 // rejected by an earlier stage: ignore
	stateWordless = 2 // compare only the digest
)

// A Builder collects the sketches of a list of documents for a signature file. It takes
// 24 bytes per document, 8 bytes per band of a document, and the ID.
type Builder struct {
	bands   int
	states  []byte
	digests []Digest
	hashes  []uint64 // one row of band hashes per document
	places  []uint32
	ids     []byte
}

// NewBuilder returns a builder for sketches with the given number of bands.
func NewBuilder(bands int) *Builder { return &Builder{bands: bands} }

// Len returns the number of documents.
func (b *Builder) Len() int { return len(b.states) }

// Add appends a document that will be compared with others.
func (b *Builder) Add(id string, s Sketch) {
	state := byte(stateCompared)
	if s.Bands == nil {
		state = stateWordless
	}
	b.add(id, state, s)
}

// AddAside appends a document that will be ignored. It is added only so that the
// numbers of the other documents do not change.
func (b *Builder) AddAside(id string) { b.add(id, stateAside, Sketch{}) }

func (b *Builder) add(id string, state byte, s Sketch) {
	b.states = append(b.states, state)
	b.digests = append(b.digests, s.Digest)
	for i := range b.bands {
		h := uint64(0)
		if i < len(s.Bands) {
			h = s.Bands[i]
		}
		b.hashes = append(b.hashes, h)
	}
	b.places = append(b.places, uint32(len(b.ids)))
	b.ids = append(b.ids, id[:min(len(id), maxIDBytes)]...)
}

// WriteTo writes the signature file.
func (b *Builder) WriteTo(w io.Writer) (int64, error) {
	le := binary.LittleEndian
	n := len(b.states)
	out := countingWriter{w: w}
	head := le.AppendUint32(le.AppendUint32([]byte(signaturesMagic), uint32(n)), uint32(b.bands))
	out.write(head)
	out.write(b.states)
	for _, d := range b.digests {
		out.write(d[:])
	}
	var word [8]byte
	for band := range b.bands {
		for i := range n {
			le.PutUint64(word[:], b.hashes[i*b.bands+band])
			out.write(word[:])
		}
	}
	for _, p := range append(b.places, uint32(len(b.ids))) {
		le.PutUint32(word[:4], p)
		out.write(word[:4])
	}
	out.write(b.ids)
	return out.n, out.err
}

type countingWriter struct {
	w   io.Writer
	n   int64
	err error
}

func (c *countingWriter) write(p []byte) {
	if c.err != nil {
		return
	}
	n, err := c.w.Write(p)
	c.n, c.err = c.n+int64(n), err
}

// Signatures is an open signature file.
type Signatures struct {
	r         io.ReaderAt
	documents int
	bands     int
}

// OpenSignatures opens a signature file of the given size in bytes.
func OpenSignatures(r io.ReaderAt, size int64) (*Signatures, error) {
	head := make([]byte, signaturesHead)
	if n, err := r.ReadAt(head, 0); n < len(head) {
		return nil, damaged(err)
	}
	le := binary.LittleEndian
	n, bands := int64(le.Uint32(head[8:])), int64(le.Uint32(head[12:]))
	if string(head[:8]) != signaturesMagic || n > math.MaxInt32 || bands > 1024 {
		return nil, fmt.Errorf("%w: not a signature file", ErrCorrupt)
	}
	s := &Signatures{r: r, documents: int(n), bands: int(bands)}
	ends := s.places() + 4*(n+1)
	if size < ends {
		return nil, fmt.Errorf("%w: truncated", ErrCorrupt)
	}
	last, err := s.place(int(n))
	if err != nil {
		return nil, err
	}
	if size != ends+int64(last) {
		return nil, fmt.Errorf("%w: %d bytes, want %d", ErrCorrupt, size, ends+int64(last))
	}
	return s, nil
}

// Len returns the number of documents.
func (s *Signatures) Len() int { return s.documents }

// Bands returns the number of bands.
func (s *Signatures) Bands() int { return s.bands }

// Aside returns, for each document, whether it is ignored ([Builder.AddAside]).
func (s *Signatures) Aside() ([]bool, error) {
	aside := make([]bool, s.documents)
	err := s.column(int64(signaturesHead), 1, func(i int, state []byte) { aside[i] = state[0] == stateAside })
	return aside, err
}

func (s *Signatures) digests() int64 { return int64(signaturesHead) + int64(s.documents) }
func (s *Signatures) band(i int) int64 {
	return s.digests() + int64(digestBytes)*int64(s.documents) + 8*int64(i)*int64(s.documents)
}
func (s *Signatures) places() int64 { return s.band(s.bands) }

func (s *Signatures) place(i int) (uint32, error) {
	var b [4]byte
	if _, err := s.r.ReadAt(b[:], s.places()+4*int64(i)); err != nil {
		return 0, damaged(err)
	}
	return binary.LittleEndian.Uint32(b[:]), nil
}

// ID returns the ID of document i, truncated to 1024 bytes.
func (s *Signatures) ID(i int) (string, error) {
	if i < 0 || i >= s.documents {
		return "", fmt.Errorf("%w: no document %d", ErrCorrupt, i)
	}
	from, err := s.place(i)
	if err != nil {
		return "", err
	}
	to, err := s.place(i + 1)
	if err != nil {
		return "", err
	}
	if to < from || to-from > maxIDBytes {
		return "", fmt.Errorf("%w: length of an ID out of range", ErrCorrupt)
	}
	id := make([]byte, to-from)
	if _, err := s.r.ReadAt(id, s.places()+4*int64(s.documents+1)+int64(from)); err != nil && (err != io.EOF || len(id) > 0) {
		return "", damaged(err)
	}
	return string(id), nil
}

// columnRead is the number of bytes of a column that are read at once.
const columnRead = 256 << 10

// column calls visit for each item of a column. at is the file offset of the column,
// size the size of an item in bytes.
func (s *Signatures) column(at int64, size int, visit func(i int, item []byte)) error {
	items := min(columnRead/size, s.documents)
	buf := make([]byte, size*items)
	for i := 0; i < s.documents; {
		n := min(items, s.documents-i)
		if _, err := s.r.ReadAt(buf[:n*size], at+int64(i)*int64(size)); err != nil {
			return damaged(err)
		}
		for j := range n {
			visit(i+j, buf[j*size:(j+1)*size])
		}
		i += n
	}
	return nil
}
