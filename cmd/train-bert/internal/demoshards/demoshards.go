// Package demoshards holds shards that travel inside train-bert, so that it can
// show itself alone: examples of 32 tokens from 1,500 short stories about the
// people of a village. The stories were written for this project, as patterns of
// sentences that a generator fills in (gen/village.go): who does what, with what
// and where never changes, so that there is something to learn besides frequencies. A
// tenth of the stories is held out; of the sentences in these, one in three stands
// in a training story too.
//
//	if err := demoshards.Unpack(dir); err != nil {
//		return err
//	}
//	shards, err := loader.Open(ctx, dir, loader.Options{Split: sharding.Train})
//
// After a change of the stories, of gen's options or of what prepare-data makes
// of them, "go generate" in this folder writes demo.zip anew.
package demoshards

import (
	"archive/zip"
	"bytes"
	_ "embed" // of demo.zip
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pretext/sharding"
)

//go:generate go run ./gen

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
