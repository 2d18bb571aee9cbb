package learn

import (
	"context"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"pretext/extract"
	"pretext/extract/wiki"
	"pretext/extract/wiki/wikihtml"
)

// Counts counts the pages that were read.
type Counts struct {
	Pages    int64                      `json:"pages"`
	Articles int64                      `json:"articles"` // pages that would become documents
	Rejects  map[extract.Reject]int64   `json:"rejects"`
	Elements wikihtml.TransclusionStats `json:"elements"`
}

func (c *Counts) add(r *wikihtml.Reader) {
	s := r.Stats()
	c.Pages += s.Pages
	c.Articles += s.Kept
	for _, reason := range slices.Sorted(maps.Keys(s.Rejects)) {
		c.Rejects[reason] += s.Rejects[reason]
	}
	c.Elements.Add(r.Transclusions())
}

// Read adds the uses of templates in inputs to the table. workers inputs are read
// at once; their number does not affect the result.
func (t *Table) Read(ctx context.Context, inputs []wikihtml.Input, workers int) (Counts, error) {
	readers := make([]*wikihtml.Reader, len(inputs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, workers))
	for i, in := range inputs {
		g.Go(func() error {
			r := wikihtml.NewReader(in, wiki.DefaultOptions())
			r.OnTransclusion(t.Add)
			readers[i] = r
			for _, err := range r.Documents() {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := g.Wait()
	c := Counts{Rejects: map[extract.Reject]int64{}}
	for _, r := range readers {
		if r != nil {
			c.add(r)
		}
	}
	return c, err
}
