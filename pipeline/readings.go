package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"pretext/extract"
	"pretext/extract/books"
	"pretext/extract/bzip2"
	"pretext/extract/text"
	"pretext/extract/wiki"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

func (w *extractWorker) openWiki(ctx context.Context, s SourceSpec, rng wiki.Range) (*reading, error) {
	f, err := store.OpenPath(ctx, s.Paths[0])
	if err != nil {
		return nil, err
	}
	hash := wiki.NewRangeHash(&meteredReaderAt{ctx: ctx, r: f, meter: w.Meter, next: rng.Start, end: rng.End}, rng)
	dump := wiki.Dump{File: hash, Size: f.Size(), Name: filepath.Base(s.Paths[0]), Head: s.Head}
	r := wiki.NewReader(dump, rng, w.Options.Wiki)
	// All pages were read by the time that bytes after the last stream are
	// met: padding of a download, most often. They are noted, not fatal.
	var trailing error
	documents := func(yield func(*extract.Document, error) bool) {
		for doc, err := range r.Documents() {
			if errors.Is(err, bzip2.ErrTrailing) {
				trailing = err
				return
			}
			if !yield(doc, err) {
				return
			}
		}
	}
	summary := func() (sharding.Counts, sharding.DocumentsBody, error) {
		sum, err := hash.Sum()
		if err != nil {
			return nil, sharding.DocumentsBody{}, err
		}
		st := r.Stats()
		counts := sharding.Counts{"pages": st.Pages, "documents": st.Kept, "xml_bytes": st.XMLBytes,
			"invalid_utf8_bytes": st.InvalidUTF8, "footers": st.Footers}
		addRejects(counts, st.Rejects)
		var notes []string
		for _, p := range st.InvalidPlaces {
			notes = append(notes, fmt.Sprintf("invalid UTF-8 dropped: %s, page %s (at byte %d of the file), byte %d of its text",
				filepath.Base(s.Paths[0]), p.Page, p.Offset, p.Byte))
		}
		if trailing != nil {
			counts["trailing_garbage"] = 1
			notes = append(notes, trailing.Error())
		}
		return counts, sharding.DocumentsBody{SourceSHA256: fmt.Sprintf("%x", sum), Dropped: st.Templates, Slack: st.TemplatesSlack, Notes: notes}, nil
	}
	return &reading{documents, summary, func() { f.Close() }}, nil
}

func (w *extractWorker) openBooks(ctx context.Context, s SourceSpec, t books.Task) (*reading, error) {
	t.Path = books.Name(s.Paths[0])
	r := books.NewReader(meteredBooks{ctx, w.Meter}, t, w.Options.Books)
	summary := func() (sharding.Counts, sharding.DocumentsBody, error) {
		st := r.Stats()
		counts := sharding.Counts{"files": st.Books, "documents": st.Kept, "skipped_files": st.Skipped,
			"invalid_utf8_bytes": st.InvalidBytes, "recoded_files": st.Recoded, "trimmed_files": st.Trimmed}
		if st.Lines > 0 {
			counts["lines"] = st.Lines
		}
		addRejects(counts, st.Rejects)
		var notes []string
		for _, n := range st.Notes {
			notes = append(notes, n.Name+": "+n.Text)
		}
		return counts, sharding.DocumentsBody{Notes: notes}, nil
	}
	return &reading{r.Documents(), summary, func() {}}, nil
}

// meteredBooks is the local store of books, metered.
type meteredBooks struct {
	ctx   context.Context
	meter *stage.Meter
}

func (m meteredBooks) List(path string) ([]books.Info, error) { return books.Local{}.List(path) }

func (m meteredBooks) Open(path, name string) (books.File, error) {
	f, err := books.Local{}.Open(path, name)
	if err != nil {
		return nil, err
	}
	return &meteredFile{meteredReaderAt{ctx: m.ctx, r: f, meter: m.meter, end: f.Size()}, f}, nil
}

type meteredFile struct {
	meteredReaderAt
	file books.File
}

func (f *meteredFile) Size() int64  { return f.file.Size() }
func (f *meteredFile) Close() error { return f.file.Close() }

func (w *extractWorker) openText(ctx context.Context, s SourceSpec) (*reading, error) {
	var sources []text.Source
	for _, path := range s.Paths {
		sources = append(sources, text.Source{Name: path, Open: func() (io.ReadCloser, error) {
			f, err := store.OpenPath(ctx, path)
			if err != nil {
				return nil, err
			}
			metered := &meteredReaderAt{ctx: ctx, r: f, meter: w.Meter, end: f.Size()}
			return struct {
				io.Reader
				io.Closer
			}{io.NewSectionReader(metered, 0, f.Size()), f}, nil
		}})
	}
	var r *text.Reader
	if s.Kind == KindText {
		r = text.NewLines(sources, w.Options.Text)
	} else {
		r = text.NewJSONLines(sources, w.Options.Text)
	}
	summary := func() (sharding.Counts, sharding.DocumentsBody, error) {
		st := r.Stats()
		counts := sharding.Counts{"lines": st.Lines, "documents": st.Kept, "invalid_utf8_bytes": st.InvalidBytes}
		addRejects(counts, st.Rejects)
		var notes []string
		for _, p := range st.Invalid {
			notes = append(notes, fmt.Sprintf("invalid UTF-8 dropped: %s, line %d", filepath.Base(p.File), p.Line))
		}
		for _, p := range st.Malformed {
			notes = append(notes, fmt.Sprintf("not a document: %s, line %d", filepath.Base(p.File), p.Line))
		}
		return counts, sharding.DocumentsBody{Notes: notes}, nil
	}
	return &reading{r.Documents(), summary, func() {}}, nil
}

func addRejects[N int | int64](counts sharding.Counts, rejects map[extract.Reject]N) {
	for reason, n := range rejects {
		counts["reject."+string(reason)] += int64(n)
	}
}

// meteredReaderAt counts the bytes of a range as they are first read, and ends
// the reading when the context does: some inputs make a reader go on for long
// between two documents.
type meteredReaderAt struct {
	ctx       context.Context
	r         io.ReaderAt
	meter     *stage.Meter
	next, end int64
}

func (m *meteredReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := m.r.ReadAt(p, off)
	if stop := min(off+int64(n), m.end); stop > m.next {
		m.meter.Add(stop - m.next)
		m.next = stop
	}
	return n, err
}
