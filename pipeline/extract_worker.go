package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"pretext/extract"
	"pretext/extract/books"
	"pretext/extract/parallel"
	"pretext/extract/text"
	"pretext/extract/wiki"
	"pretext/internal/store"
	"pretext/pipeline/documents"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// extractWorker writes documents files.
type extractWorker struct {
	*stage.Env
	extractWork
}

// extractTools are the buffers of a running task. The next task reuses them.
type extractTools struct {
	wiki   *wiki.Reader // nil before the first task with a wiki
	pages  *wiki.SpoolReader
	blocks *extract.Writer // nil before the first task
	team   *parallel.Team  // of the running task; nil: it is not divided
}

// SideCars names the side-car of a task, for helpers on a cluster.
func (w *extractWorker) SideCars(index int, plan func(to any) error) ([]string, error) {
	var t extractTask
	if err := plan(&t); err != nil {
		return nil, err
	}
	if problem := t.check(w.Sources); problem != "" {
		return nil, stage.BadPlan(index, problem)
	}
	return []string{w.Sources[t.Source].fileName(t.Number) + sharding.SideCarSuffix}, nil
}

func (w *extractWorker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	var t extractTask
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	if problem := t.check(w.Sources); problem != "" {
		return nil, stage.BadPlan(index, problem)
	}
	source := w.Sources[t.Source]
	name := source.fileName(t.Number)
	sideCar := name + sharding.SideCarSuffix
	if results, ok, err := w.Proved(ctx, index, sideCar); err != nil || ok {
		w.Meter.Add(t.bytes(source))
		return results, err
	}
	tools, ok := w.Take().(*extractTools)
	if !ok {
		tools = new(extractTools)
	}
	defer w.Give(tools)
	if tools.team = nil; t.Books != nil && t.Books.Archive() {
		team, end := w.Team()
		defer end()
		tools.team = team
	}
	out, err := documents.Create(ctx, w.Env, documents.File{Task: index, Stem: name, BlockBytes: extract.BlockBytes(source.Bytes), Level: w.Options.DocumentsLevel(), Spare: tools.blocks, Team: tools.team})
	if err != nil {
		return nil, err
	}
	tools.blocks = out.Spare()
	defer out.Abort()
	return w.write(ctx, t, tools, out)
}

