package wiki

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
)

// A Range is a range of bytes of a dump, the unit of work. The pages of a range are
// those whose <page> tag begins in the bytes [Start, End) of an uncompressed file, or
// in the bzip2 blocks that begin there. If ranges cover the file without overlap, every
// page belongs to exactly one range. If a dump can only be read from its beginning
// (gzip, UTF-16), all its pages belong to the range with Start 0.
type Range struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// Sizes of ranges: small enough to give 16 cores work on a small dump, and large
// enough that reading on after the end of a range (one bzip2 block, about 250 kB
// of the file) costs little.
const (
	minRangeBytes = 1 << 20
	maxRangeBytes = 32 << 20
	rangesPerDump = 64
)

// Ranges divides a dump of size bytes into ranges of size/64 bytes, but at
// least 1 MiB and at most 32 MiB; the last range may be shorter. The result
// depends on size alone, so it is the same on every machine. An empty dump has
// no ranges.
func Ranges(size int64) []Range {
	if size <= 0 {
		return nil
	}
	step := min(max(size/rangesPerDump, minRangeBytes), maxRangeBytes)
	ranges := make([]Range, 0, (size+step-1)/step)
	for start := int64(0); start < size; start += step {
		ranges = append(ranges, Range{Start: start, End: min(start+step, size)})
	}
	return ranges
}

// A RangeHash is an io.ReaderAt that computes the SHA-256 of one range of a file while
// the file is read through it. Pass it to [NewReader] as Dump.File. Because a [Reader]
// reads its range from front to back, the file is not read a second time for the hash.
// A RangeHash is not safe for concurrent use.
type RangeHash struct {
	r    io.ReaderAt
	hash hash.Hash
	next int64 // offset of the first byte that is not yet hashed
	end  int64
}

// NewRangeHash returns a RangeHash of the bytes [rng.Start, rng.End) of r.
func NewRangeHash(r io.ReaderAt, rng Range) *RangeHash {
	return &RangeHash{r: r, hash: sha256.New(), next: rng.Start, end: rng.End}
}

// ReadAt implements io.ReaderAt. Of the bytes read, it hashes those that directly
// follow the hashed part of the range.
func (h *RangeHash) ReadAt(p []byte, off int64) (int, error) {
	n, err := h.r.ReadAt(p, off)
	if off <= h.next && h.next < min(off+int64(n), h.end) {
		stop := min(off+int64(n), h.end)
		h.hash.Write(p[h.next-off : stop-off])
		h.next = stop
	}
	return n, err
}

// Sum returns the SHA-256 of the range. It first reads the rest of the range that was
// not read through h. After a [Reader] has read the whole range there is no rest,
// unless the dump can only be read from its beginning.
func (h *RangeHash) Sum() ([sha256.Size]byte, error) {
	var sum [sha256.Size]byte
	rest := io.NewSectionReader(h.r, h.next, h.end-h.next)
	n, err := io.Copy(h.hash, rest)
	h.next += n
	if err == nil && h.next < h.end {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return sum, fmt.Errorf("hash bytes %d to %d: %w", h.next, h.end, err)
	}
	h.hash.Sum(sum[:0])
	return sum, nil
}
