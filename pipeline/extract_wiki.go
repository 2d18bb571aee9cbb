package pipeline

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"pretext/extract"
	"pretext/extract/bzip2"
	"pretext/extract/wiki"
	"pretext/extract/wiki/definitions"
	"pretext/extract/wiki/facts"
	"pretext/extract/wiki/rendering"
	"pretext/internal/store"
	"pretext/sharding"
)

// A wikiReading is an open dump, or the part of it that one task reads.
type wikiReading struct {
	reader *wiki.Reader
	source SourceSpec
	hash   *wiki.RangeHash
	pages  *wiki.SpoolReader  // nil: read the pages from the dump
	own    *definitions.Cache // nil: do not expand templates

	// trailing describes extra bytes after the last bzip2 stream, usually padding from a
	// download. These bytes come after all pages, so they are not an error.
	trailing string
}

// openWiki opens the part of a dump for task t.
func (w *extractWorker) openWiki(ctx context.Context, s SourceSpec, t extractTask, tools *extractTools) (*reading, error) {
	f, err := store.OpenPath(ctx, s.Paths[0])
	if err != nil {
		return nil, err
	}
	r := &wikiReading{source: s}
	if err := w.openRange(ctx, r, f, t, tools); err != nil {
		f.Close()
		return nil, err
	}
	summary := func() (sharding.Counts, sharding.DocumentsBody, error) {
		if r.own != nil && r.own.Err() != nil {
			return nil, sharding.DocumentsBody{}, fmt.Errorf("%s: %w: run again", store.Join(w.Out(), sharding.TemplatesFolder, s.Definitions), r.own.Err())
		}
		return r.summary()
	}
	return &reading{r.documents, summary, func() { f.Close() }}, nil
}

// openRange prepares r to read the range of task t. It reads the spool if the stage
// templates has written the pages there, and otherwise the dump f.
func (w *extractWorker) openRange(ctx context.Context, r *wikiReading, f store.File, t extractTask, tools *extractTools) (err error) {
	rng := *t.Range
	store.Sequential(f, rng.Start, rng.End-rng.Start)
	r.hash = wiki.NewRangeHash(&meteredReaderAt{ctx: ctx, r: f, meter: w.Meter, next: rng.Start, end: rng.End}, rng)
	dump := wiki.Dump{File: r.hash, Size: f.Size(), Name: store.Base(r.source.Paths[0]), Head: r.source.Head}
	if tools.wiki != nil {
		tools.wiki.Reset(dump, rng)
	} else {
		options, err := w.wikiOptions()
		if err != nil {
			return err
		}
		tools.wiki = wiki.NewReader(dump, rng, options)
	}
	r.reader = tools.wiki
	if spool, _ := w.Loaded().(*wiki.Spool); spool != nil {
		if r.pages = spool.Open(r.source.fileName(t.Number), tools.pages); r.pages != nil {
			tools.pages = r.pages
			r.reader.ReadSpool(r.pages)
			w.Meter.Add(t.bytes(r.source))
			r.trailing = r.pages.End().Trailing
		}
	}
	if r.own, err = w.definitions(ctx, r.source); r.own != nil {
		r.reader.Expand(r.own)
	}
	return err
}

// wikiOptions returns the options, including the contents of the user's files of
// rendering data. A job carries these contents as text.
func (w *extractWorker) wikiOptions() (wiki.Options, error) {
	o := w.Options.Wiki
	for k, text := range w.Templates {
		file, err := rendering.Parse(o.Templates[k].Name, []byte(text))
		if err != nil {
			return o, err
		}
		o.Wikitext.Rendering = append(o.Wikitext.Rendering, file)
	}
	return o, nil
}

// documents yields the documents.
func (r *wikiReading) documents(yield func(*extract.Document, error) bool) {
	for doc, err := range r.reader.Documents() {
		if errors.Is(err, bzip2.ErrTrailing) {
			r.trailing = err.Error()
			return
		}
		if !yield(doc, err) {
			return
		}
	}
}

// summary returns the counts of the documents and the body of the side-car.
func (r *wikiReading) summary() (sharding.Counts, sharding.DocumentsBody, error) {
	var sum [sha256.Size]byte
	var err error
	if r.pages != nil {
		sum = r.pages.End().SHA256
	} else if sum, err = r.hash.Sum(); err != nil {
		return nil, sharding.DocumentsBody{}, err
	}
	st := r.reader.Stats()
	counts := st.Counts(r.own != nil)
	var notes []string
	for _, p := range st.InvalidPlaces {
		notes = append(notes, fmt.Sprintf("invalid UTF-8 dropped: %s, page %s (at byte %d of the file), byte %d of its text",
			store.Base(r.source.Paths[0]), p.Page, p.Offset, p.Byte))
	}
	if r.trailing != "" {
		wiki.Trailing.Add(counts, 1)
		notes = append(notes, r.trailing)
	}
	return counts, sharding.DocumentsBody{SourceSHA256: fmt.Sprintf("%x", sum), Notes: notes,
		Lost: facts.Lost{Dropped: st.Templates, Slack: st.TemplatesSlack, Wiki: r.reader.Wiki(), Sentences: st.Sentences, HoleCount: st.Holes, Holes: st.HoleUses,
			UseCount: st.UseCount, Uses: st.Uses}}, nil
}
