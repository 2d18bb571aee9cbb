package pipeline

import (
	"context"
	"io/fs"

	"pretext/extract/books"
	"pretext/internal/store"
)

// bookFiles implements [books.Store] for books in local directories and object
// stores.
type bookFiles struct{ ctx context.Context }

// List implements [books.Store].
func (b bookFiles) List(path string) ([]books.Info, error) {
	if _, ok := store.Locate(path).Local(); ok {
		return books.Local{}.List(path)
	}
	info, err := store.Stat(b.ctx, path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []books.Info{{Name: "", Size: info.Size()}}, nil
	}
	return b.below(path, "")
}

// below returns all files in root/name, including those in subdirectories.
func (b bookFiles) below(root, name string) (files []books.Info, err error) {
	entries, err := store.ReadDir(b.ctx, store.Join(root, name))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		var infos []books.Info
		var info fs.FileInfo
		inner := e.Name()
		if name != "" {
			inner = name + "/" + inner
		}
		if e.IsDir() {
			infos, err = b.below(root, inner)
		} else if info, err = e.Info(); err == nil {
			infos = []books.Info{{Name: inner, Size: info.Size()}}
		}
		if err != nil {
			return nil, err
		}
		files = append(files, infos...)
	}
	return files, nil
}

// Open implements [books.Store].
func (b bookFiles) Open(path, name string) (books.File, error) {
	if _, ok := store.Locate(path).Local(); ok {
		return books.Local{}.Open(path, name)
	}
	if name != "" {
		path = store.Join(path, name)
	}
	return store.OpenPath(b.ctx, path)
}
