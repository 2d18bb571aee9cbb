package dedup

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
)

// sampleZeros is the number of trailing zero bits in the hash of a sample. 1 of 128
// shingles is a sample (Broder 1997: shingles that are 0 modulo m).
const sampleZeros = 7

// minSamples is the minimum number of samples of a text that is searched in other
// texts. Texts of about 2,000 words have this number. A shorter text within another
// text is a quotation.
const minSamples = 16

// candidateShare selects candidates: a pair is a candidate if it has at least
// candidateShare × threshold × n common samples, where n is the smaller text's number
// of samples. With the threshold 0.8, the minimum number of samples and a true
// containment of 0.8, 99.9 % of the pairs become candidates.
const candidateShare = 0.6

// A samples file holds the samples of a list of documents. Integers are
// little-endian:
//
//	"ptxsmp1\n"  u32 documents n
//	n × u32      number of samples of each document
//	u64 …        the samples, document by document, ascending in each
const (
	samplesMagic = "ptxsmp1\n"
	samplesHead  = len(samplesMagic) + 4
)

// A SampleBuilder collects the samples of a list of documents for a samples
// file.
type SampleBuilder struct {
	counts  []uint32
	samples []uint64
}

// Add appends a document with its samples. The search ignores documents without
// samples.
func (b *SampleBuilder) Add(samples []uint64) {
	b.counts = append(b.counts, uint32(len(samples)))
	b.samples = append(b.samples, samples...)
}

// WriteTo writes the samples file.
func (b *SampleBuilder) WriteTo(w io.Writer) (int64, error) {
	le := binary.LittleEndian
	out := countingWriter{w: w}
	out.write(le.AppendUint32([]byte(samplesMagic), uint32(len(b.counts))))
	var word [8]byte
	for _, n := range b.counts {
		le.PutUint32(word[:], n)
		out.write(word[:4])
	}
	for _, s := range b.samples {
		le.PutUint64(word[:], s)
		out.write(word[:])
	}
	return out.n, out.err
}

// Samples is an open samples file. It takes four bytes of memory for each
// document.
type Samples struct {
	r      io.ReaderAt
	counts []uint32
}

// OpenSamples opens a samples file of the given size in bytes.
func OpenSamples(r io.ReaderAt, size int64) (*Samples, error) {
	head := make([]byte, samplesHead)
	if n, err := r.ReadAt(head, 0); n < len(head) {
		return nil, damaged(err)
	}
	n := int64(binary.LittleEndian.Uint32(head[len(samplesMagic):]))
	at := int64(samplesHead) + 4*n
	if !bytes.HasPrefix(head, []byte(samplesMagic)) || at > size {
		return nil, fmt.Errorf("%w: not a samples file, or truncated", ErrCorrupt)
	}
	raw := make([]byte, 4*n)
	if _, err := r.ReadAt(raw, int64(samplesHead)); err != nil && (err != io.EOF || n > 0 && at != size) {
		return nil, damaged(err)
	}
	s := &Samples{r: r, counts: make([]uint32, n)}
	total := int64(0)
	for i := range s.counts {
		s.counts[i] = binary.LittleEndian.Uint32(raw[4*i:])
		total += int64(s.counts[i])
	}
	if size != at+8*total {
		return nil, fmt.Errorf("%w: %d bytes, want %d", ErrCorrupt, size, at+8*total)
	}
	return s, nil
}

// damaged returns ErrCorrupt if err means that the file ends early, otherwise err.
func damaged(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: truncated", ErrCorrupt)
	}
	return err
}

// Len returns the number of documents.
func (s *Samples) Len() int { return len(s.counts) }

// each calls visit for every sample of the documents with at least minSamples
// samples.
func (s *Samples) each(visit func(document int, sample uint64)) error {
	buf := make([]byte, 64<<10)
	at := int64(samplesHead) + 4*int64(len(s.counts))
	for i, n := range s.counts {
		left := 8 * int64(n)
		if n < minSamples {
			at, left = at+left, 0
		}
		for left > 0 {
			part := buf[:min(int64(len(buf)), left)]
			if got, err := s.r.ReadAt(part, at); got < len(part) {
				return damaged(err)
			}
			at, left = at+int64(len(part)), left-int64(len(part))
			for ; len(part) > 0; part = part[8:] {
				visit(i, binary.LittleEndian.Uint64(part))
			}
		}
	}
	return nil
}

