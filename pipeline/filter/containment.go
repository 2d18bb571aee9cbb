package filter

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"pretext/extract/dedup"
	"pretext/internal/store"
	"pretext/sharding"
)

// Contained documents are found by the same two stages that find duplicates. The stage
// signatures writes samples of all documents. The stage pairs compares candidates and
// decides.

func (w *signaturesWorker) writeSamples(ctx context.Context, index int, samples *dedup.SampleBuilder) (sharding.FileEntry, error) {
	out, err := w.Create(ctx, samplesName(index))
	if err != nil {
		return sharding.FileEntry{}, err
	}
	defer out.Abort()
	if _, err := samples.WriteTo(out); err != nil {
		return sharding.FileEntry{}, err
	}
	if err := w.Commit(ctx, out); err != nil {
		return sharding.FileEntry{}, err
	}
	return out.Entry(index, nil), nil
}

// A sampleSet contains the sample files of a signatures directory.
type sampleSet struct {
	*dedup.Containment
	*taskFiles
}

func openSamples(ctx context.Context, location string, share float64, budget int64) (*sampleSet, error) {
	set := new(sampleSet)
	var each []*dedup.Samples
	var err error
	set.taskFiles, err = openTasks(ctx, location, samplesName, func(f store.File) error {
		s, err := dedup.OpenSamples(f, f.Size())
		each = append(each, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	set.Containment = dedup.NewContainment(each, share, budget)
	return set, nil
}

// An insideRow consists of a document, another document that contains most of it, and the
// contained fraction.
type insideRow struct {
	document, of uint32
	share        float32
}

const insideRowBytes = 12

// containment is the fraction of a document that is contained in another document, of,
// which is kept.
type containment struct {
	of    uint32
	share float32
}

// contain decides which documents are dropped because another document contains them, see
// [similarities.drop].
func (w *pairsWorker) contain(ctx context.Context, found *similarities, inside []insideRow) error {
	sizes, err := openSamples(ctx, w.Signatures, w.Options.containment(), 0)
	if err != nil {
		return err
	}
	defer sizes.close()
	for _, r := range inside {
		if max(r.document, r.of) >= uint32(sizes.Len()) {
			return fmt.Errorf("%w: no samples of document %d", sharding.ErrFormat, max(r.document, r.of))
		}
	}
	found.drop(inside, sizes.Larger)
	return nil
}

// drop sets found.within. It decides about large documents first. So a document is dropped
// only if the containing document is kept, and of two documents that contain each other
// the larger is kept. The decision about a cluster's first document applies to the whole
// cluster.
func (found *similarities) drop(inside []insideRow, larger func(a, b uint32) bool) {
	slices.SortFunc(inside, func(a, b insideRow) int {
		if a.document != b.document {
			if larger(a.document, b.document) {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.of, b.of))
	})
	found.within = map[uint32]containment{}
	for _, r := range inside {
		if found.stays(r.document) && found.stays(r.of) && larger(r.of, r.document) {
			found.within[r.document] = containment{r.of, r.share}
		}
	}
}
