package pipeline

import (
	"context"
	"sync"

	"pretext/internal/store"
)

type folder = store.Folder

// openFiles counts the files that are open, and the most at once.
type openFiles struct {
	mu         sync.Mutex
	open, most int
}

func (o *openFiles) add(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open += n
	o.most = max(o.most, o.open)
}

// A countedFolder counts its open files.
type countedFolder struct {
	folder
	files *openFiles
}

func (c countedFolder) Open(ctx context.Context, name string) (store.File, error) {
	f, err := c.folder.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	c.files.add(1)
	return &countedFile{f, c.files}, nil
}

type countedFile struct {
	store.File
	files *openFiles
}

func (f *countedFile) Close() error {
	f.files.add(-1)
	return f.File.Close()
}