// A Containment finds texts that may be contained in other texts. Documents are
// numbered consecutively, in the order of the files.
type Containment struct {
	files  []*Samples
	counts []uint32
	share  float64
	budget int64
}

// NewContainment returns a Containment that finds a text if at least the fraction share
// of it is in another text. It sorts at most budget bytes at a time, and needs four
// more bytes of memory per document.
func NewContainment(files []*Samples, share float64, budget int64) *Containment {
	c := &Containment{files: files, share: share, budget: max(budget, minBudget)}
	for _, f := range files {
		c.counts = append(c.counts, f.counts...)
	}
	return c
}

// Len returns the number of documents in all files.
func (c *Containment) Len() int { return len(c.counts) }

// Larger reports which document of a pair may contain the other: true if a may contain
// b, false if b may contain a. a may contain b if it has more samples, or equally many
// and the lower number.
func (c *Containment) Larger(a, b uint32) bool {
	if c.counts[a] != c.counts[b] {
		return c.counts[a] > c.counts[b]
	}
	return a < b
}

const sampleEntryBytes = 16

// Candidates calls visit for each pair of documents where one may contain the other,
// once per pair, in ascending order. It ignores documents for which want returns false.
// Pairs that exceed the memory budget are written to spill.
func (c *Containment) Candidates(ctx context.Context, want func(document uint32) bool, spill Spill, visit func(Pair) error) error {
	total := int64(0)
	for _, n := range c.counts {
		total += int64(n)
	}
	half := max(c.budget/2, minBudget) // the other half of the budget is for the pairs
	parts := partsOf(total*sampleEntryBytes, half)
	sorter := pairSorter{limit: int(half / pairBytes), spill: spill, repeats: true}
	var entries []entry[uint64]
	for part := range parts {
		entries = entries[:0]
		base := 0
		for _, f := range c.files {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := f.each(func(i int, sample uint64) {
				if document := uint32(base + i); (sample>>sampleZeros)%parts == part && want(document) {
					entries = append(entries, entry[uint64]{sample, document})
				}
			})
			if err != nil {
				return err
			}
			base += f.Len()
		}
		if err := c.meet(entries, sorter.add); err != nil {
			return err
		}
	}
	entries = nil
	return c.count(ctx, &sorter, visit)
}

// containers limits the comparisons of a document per sample. Among the documents that
// have the sample, ordered by size, each is compared with the next larger ones, as many
// as containers, and with the largest. So a sample that all documents have costs no
// more time than a rare one.
const containers = 2

// meet calls add for pairs of documents with a common sample, once for each common
// sample.
func (c *Containment) meet(entries []entry[uint64], add func(Pair) error) error {
	slices.SortFunc(entries, func(a, b entry[uint64]) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(c.counts[b.document], c.counts[a.document]), cmp.Compare(a.document, b.document))
	})
	first := 0 // first entry of the sample: its largest document
	for i, e := range entries {
		if e.key != entries[first].key {
			first = i
		}
		for j := max(first, i-containers); j < i; j++ {
			if err := add(pairOf(entries[j].document, e.document)); err != nil {
				return err
			}
		}
		if first < i-containers {
			if err := add(pairOf(entries[first].document, e.document)); err != nil {
				return err
			}
		}
	}
	return nil
}

func pairOf(a, b uint32) Pair { return Pair{min(a, b), max(a, b)} }

// count calls visit for the pairs that have enough common samples.
func (c *Containment) count(ctx context.Context, sorter *pairSorter, visit func(Pair) error) error {
	var last Pair
	shared := 0
	flush := func() error {
		if shared == 0 {
			return nil
		}
		smaller := last.A
		if c.Larger(last.A, last.B) {
			smaller = last.B
		}
		if float64(shared) < math.Ceil(candidateShare*c.share*float64(c.counts[smaller])) {
			return nil
		}
		return visit(last)
	}
	err := sorter.each(ctx, func(p Pair) error {
		if p == last {
			shared++
			return nil
		}
		err := flush()
		last, shared = p, 1
		return err
	})
	if err != nil {
		return err
	}
	return flush()
}

// Contained returns the fraction of the shingles of a that b also has. Broder
// calls it the containment of a in b.
func Contained(a, b Set) float64 {
	both, onlyA, _ := overlap(a, b)
	if both == 0 {
		return 0
	}
	return float64(both) / float64(both+onlyA)
}
