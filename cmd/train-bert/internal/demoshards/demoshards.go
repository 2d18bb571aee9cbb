// Package demoshards holds a copy of the shards that "prepare-data demo" makes,
// so that train-bert can show itself alone. All of their text was written for
// this project (package democorpus).
//
//	if err := demoshards.Unpack(dir); err != nil {
//		return err
//	}
//	shards, err := loader.Open(ctx, dir, loader.Options{Split: sharding.Train})
//
// After a change of the corpus or of what is made of it, in this folder:
//
//	go run pretext/cmd/prepare-data demo --out DIR && go run ./gen DIR/shards
package demoshards

import (
	"archive/zip"
	"bytes"
	_ "embed" // of the copy
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pretext/sharding"
)

//go:embed demo.zip
var archive string

// Unpack writes the folder of shards, unless a finished one is there. The
// manifest comes last, so that a folder that was interrupted is not taken for a
// finished one.
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
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	r, err := zip.NewReader(bytes.NewReader([]byte(archive)), int64(len(archive)))
	if err != nil {
		return err
	}
	for _, f := range r.File { // the manifest is the last
		if err := write(filepath.Join(dir, filepath.Base(f.Name)), f); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, f *zip.File) (err error) {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