// write writes the documents of task t to out.
func (w *extractWorker) write(ctx context.Context, t extractTask, tools *extractTools, out *documents.Writer) ([]stage.Result, error) {
	source := w.Sources[t.Source]
	reading, err := w.open(ctx, source, t, tools, func(r *extract.Rejected) {
		out.Reject(sharding.RejectLine{ID: r.ID, Title: r.Title, Reason: r.Reason, Value: r.Value, Place: r.Place})
	})
	if err != nil {
		return nil, explainSource(ctx, source, err)
	}
	defer reading.close()
	for doc, err := range reading.documents {
		if err != nil {
			return nil, explainSource(ctx, source, err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := out.Write(doc); err != nil {
			return nil, err
		}
	}
	counts, body, err := reading.summary()
	if err != nil {
		return nil, explainSource(ctx, source, err)
	}
	return out.Prove(ctx, counts, body)
}

func (w *extractWorker) Finish(ctx context.Context, results []stage.Result) error {
	if err := w.checkSources(ctx); err != nil {
		return err
	}
	equal, err := documents.EqualIDs(ctx, w.Env, results)
	if err != nil {
		return err
	}
	var sideCars []string
	for _, r := range results {
		sideCars = append(sideCars, r.SideCar)
	}
	dropped, err := sharding.SumDropped(ctx, w.Folder, sideCars)
	if err != nil {
		return err
	}
	return w.Manifest(ctx, results, sharding.Manifest{Counts: sharding.Counts{sharding.EqualIDs.Key: equal}, Dropped: dropped})
}

// check returns why the task does not match these sources, or "" if it does.
func (t extractTask) check(sources []SourceSpec) string {
	if t.Source < 0 || t.Source >= len(sources) || t.Number < 0 {
		return fmt.Sprintf("file %d of source %d, of %d", t.Number, t.Source, len(sources))
	}
	source := sources[t.Source]
	switch {
	case source.Kind == KindWiki && t.Range == nil, source.Kind == KindBooks && t.Books == nil:
		return "says nothing of its source of kind " + source.Kind
	case t.Range != nil && (t.Range.Start < 0 || t.Range.End < t.Range.Start):
		return fmt.Sprintf("bytes %d to %d of a dump", t.Range.Start, t.Range.End)
	}
	return ""
}

// bytes returns how many bytes of the source s the task reads.
func (t extractTask) bytes(s SourceSpec) int64 {
	switch {
	case t.Range != nil:
		return t.Range.End - t.Range.Start
	case t.Books != nil:
		return t.Books.Bytes
	case t.Bytes > 0:
		return t.Bytes
	}
	return s.Bytes
}

// A reading is an open source. Its summary function must be called after all documents
// were read. It returns their counts and the body of the side-car.
type reading struct {
	documents iter.Seq2[*extract.Document, error]
	summary   func() (sharding.Counts, sharding.DocumentsBody, error)
	close     func()
}

// open opens the part of source s for task t. During reading, rejected is called for each
// reject.
func (w *extractWorker) open(ctx context.Context, s SourceSpec, t extractTask, tools *extractTools, rejected func(*extract.Rejected)) (*reading, error) {
	switch s.Kind {
	case KindWiki:
		reading, err := w.openWiki(ctx, s, t, tools)
		if err == nil {
			tools.wiki.OnReject(rejected)
		}
		return reading, err
	case KindWikiHTML:
		return w.openWikiHTML(ctx, s, t, rejected)
	case KindBooks:
		return w.openBooks(ctx, s, *t.Books, tools.team, rejected)
	case kindText, kindJSONL:
		return w.openText(ctx, s, rejected)
	}
	panic("BUG: source of kind " + s.Kind)
}

func (w *extractWorker) openBooks(ctx context.Context, s SourceSpec, t books.Task, team *parallel.Team, rejected func(*extract.Rejected)) (*reading, error) {
	t.Path = books.Name(s.Paths[0])
	r := books.NewReader(meteredBooks{bookFiles{ctx}, w.Meter}, t, w.Options.Books)
	r.OnReject(rejected)
	if team != nil {
		r.Share(team)
	}
	summary := func() (sharding.Counts, sharding.DocumentsBody, error) {
		st := r.Stats()
		var notes []string
		for _, n := range st.Notes {
			notes = append(notes, n.Name+": "+n.Text)
		}
		return st.Counts(), sharding.DocumentsBody{Notes: notes}, nil
	}
	return &reading{r.Documents(), summary, func() {}}, nil
}

// meteredBooks is a bookFiles that adds the number of bytes read to meter.
type meteredBooks struct {
	bookFiles
	meter *stage.Meter
}

func (m meteredBooks) Open(path, name string) (books.File, error) {
	f, err := m.bookFiles.Open(path, name)
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

func (w *extractWorker) openText(ctx context.Context, s SourceSpec, rejected func(*extract.Rejected)) (*reading, error) {
	var sources []text.Source
	for _, path := range s.Paths {
		sources = append(sources, text.Source{Name: path, Open: func() (io.ReadCloser, error) {
			return w.openMetered(ctx, path)
		}})
	}
	var r *text.Reader
	if s.Kind == kindText {
		r = text.NewLines(sources, w.Options.Text)
	} else {
		r = text.NewJSONLines(sources, w.Options.Text)
	}
	r.OnReject(rejected)
	summary := func() (sharding.Counts, sharding.DocumentsBody, error) {
		st := r.Stats()
		var notes []string
		for _, p := range st.Invalid {
			notes = append(notes, fmt.Sprintf("invalid UTF-8 dropped: %s, line %d", store.Base(p.File), p.Line))
		}
		for _, p := range st.Malformed {
			notes = append(notes, fmt.Sprintf("not a document: %s, line %d", store.Base(p.File), p.Line))
		}
		return st.Counts(), sharding.DocumentsBody{Notes: notes}, nil
	}
	return &reading{r.Documents(), summary, func() {}}, nil
}

// openMetered opens a file for reading. Each byte read is counted in w.Meter.
func (w *extractWorker) openMetered(ctx context.Context, path string) (io.ReadCloser, error) {
	f, err := store.OpenPath(ctx, path)
	if err != nil {
		return nil, err
	}
	metered := &meteredReaderAt{ctx: ctx, r: f, meter: w.Meter, end: f.Size()}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(metered, 0, f.Size()), f}, nil
}

// meteredReaderAt adds each byte of the range [next, end) to meter when it is read for
// the first time. Reads fail once ctx is done, so that a run can be interrupted during
// long inputs without documents.
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

// A ChangedError reports that a source has changed since planning, so that the documents
// may be a mix of two versions.
type ChangedError struct {
	Name string // base name of the source
	How  string // kind of change, such as "it was removed"
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s changed during the run: %s: run again with a file that stays as it is, and --overwrite", e.Name, e.How)
}

// Damaged marks the error for exit codes.
func (e *ChangedError) Damaged() bool { return true }

// checkUnchanged returns a [*ChangedError] if the size of a source, or its first or last
// MiB, differs from the plan. It ignores directories of books and all other errors.
func checkUnchanged(ctx context.Context, s SourceSpec) error {
	for i, planned := range s.Inputs {
		now, err := sharding.SourceInput(ctx, s.Paths[i])
		how := ""
		switch {
		case errors.Is(err, fs.ErrNotExist):
			how = "it was removed"
		case err != nil:
		case now.Bytes != planned.Bytes:
			how = fmt.Sprintf("it had %d bytes and has %d", planned.Bytes, now.Bytes)
		case now != planned:
			how = "it has other content"
		}
		if how != "" {
			return &ChangedError{store.Base(s.Paths[i]), how}
		}
	}
	return nil
}

// checkSources returns a [*ChangedError] if any source changed during the stage.
func (w *extractWorker) checkSources(ctx context.Context) error {
	for _, s := range w.Sources {
		if err := checkUnchanged(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
