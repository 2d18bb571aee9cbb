package pipeline

import (
	"context"
	"io"

	"pretext/extract/wiki/wikihtml"
	"pretext/internal/failure"
	"pretext/internal/store"
)

// HTMLInputs returns the inputs of --wiki-html as the extract stage would read them. A
// path is a snapshot, a directory or pattern of snapshots, or a directory of pages. Many
// pages are divided into several inputs. note receives messages for the user.
func HTMLInputs(ctx context.Context, paths []string, note func(string)) (inputs []wikihtml.Input, err error) {
	if len(paths) == 0 {
		return nil, failure.Usagef("no source: give --wiki-html PATH")
	}
	var sources []Source
	for _, p := range paths {
		sources = append(sources, Source{KindWikiHTML, p})
	}
	found, err := findFiles(sources, note)
	if err != nil {
		return nil, err
	}
	plan := sourcePlan{stems: map[string]int{}}
	for _, s := range found {
		if err := plan.addWikiHTML(ctx, s.Path); err != nil {
			return nil, err
		}
	}
	for _, t := range plan.tasks {
		path := plan.sources[t.Source].Paths[0]
		inputs = append(inputs, wikihtml.Input{Name: store.Base(path), Files: t.Pages, Open: func(name string) (io.ReadCloser, error) {
			f, err := store.OpenPath(ctx, pageIn(path, name))
			if err != nil {
				return nil, err
			}
			return struct {
				io.Reader
				io.Closer
			}{io.NewSectionReader(f, 0, f.Size()), f}, nil
		}})
	}
	return inputs, nil
}

// pageIn returns the path of a file in a directory of pages. If name is empty, path
// itself is the file.
func pageIn(path, name string) string {
	if name == "" {
		return path
	}
	return store.Join(path, name)
}
