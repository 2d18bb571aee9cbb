package stage_test

import (
	"context"
	"os"
	"path/filepath"

	"pretext/internal/democorpus"
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
	c := pipeline.ExtractConfig{Target: stage.Target{Out: documents}, Reading: pipeline.Reading{Extract: pipeline.DefaultExtractOptions()}, Sources: []pipeline.Source{{Kind: pipeline.KindWiki, Path: dump}}}
	if _, err := pipeline.Extract(context.Background(), stage.Runner{Workers: 2}, c); err != nil {
		panic(err)
	}
	return documents, filepath.Join(dir, "out"), func() { os.RemoveAll(dir) }
}
