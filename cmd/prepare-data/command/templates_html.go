package command

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"pretext/extract"
	"pretext/extract/wiki/learn"
	"pretext/extract/wiki/rendering"
	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/pipeline"
)

// htmlPages are the flags for the pages that templates learn and templates check read.
type htmlPages struct {
	html      []string
	templates []string
	workers   int
}

func (p *htmlPages) addTo(fs *pflag.FlagSet) {
	fs.StringArrayVar(&p.html, "wiki-html", nil, "pages of a wiki as HTML: a snapshot of Wikimedia Enterprise (.tar.gz, .ndjson), or a directory or pattern of them, or of .html files; may be repeated")
	addTemplates(fs, &p.templates)
	fs.IntVar(&p.workers, "workers", runtime.GOMAXPROCS(0), "files read at once; does not affect the output's bytes")
}

func (p *htmlPages) check() error {
	if p.workers < 1 {
		return usagef("--workers %d: must be at least 1", p.workers)
	}
	return nil
}

// read reads the files of --templates, and the uses of templates in all pages.
func (p *htmlPages) read(ctx context.Context, stderr io.Writer) (known []*rendering.File, table *learn.Table, counts learn.Counts, err error) {
	if known, err = readTemplates(ctx, p.templates); err != nil {
		return nil, nil, counts, err
	}
	inputs, err := pipeline.HTMLInputs(ctx, p.html, func(note string) { fmt.Fprintf(stderr, "prepare-data: %s\n", note) })
	if err != nil {
		return nil, nil, counts, err
	}
	table = learn.NewTable()
	if counts, err = table.Read(ctx, inputs, p.workers); err != nil {
		return nil, nil, counts, err
	}
	if counts.Articles == 0 {
		return nil, nil, counts, failure.Damaged(fmt.Sprintf("no article in %s: %d of %d pages are malformed", p.names(), counts.Rejects[extract.RejectMalformed], counts.Pages))
	}
	return known, table, counts, checkEffect(known, table.HasWikiOf, "the wikis of the pages")
}

// names returns the names of the inputs, for messages.
func (p *htmlPages) names() string {
	var names []string
	for _, path := range p.html {
		names = append(names, store.Base(path))
	}
	return strings.Join(names, ", ")
}
