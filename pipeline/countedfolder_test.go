package pipeline

import (
	"context"

	"pretext/internal/store"
)

type folder = store.Folder

// A countedFolder counts the files that are open, and the most at once.
type countedFolder struct {
	folder
	open, most *int
}

func (c countedFolder) Open(ctx context.Context, name string) (store.File, error) {
	f, err := c.folder.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	*c.open++
	*c.most = max(*c.most, *c.open)
	return &countedFile{f, c.open}, nil
}

type countedFile struct {
	store.File
	open *int
}

func (f *countedFile) Close() error {
	*f.open--
	return f.File.Close()
}
