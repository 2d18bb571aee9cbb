package stage_test

import (
	"context"
	"os"
	"path/filepath"

	"pretext/extract"
	"pretext/internal/democorpus"
	"pretext/internal/store"
	"pretext/pipeline"
	"pretext/pipeline/stage"
)

// demoDocuments makes documents of the demo's dump, and returns their folder, an
// empty one, and the function that removes both.
func demoDocuments() (documents, out string, remove func()) {
	dir, err := os.MkdirTemp("", "stage")
	if err != nil {
		panic(err)
	}
	dump := filepath.Join(dir, democorpus.DumpName)
	if err := os.WriteFile(dump, democorpus.Dump(), 0o666); err != nil {
		panic(err)
	}
	documents = filepath.Join(dir, "documents")
	c := pipeline.ExtractConfig{Sources: []pipeline.Source{{Kind: pipeline.KindWiki, Path: dump}}, Options: pipeline.DefaultExtractOptions(), Out: documents}
	if _, err := pipeline.Extract(context.Background(), stage.Runner{Workers: 2}, c); err != nil {
		panic(err)
	}
	return documents, filepath.Join(dir, "out"), func() { os.RemoveAll(dir) }
}

// eachDocument calls do with every document of a documents file.
func eachDocument(ctx context.Context, location, name string, do func(*extract.Document)) error {
	folder, err := store.Open(location)
	if err != nil {
		return err
	}
	f, err := folder.Open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	blocks, err := extract.ReadBlocks(f, f.Size())
	if err != nil {
		return err
	}
	r, err := extract.NewBlockReader()
	if err != nil {
		return err
	}
	defer r.Close()
	for _, b := range blocks {
		for doc, err := range r.Documents(f, b) {
			if err != nil {
				return err
			}
			do(doc)
		}
	}
	return nil
}
