// Package demoshards embeds the shards of the demo of train-bert: examples of 32 tokens
// from 1,500 short stories about the people of a village. The stories were written for
// this project: a generator (gen/village.go) fills in patterns of sentences. Who does
// what, with what and where is always the same, so a model can learn more than token
// frequencies. A tenth of the stories is held out; one in three of their sentences also
// occurs in a training story.
//
//	if err := demoshards.Unpack(dir); err != nil {
//		return err
//	}
//	shards, err := loader.Open(ctx, dir, loader.Options{Split: sharding.Train})
//
// "go generate" in this directory writes demo.zip again after a change of the stories,
// of gen's options or of the output of prepare-data.
package demoshards

import (
	"archive/zip"
	"bytes"
	"context"
	_ "embed" // of demo.zip
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pretext/internal/store"
	"pretext/sharding"
)

//go:generate go run ./gen

//go:embed demo.zip
var archive string

// Unpack writes the shards to a directory. It does nothing if the directory already has a
// manifest. The manifest is written last, so that after an interrupted call the next call
// writes everything again.
func Unpack(dir string) error {
	if err := unpack(dir); err != nil {
		return fmt.Errorf("unpack the demo's shards: %w", err)
	}
	return nil
}

func unpack(dir string) error {
	_, err := os.Stat(filepath.Join(dir, sharding.ManifestName))
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	folder, err := store.Open(dir)
	if err != nil {
		return err
	}
	r, err := zip.NewReader(bytes.NewReader([]byte(archive)), int64(len(archive)))
	if err != nil {
		return err
	}
	for _, f := range r.File { // the manifest is the last
		if err := write(folder, f); err != nil {
			return err
		}
	}
	return nil
}

func write(folder store.Folder, f *zip.File) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	return store.AddFile(context.Background(), folder, filepath.Base(f.Name), data)
}
