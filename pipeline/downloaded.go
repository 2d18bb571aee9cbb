package pipeline

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pretext/extract/books"
	"pretext/sharding"
)

// An expandedSource is a source as the extract stage reads it: folders of the
// download stage are taken apart.
type expandedSource struct {
	Source
	books []books.Info // the books to read below Path, nil for all that is there
}

// expandSources finds the files of sources: those of patterns and folders, then
// those of download folders. note is told what is passed over and what seems to be
// missing.
func expandSources(ctx context.Context, sources []Source, note func(string)) ([]expandedSource, error) {
	found, err := findFiles(sources, note)
	if err != nil {
		return nil, err
	}
	return expandDownloads(ctx, found)
}

// expandDownloads puts the files of a kind in place of each download folder that
// is given for that kind.
func expandDownloads(ctx context.Context, sources []Source) (out []expandedSource, err error) {
	for _, s := range sources {
		files, ok, err := downloadsIn(ctx, s.Path)
		if err != nil {
			return nil, err
		}
		if !ok || s.Kind != KindWiki && s.Kind != KindBooks {
			out = append(out, expandedSource{Source: s})
			continue
		}
		parts := partsOf(s, files)
		if len(parts) == 0 {
			return nil, &ConfigError{Err: fmt.Errorf("%s holds downloads, but none of kind %s", s.Path, s.Kind)}
		}
		out = append(out, parts...)
	}
	return out, nil
}

// partsOf returns the sources of a kind among downloads: each dump and archive
// by itself, loose books together.
func partsOf(s Source, files []sharding.FileEntry) (parts []expandedSource) {
	var loose []books.Info
	for _, f := range files {
		switch {
		case f.Origin.Kind != s.Kind:
		case s.Kind == KindBooks && isBook(f.Name):
			loose = append(loose, books.Info{Name: f.Name, Size: f.Bytes})
		default:
			parts = append(parts, expandedSource{Source: Source{s.Kind, filepath.Join(s.Path, f.Name)}})
		}
	}
	if loose != nil {
		parts = append(parts, expandedSource{Source: s, books: loose})
	}
	return parts
}

// isBook tells one book from an archive of many.
func isBook(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".txt" || ext == ".epub"
}

// downloadSources names what a download brought as sources of the stage after
// it: dumps before books.
func downloadSources(ctx context.Context, folder string) (sources []Source, err error) {
	files, _, err := downloadsIn(ctx, folder)
	if err != nil {
		return nil, err
	}
	for _, kind := range []string{KindWiki, KindBooks} {
		if slices.ContainsFunc(files, func(f sharding.FileEntry) bool { return f.Origin.Kind == kind }) {
			sources = append(sources, Source{kind, folder})
		}
	}
	return sources, nil
}

// listedBooks is a local folder of which only some files are books.
type listedBooks struct {
	books.Local
	files []books.Info
}

// List implements [books.Store].
func (l listedBooks) List(string) ([]books.Info, error) { return slices.Clone(l.files), nil }
