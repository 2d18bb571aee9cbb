package sharding

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"pretext/extract/wiki/facts"
)

// SumDropped adds up the dropped templates in the side-cars of documents files.
// The order of the side-cars does not matter. It returns nil if no template was
// dropped.
func SumDropped(ctx context.Context, folder Folder, sideCars []string) (*facts.DroppedTemplates, error) {
	var sum facts.Losses
	for names := range slices.Chunk(slices.Sorted(slices.Values(sideCars)), 4*TablesAtOnce) { // sorted, so that the first page comes from the first file
		bodies, err := readBodies(ctx, folder, names)
		if err != nil {
			return nil, err
		}
		for _, body := range bodies {
			sum.Add(body.Lost)
		}
	}
	return sum.Sum(), nil
}

// readBodies reads the bodies of side-cars of documents files, several at once.
func readBodies(ctx context.Context, folder Folder, sideCars []string) ([]DocumentsBody, error) {
	bodies := make([]DocumentsBody, len(sideCars))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(TablesAtOnce)
	for i, name := range sideCars {
		g.Go(func() (err error) {
			bodies[i], err = readDocumentsBody(ctx, folder, name)
			return err
		})
	}
	return bodies, g.Wait()
}
