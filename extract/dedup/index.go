package dedup

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Clusters joins duplicates to clusters (union-find). Documents are identified by their
// numbers. A cluster is represented by its document with the lowest number, the first
// in source order. Clusters takes four bytes per document.
type Clusters struct{ parent []uint32 }

// NewClusters returns n clusters of one document each.
func NewClusters(n int) *Clusters {
	c := &Clusters{make([]uint32, n)}
	for i := range c.parent {
		c.parent[i] = uint32(i)
	}
	return c
}

// First returns the first document of the cluster of document i.
func (c *Clusters) First(i uint32) uint32 {
	for c.parent[i] != i {
		c.parent[i] = c.parent[c.parent[i]]
		i = c.parent[i]
	}
	return i
}

// Join merges the clusters of two documents.
func (c *Clusters) Join(a, b uint32) {
	if a, b = c.First(a), c.First(b); a < b {
		c.parent[b] = a
	} else {
		c.parent[a] = b
	}
}

// neighbours limits the comparisons within a bucket (the documents with equal hashes of
// a band): each document is compared with this number of preceding documents, and with
// the first document of the bucket. Similar documents share several buckets, so they
// are compared even if other documents are between them in one bucket.
const neighbours = 4

// An Index finds exact and near duplicates in signature files. Documents are
// numbered consecutively, in the order of the files.
type Index struct {
	files  []*Signatures
	bases  []uint32 // number of the first document of each file
	total  int
	bands  int
	budget int64
}

// maxDocuments is the maximum number of documents of an index. Their numbers must fit
// in uint32, for entries, and in int.
const maxDocuments = math.MaxUint32 & math.MaxInt

// minBudget is the minimum memory budget of an index in bytes.
const minBudget = 1 << 20

// NewIndex returns an index of the documents in files. It sorts at most budget
// bytes at a time.
func NewIndex(files []*Signatures, budget int64) (*Index, error) {
	x := &Index{files: files, budget: max(budget, minBudget)}
	for _, f := range files {
		if f.Len() > maxDocuments-x.total {
			return nil, fmt.Errorf("more than %d documents", maxDocuments)
		}
		if f.Bands() != files[0].Bands() {
			return nil, fmt.Errorf("%w: files have different numbers of bands", ErrCorrupt)
		}
		x.bases = append(x.bases, uint32(x.total))
		x.total += f.Len()
		x.bands = f.Bands()
	}
	return x, nil
}

// Len returns the number of documents.
func (x *Index) Len() int { return x.total }

// partsOf returns the number of parts into which size bytes of entries are divided, so
// that each part fits in budget. The parts are sorted one after the other.
func partsOf(size, budget int64) uint64 {
	return uint64(max(1, (size+budget-1)/budget))
}

// An entry is a document with its value in one column of a signature file.
type entry[K any] struct {
	key      K
	document uint32
}

const (
	digestEntryBytes = 20
	bandEntryBytes   = 16
)

// A columnSorter sorts a column of all signature files, one part of the entries at a
// time.
type columnSorter[K any] struct {
	x       *Index
	parts   uint64
	key     func(item []byte) (key K, spread uint64) // the item belongs to part spread % parts
	want    func(document uint32, state byte) bool   // whether to include a document
	compare func(a, b entry[K]) int
	entries []entry[K] // entries of the current part
}

// each calls visit with the sorted entries of each part. at returns the offset of the
// column in a file.
func (s *columnSorter[K]) each(ctx context.Context, at func(*Signatures) int64, visit func([]entry[K]) error) error {
	for part := range s.parts {
		if err := s.gather(ctx, at, part); err != nil {
			return err
		}
		slices.SortFunc(s.entries, s.compare)
		if err := visit(s.entries); err != nil {
			return err
		}
	}
	return nil
}

// gather collects the entries of a part, in the order of documents.
func (s *columnSorter[K]) gather(ctx context.Context, at func(*Signatures) int64, part uint64) error {
	s.entries = s.entries[:0]
	var zero K
	for i, f := range s.x.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		states := make([]byte, f.documents)
		if err := f.column(int64(signaturesHead), 1, func(j int, item []byte) { states[j] = item[0] }); err != nil {
			return err
		}
		err := f.column(at(f), binary.Size(zero), func(j int, item []byte) {
			document := s.x.bases[i] + uint32(j)
			if k, spread := s.key(item); spread%s.parts == part && s.want(document, states[j]) {
				s.entries = append(s.entries, entry[K]{k, document})
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Equal joins the documents with equal digests in c.
func (x *Index) Equal(ctx context.Context, c *Clusters) error {
	digests := columnSorter[Digest]{
		x:     x,
		parts: partsOf(int64(x.total)*digestEntryBytes, x.budget),
		key: func(item []byte) (d Digest, spread uint64) {
			copy(d[:], item)
			return d, binary.LittleEndian.Uint64(item)
		},
		want: func(_ uint32, state byte) bool { return state != stateAside },
		compare: func(a, b entry[Digest]) int {
			return cmp.Or(bytes.Compare(a.key[:], b.key[:]), cmp.Compare(a.document, b.document))
		},
	}
	return digests.each(ctx, (*Signatures).digests, func(entries []entry[Digest]) error {
		for i := 1; i < len(entries); i++ {
			if entries[i].key == entries[i-1].key {
				c.Join(entries[i-1].document, entries[i].document)
			}
		}
		return nil
	})
}

// Candidates calls visit for each pair of documents with the same hash for a band, once
// per pair, in ascending order. Of documents that are already joined in c, it includes
// only the first. Pairs that exceed the memory budget are written to spill.
func (x *Index) Candidates(ctx context.Context, c *Clusters, spill Spill, visit func(Pair) error) error {
	half := max(x.budget/2, minBudget) // the other half of the budget is for the pairs
	hashes := columnSorter[uint64]{
		x:     x,
		parts: partsOf(int64(x.total)*bandEntryBytes, half),
		key: func(item []byte) (uint64, uint64) {
			h := binary.LittleEndian.Uint64(item)
			return h, h
		},
		want: func(document uint32, state byte) bool {
			return state == stateCompared && c.First(document) == document
		},
		compare: func(a, b entry[uint64]) int {
			return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.document, b.document))
		},
	}
	pairs := pairSorter{limit: int(half / pairBytes), spill: spill}
	for band := range x.bands {
		err := hashes.each(ctx, func(f *Signatures) int64 { return f.band(band) }, func(entries []entry[uint64]) error {
			return buckets(entries, pairs.add)
		})
		if err != nil {
			return err
		}
	}
	hashes.entries = nil
	return pairs.each(ctx, visit)
}

// buckets calls add for pairs of documents in the same bucket, that is, with equal
// keys. Each document is paired with the first document of the bucket and with the
// neighbours before it.
func buckets(entries []entry[uint64], add func(Pair) error) error {
	first := 0 // first entry of the bucket
	for i := range entries {
		if entries[i].key != entries[first].key {
			first = i
			continue
		}
		from := max(first, i-neighbours)
		if from > first {
			if err := add(Pair{entries[first].document, entries[i].document}); err != nil {
				return err
			}
		}
		for j := from; j < i; j++ {
			if err := add(Pair{entries[j].document, entries[i].document}); err != nil {
				return err
			}
		}
	}
	return nil
}
