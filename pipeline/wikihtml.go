package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"pretext/extract"
	"pretext/extract/books"
	"pretext/extract/wiki"
	"pretext/extract/wiki/wikihtml"
	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/sharding"
)

// Limits for the files that one task reads from a directory of pages: htmlTaskBytes is
// the total size in bytes, htmlTaskFiles the maximum number.
const (
	htmlTaskBytes = 64 << 20
	htmlTaskFiles = 1 << 10
)

// addWikiHTML adds a snapshot, which is a single task, or a directory with one page per
// file, in the order of the file names.
func (p *sourcePlan) addWikiHTML(ctx context.Context, path string) error {
	info, err := store.Stat(ctx, path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		in, err := sharding.SourceInput(ctx, path)
		if err != nil {
			return err
		}
		source := p.add(SourceSpec{Kind: KindWikiHTML, Paths: []string{store.Absolute(path)}, Bytes: in.Bytes, Inputs: []sharding.Input{in}})
		task := extractTask{Source: source}
		if wikihtml.IsPage(path) {
			task.Pages = []string{""}
		} else if err := checkSnapshot(ctx, path); err != nil {
			return err
		}
		p.tasks = append(p.tasks, task)
		p.inputs = append(p.inputs, in)
		return nil
	}
	return p.addPages(ctx, path)
}

// checkSnapshot returns an error if a file is certainly not a snapshot. It is called
// before the stage begins.
func checkSnapshot(ctx context.Context, path string) error {
	f, err := store.OpenPath(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := wikihtml.CheckSnapshot(io.NewSectionReader(f, 0, f.Size())); err != nil {
		return fmt.Errorf("%s: %w", store.Base(path), err)
	}
	return nil
}

// addPages adds a directory with one page per file.
func (p *sourcePlan) addPages(ctx context.Context, path string) error {
	entries, err := store.ReadDir(ctx, path) // sorted by name
	if err != nil {
		return err
	}
	s := SourceSpec{Kind: KindWikiHTML, Paths: []string{store.Absolute(path)}}
	var tasks []extractTask
	var listed books.Task // for booksInput
	room := int64(0)      // bytes that can still be added to the last task
	for _, e := range entries {
		if e.IsDir() || !wikihtml.IsPage(e.Name()) {
			continue
		}
		info, err := store.Stat(ctx, store.Join(path, e.Name()))
		if err != nil {
			return err
		}
		if n := len(tasks); n == 0 || room <= 0 || len(tasks[n-1].Pages) == htmlTaskFiles {
			tasks = append(tasks, extractTask{Number: n})
			room = htmlTaskBytes
		}
		t := &tasks[len(tasks)-1]
		t.Pages, t.Bytes = append(t.Pages, e.Name()), t.Bytes+info.Size()
		room -= info.Size()
		s.Bytes += info.Size()
		listed.Files = append(listed.Files, books.Name(e.Name()))
	}
	if tasks == nil {
		return failure.Usagef("folder %s has neither snapshots (.tar.gz, .ndjson) nor pages (.html) in it", path)
	}
	in, err := booksInput(ctx, path, []books.Task{listed})
	if err != nil {
		return err
	}
	source := p.add(s)
	for _, t := range tasks {
		t.Source = source
		p.tasks = append(p.tasks, t)
	}
	p.inputs = append(p.inputs, in)
	return nil
}

func (w *extractWorker) openWikiHTML(ctx context.Context, s SourceSpec, t extractTask, rejected func(*extract.Rejected)) (*reading, error) {
	options, err := w.wikiOptions()
	if err != nil {
		return nil, err
	}
	open := func(name string) (io.ReadCloser, error) {
		path := s.Paths[0]
		if name != "" {
			path = store.Join(path, name)
		}
		return w.openMetered(ctx, path)
	}
	r := wikihtml.NewReader(wikihtml.Input{Name: store.Base(s.Paths[0]), Files: t.Pages, Open: open}, options)
	r.OnReject(rejected)
	summary := func() (sharding.Counts, sharding.DocumentsBody, error) {
		st := r.Stats()
		var notes []string
		if st.Invalid > 0 {
			notes = []string{fmt.Sprintf("invalid UTF-8 dropped: %s, %d bytes", store.Base(s.Paths[0]), st.Invalid)}
		}
		return st.Counts(), sharding.DocumentsBody{Notes: notes}, nil
	}
	return &reading{r.Documents(), summary, func() {}}, nil
}

// isSnapshot reports whether a file name is that of a snapshot.
func isSnapshot(path string) bool {
	name := strings.ToLower(store.Base(path))
	for _, suffix := range []string{".tar.gz", ".tgz", ".tar", ".ndjson", ".ndjson.gz"} {
		if strings.HasSuffix(name, suffix) && !strings.HasPrefix(name, ".") {
			return true
		}
	}
	return false
}

// sampledPages is the maximum number of files that samplePages reads.
const sampledPages = 64

// samplePages extracts the beginning of a snapshot, or the first files of a directory of
// pages, and extrapolates to the whole source. It sets the sizes and the basis in to.
func samplePages(ctx context.Context, path string, o wiki.Options, to *PlannedSource) error {
	plan := sourcePlan{stems: map[string]int{}}
	if err := plan.addWikiHTML(ctx, path); err != nil {
		return err
	}
	in := wikihtml.Input{Name: store.Base(path), Files: plan.tasks[0].Pages}
	in.Files = in.Files[:min(len(in.Files), sampledPages)]
	read := int64(0)
	in.Open = func(name string) (io.ReadCloser, error) {
		if name != "" {
			name = store.Join(path, name)
		}
		f, err := store.OpenPath(ctx, cmp.Or(name, path))
		if err != nil {
			return nil, err
		}
		n := min(f.Size(), samples*sampleBytes)
		read += n
		return struct {
			io.Reader
			io.Closer
		}{io.NewSectionReader(f, 0, n), f}, nil
	}
	var text, documents int64
	for doc, err := range wikihtml.NewReader(in, o).Documents() {
		if err != nil && !errors.Is(err, wiki.ErrCorrupt) { // the sample ends within a compressed stream
			return fmt.Errorf("%s: %w", path, err)
		}
		if err == nil {
			text, documents = text+int64(len(doc.Text)), documents+1
		}
	}
	to.Files = 0
	for _, t := range plan.tasks {
		to.Files += max(1, len(t.Pages))
	}
	to.Bytes = plan.bytes
	scale := float64(plan.bytes) / float64(max(1, read))
	to.TextBytes, to.Documents = int64(float64(text)*scale), int64(float64(documents)*scale)
	to.Basis = fmt.Sprintf("%d kB of it extracted", read/1e3)
	return nil
}
