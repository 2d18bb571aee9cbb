package survey

import (
	"context"
	"errors"
	"iter"
	"slices"

	"pretext/internal/extsort"
	"pretext/sharding"
)

// A DocumentDifference describes the differences between the documents of two folders.
// Documents are matched by ID; their order and their files do not matter.
type DocumentDifference struct {
	A       int64    `json:"a"`       // number of documents
	B       int64    `json:"b"`       //
	Removed int64    `json:"removed"` // number of documents only in A
	Added   int64    `json:"added"`   // number of documents only in B
	Changed int64    `json:"changed"` // number of documents with the same ID but a different text, title, source or language
	First   []IDList `json:"first"`   // IDs of the first few documents removed, added and changed
}

// An IDList lists IDs of documents that were removed, added or changed.
type IDList struct {
	What string   `json:"what"` // removed, added, changed
	IDs  []string `json:"ids"`
}

// documents compares two folders by sorted hashes of all documents. It then
// reads the documents again to find the IDs to list.
func (c comparison) documents(ctx context.Context, a, b stage) (*DocumentDifference, error) {
	sa, sb := extsort.New(c.Temp, c.Memory/2), extsort.New(c.Temp, c.Memory/2)
	defer sa.Close()
	defer sb.Close()
	d := new(DocumentDifference)
	var err error
	if d.A, err = hashDocuments(ctx, a, sa); err != nil {
		return nil, err
	}
	if d.B, err = hashDocuments(ctx, b, sb); err != nil {
		return nil, err
	}
	removed, added, changed := &few{most: c.Most}, &few{most: c.Most}, &few{most: c.Most}
	err = join(ctx, sa, sb, func(id uint64, as, bs []uint64) {
		as, bs = without(as, bs), without(bs, as)
		both := min(len(as), len(bs))
		changed.add(id, both)
		removed.add(id, len(as)-both)
		added.add(id, len(bs)-both)
	})
	if err != nil {
		return nil, err
	}
	d.Removed, d.Added, d.Changed = removed.n, added.n, changed.n
	for _, list := range []struct {
		what string
		few  *few
		in   stage
	}{{"removed", removed, a}, {"added", added, b}, {"changed", changed, a}} {
		if list.few.n == 0 {
			continue
		}
		ids, err := list.few.names(ctx, list.in)
		if err != nil {
			return nil, err
		}
		d.First = append(d.First, IDList{list.what, ids})
	}
	return d, nil
}

// hashDocuments adds two hashes to s for each document of a stage: the hash of
// its ID, and the hash of all its fields. It returns the number of documents.
func hashDocuments(ctx context.Context, f stage, s *extsort.Sorter) (n int64, err error) {
	var line []byte
	for _, e := range f.manifest.DocumentsFiles() {
		var batch []extsort.Pair
		for d, err := range sharding.Documents(ctx, f, e.Name) {
			if err != nil {
				return n, err
			}
			n++
			line = d.AppendJSON(line[:0])
			batch = append(batch, extsort.Pair{Key: extsort.Hash([]byte(d.ID)), Value: extsort.Hash(line)})
			if len(batch) < hashBatch {
				continue
			}
			if err := s.Add(batch); err != nil {
				return n, err
			}
			batch = batch[:0]
		}
		if err := s.Add(batch); err != nil {
			return n, err
		}
	}
	return n, nil
}

// join calls each once for every key in a or b. as and bs are the key's values in a and b.
func join(ctx context.Context, a, b *extsort.Sorter, each func(key uint64, as, bs []uint64)) error {
	nextA, stopA := iter.Pull2(a.Sorted())
	defer stopA()
	nextB, stopB := iter.Pull2(b.Sorted())
	defer stopB()
	pa, errA, okA := nextA()
	pb, errB, okB := nextB()
	for n := 0; okA || okB; n++ {
		if err := errors.Join(errA, errB); err != nil {
			return err
		}
		if n%(1<<16) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		key := pa.Key
		if !okA || okB && pb.Key < key {
			key = pb.Key
		}
		var as, bs []uint64
		for ; okA && errA == nil && pa.Key == key; pa, errA, okA = nextA() {
			as = append(as, pa.Value)
		}
		for ; okB && errB == nil && pb.Key == key; pb, errB, okB = nextB() {
			bs = append(bs, pb.Value)
		}
		each(key, as, bs)
	}
	return errors.Join(errA, errB)
}

// without returns the elements of a that are not in b (the multiset
// difference). Both lists must be sorted.
func without(a, b []uint64) (rest []uint64) {
	for _, v := range a {
		for len(b) > 0 && b[0] < v {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == v {
			b = b[1:]
			continue
		}
		rest = append(rest, v)
	}
	return rest
}

// few counts documents and stores the hashes of the first few IDs.
type few struct {
	most   int
	n      int64
	hashes []uint64
}

func (f *few) add(id uint64, n int) {
	f.n += int64(n)
	if n > 0 && len(f.hashes) < f.most {
		f.hashes = append(f.hashes, id)
	}
}

// names reads all documents of a stage and returns the IDs for the stored hashes, sorted.
func (f *few) names(ctx context.Context, in stage) ([]string, error) {
	ids := []string{}
	for _, e := range in.manifest.DocumentsFiles() {
		for d, err := range sharding.Documents(ctx, in, e.Name) {
			if err != nil {
				return nil, err
			}
			if slices.Contains(f.hashes, extsort.Hash([]byte(d.ID))) && !slices.Contains(ids, d.ID) {
				ids = append(ids, d.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids, nil
}
