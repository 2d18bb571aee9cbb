package survey

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"pretext/extract/dedup"
	"pretext/sharding"
)

// HeldOut counts the held-out documents that training documents largely contain: an
// evaluation with them measures memory. A document counts as similar if more than
// similarShare of its runs of eight words are in training documents, of any number of them.
type HeldOut struct {
	Folder    string `json:"folder"`    // of the documents
	Documents int64  `json:"documents"` // held out, with at least one run that is compared
	Similar   int64  `json:"similar"`
	Sample    int64  `json:"sample"` // one in so many runs is compared; 1 if there are at most a million

	// Clusters reports whether near duplicates were searched for, so that clusters of similar
	// documents are known and in one split. Tied is the number of documents that are in the
	// split of another one, in both splits.
	Clusters bool  `json:"clusters"`
	Tied     int64 `json:"tied"`
}

const (
	similarShare = 0.6
	similarWords = 8
	maxRuns      = 1 << 20 // runs that are compared, about 64 bytes each
)

// heldOutIndex holds the runs of the held-out documents.
type heldOutIndex struct {
	split sharding.Split
	most  int // runs that may be kept

	mu    sync.Mutex
	docs  [][]uint64 // distinct runs of each document
	runs  int        // of all documents
	tied  atomic.Int64
	zeros uint // only runs whose hash ends in so many zero bits are kept

	index  map[uint64]int // of all runs that are compared; read-only while training documents are read
	marked []atomic.Bool  // runs of training documents, by index
}

// collectHeldOut compares the documents of f that split holds out with the other ones. It
// reads the documents twice. The result does not depend on opts.
func collectHeldOut(ctx context.Context, f stage, split sharding.Split, opts Options) (*HeldOut, error) {
	x := &heldOutIndex{split: split, most: maxRuns}
	if err := x.each(ctx, f, opts, true); err != nil {
		return nil, err
	}
	x.index = make(map[uint64]int, x.runs)
	for _, doc := range x.docs {
		for _, run := range doc {
			if _, ok := x.index[run]; !ok {
				x.index[run] = len(x.index)
			}
		}
	}
	x.marked = make([]atomic.Bool, len(x.index))
	if err := x.each(ctx, f, opts, false); err != nil {
		return nil, err
	}
	h := &HeldOut{Folder: f.Name, Sample: 1 << x.zeros, Clusters: searched(f), Tied: x.tied.Load()}
	for _, doc := range x.docs {
		common := 0
		for _, run := range doc {
			if x.marked[x.index[run]].Load() {
				common++
			}
		}
		if len(doc) > 0 {
			h.Documents++
		}
		if float64(common) > similarShare*float64(len(doc)) {
			h.Similar++
		}
	}
	return h, nil
}

// searched reports whether f has the documents of a filter that searched for near duplicates.
func searched(f stage) bool {
	var o filterOptions
	return f.manifest.Stage == "filter" && json.Unmarshal(f.manifest.Options, &o) == nil && o.Nearly != nil
}

// filterOptions are the options of a filter that matter here.
type filterOptions struct {
	Nearly *struct{} `json:"nearly"`
}

// each adds the runs of each held-out document, or marks those of each other one.
func (x *heldOutIndex) each(ctx context.Context, f stage, opts Options, heldOut bool) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(opts.Workers)
	for _, e := range f.manifest.DocumentsFiles() {
		g.Go(func() error {
			s, err := dedup.NewSketcher(dedup.Options{Shingle: similarWords})
			if err != nil {
				return err
			}
			for doc, err := range sharding.Documents(ctx, f, e.Name) {
				if err != nil {
					return err
				}
				if heldOut && doc.SimilarTo != "" {
					x.tied.Add(1)
				}
				switch {
				case x.split.HeldOut(doc.SplitID()) != heldOut:
				case heldOut:
					runs := map[uint64]bool{}
					s.EachShingle(doc.Text, func(run uint64) { runs[run] = true })
					x.add(runs)
				default:
					s.EachShingle(doc.Text, x.mark)
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// add adds a held-out document.
func (x *heldOutIndex) add(runs map[uint64]bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var doc []uint64
	for run := range runs {
		if run&(1<<x.zeros-1) == 0 {
			doc = append(doc, run)
		}
	}
	x.docs, x.runs = append(x.docs, doc), x.runs+len(doc)
	for x.runs > x.most && x.zeros < 63 { // the smallest number of zeros that suffices, in any order
		x.zeros++
		x.runs = 0
		for i, doc := range x.docs {
			kept := doc[:0]
			for _, run := range doc {
				if run&(1<<x.zeros-1) == 0 {
					kept = append(kept, run)
				}
			}
			x.docs[i] = kept
			x.runs += len(kept)
		}
	}
}

// mark marks a run of a training document.
func (x *heldOutIndex) mark(run uint64) {
	if run&(1<<x.zeros-1) != 0 {
		return
	}
	if i, ok := x.index[run]; ok {
		x.marked[i].Store(true)
	}
}
