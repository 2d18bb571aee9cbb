package pipeline

import (
	"context"
	"io/fs"
	"path"

	"pretext/internal/democorpus"
	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/pipeline/stage"
)

// sourcesFolder is the directory in a run for sources that the run downloads or creates.
const sourcesFolder = "sources"

// demoVocabSize is the number of tokens of the demo's vocabulary; it suits a
// few hundred kilobytes of text.
const demoVocabSize = 4000

// DemoConfig returns the configuration of the demo: it extracts a small wiki and two
// books, holds out a tenth of the documents, and trains a vocabulary.
func DemoConfig(out string) RunConfig {
	c := DefaultRunConfig(out)
	c.VocabSize = demoVocabSize
	c.Examples.DupeFactor = 5
	c.Examples.Shards = 4
	c.Examples.Fraction = 0.1
	c.Sources = []Source{
		{KindWiki, store.Join(out, sourcesFolder, democorpus.DumpName)},
		{KindBooks, store.Join(out, sourcesFolder, "books")},
	}
	return c
}

// Demo writes the embedded corpus to a directory in out and runs all stages on it.
func Demo(ctx context.Context, r stage.Runner, c RunConfig) ([]StageSummary, error) {
	if err := c.Examples.Validate(); err != nil {
		return nil, failure.Usage(err)
	}
	return stage.Locked(c.Out, func(root store.Folder) ([]StageSummary, error) {
		if err := writeDemoSources(ctx, root.Folder(sourcesFolder)); err != nil {
			return nil, err
		}
		return runStages(ctx, r, c)
	})
}

func writeDemoSources(ctx context.Context, sources store.Folder) error {
	for _, folder := range []store.Folder{sources, sources.Folder("books")} {
		if err := store.Sweep(folder); err != nil {
			return err
		}
	}
	if err := store.AddFile(ctx, sources, democorpus.DumpName, democorpus.Dump()); err != nil {
		return err
	}
	books := democorpus.Books()
	return fs.WalkDir(books, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(books, name)
		if err != nil {
			return err
		}
		return store.AddFile(ctx, sources.Folder("books"), path.Base(name), b)
	})
}
