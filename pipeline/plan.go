package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pretext/extract/books"
	"pretext/extract/bzip2"
	"pretext/extract/download"
	"pretext/extract/wiki"
	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/pipeline/filter"
	"pretext/sharding"
)

// A Plan predicts the input, output and resources of a run.
type Plan struct {
	Sources         []PlannedSource `json:"sources"`
	DownloadFiles   int             `json:"download_files"`
	DownloadBytes   int64           `json:"download_bytes"`
	DownloadSeconds int64           `json:"download_seconds"` // minimum duration, given the servers' rate limits
	TextBytes       int64           `json:"text_bytes"`
	Documents       int64           `json:"documents"`
	Records         int64           `json:"records"`
	Shards          int             `json:"shards"`
	// Mix predicts how often each source is read, if there is a mix. Its token counts are
	// estimates.
	Mix      []sharding.MixRow `json:"mix,omitempty"`
	Disk     PlannedDisk       `json:"disk"`
	Memory   PlannedMemory     `json:"memory"`
	Scale    []PlannedScale    `json:"scale,omitempty"`
	Notes    []string          `json:"notes,omitempty"`
	Problems []string          `json:"problems,omitempty"` // reasons why the run does not fit
}

// A PlannedSource is one source of a plan.
type PlannedSource struct {
	Name      string `json:"name"`
	Source    string `json:"source"`             // name in documents files and in the options of a mix
	Language  string `json:"language,omitempty"` // "" if unknown before reading
	Kind      string `json:"kind"`
	Files     int    `json:"files"`
	Bytes     int64  `json:"bytes"`      // size of the files, compressed or not
	TextBytes int64  `json:"text_bytes"` // expected size of the text
	Documents int64  `json:"documents"`  // expected number of documents
	Basis     string `json:"basis"`      // how the sizes were determined
	Licence   string `json:"licence"`
	Local     bool   `json:"local"`

	spooled int64 // size of a compressed dump that may contain templates; 0 for other sources
	archive bool  // an archive of books, which is one task for all workers of a process
}

// PlannedDisk is the disk space of a run, in bytes.
type PlannedDisk struct {
	Sources   int64 `json:"sources"` // downloaded files
	Documents int64 `json:"documents"`
	Filtered  int64 `json:"filtered"` // filtered documents, and temporary files for finding duplicates
	Vocab     int64 `json:"vocab"`
	Shards    int64 `json:"shards"`
	Converted int64 `json:"converted,omitempty"` // shards in other formats
	Scratch   int64 `json:"scratch"`             // size of unnamed temporary files while examples are made
	// Spool is the unnamed temporary file that stores the pages of dumps until their
	// template definitions are collected. It is in --temp-dir or in the run's directory.
	Spool int64 `json:"spool,omitempty"`
	Peak  int64 `json:"peak"` // maximum use of the disk with the run's directory
	Free  int64 `json:"free"` // -1 if unknown
}

// PlannedMemory is the memory of the process, in bytes.
type PlannedMemory struct {
	Needed  int64 `json:"needed"`  // minimum; with less, a stage refuses to start
	Peak    int64 `json:"peak"`    // expected use
	Driver  int64 `json:"driver"`  // of the process that plans, without its tasks, see [DriverMemory]
	Allowed int64 `json:"allowed"` // limit set by --memory
}

// A FitError reports that a run needs more memory or disk space than available.
type FitError struct{ Problems []string }

func (e *FitError) Error() string { return strings.Join(e.Problems, "; ") }

// DoesNotFit marks the error for exit codes.
func (e *FitError) DoesNotFit() bool { return true }

// A TypicalSize is a recorded size of a request's files, used if no server answers.
type TypicalSize struct {
	Bytes  int64
	Source string // origin of the recorded size
}

// PlanConfig configures [PlanRun].
type PlanConfig struct {
	Run     RunConfig
	Workers int
	Cluster bool     // the run's jobs run on a cluster, not in this process
	Formats []string // formats to which the shards will be converted
	For     []string // consumers for which they will be
	// Machines are the machines for which the run's duration is predicted. Without
	// Counts, there is no prediction.
	Machines Machines
	passes   float64 // average number of passes over the text in the examples stage, with a mix; 0: one pass
	// Typical returns the recorded size of a request. The second result is false if there
	// is none.
	Typical func(download.Request) (TypicalSize, bool)
}

// PlanRun predicts a run without writing anything. If the run does not fit into memory or
// disk space, PlanRun returns both the plan and a [*FitError].
func PlanRun(ctx context.Context, c PlanConfig) (*Plan, error) {
	type planned struct {
		plan *Plan
		fit  error
	}
	p, err := abandon(ctx, func() (planned, error) {
		p, err := planRun(ctx, c)
		if p != nil {
			return planned{p, err}, nil
		}
		return planned{}, err
	})
	return p.plan, cmp.Or(err, p.fit)
}

// planRun implements PlanRun.
func planRun(ctx context.Context, c PlanConfig) (*Plan, error) {
	if err := errors.Join(c.Run.Examples.Validate(), c.Run.Filter.WithDefaults().Validate()); err != nil {
		return nil, failure.Usage(err)
	}
	if _, err := c.Run.checkEffect(ctx, c.Run.Sources, c.Run.Download); err != nil {
		return nil, err
	}
	p := &Plan{}
	local, err := expandSources(ctx, c.Run.Sources, func(text string) { p.Notes = append(p.Notes, text) })
	if err != nil {
		return nil, err
	}
	names := stems{}
	for _, s := range local {
		source, err := planLocal(ctx, s, c.Run.Extract)
		if err != nil {
			return nil, err
		}
		source.Source = names.next(s.Path)
		p.Sources = append(p.Sources, source)
	}
	if d := c.Run.Download; d != nil {
		if err := d.validate(); err != nil {
			return nil, failure.Usage(err)
		}
		if err := p.addDownloads(ctx, *d, c.Typical); err != nil {
			return nil, err
		}
	}
	if len(p.Sources) == 0 {
		return nil, failure.Usagef("no sources: nothing to plan")
	}
	if err := p.mix(&c); err != nil {
		return nil, err
	}
	p.reckon(c)
	if p.Scale, err = c.scale(ctx, p); err != nil {
		return nil, err
	}
	return p, p.fit(c)
}

// reckon adds up the sources and predicts the output and the resources of the run.
func (p *Plan) reckon(c PlanConfig) {
	for _, s := range p.Sources {
		p.TextBytes += s.TextBytes
		p.Documents += s.Documents
		if s.Local {
			continue
		}
		p.DownloadFiles += s.Files
		p.DownloadBytes += s.Bytes
		seconds := int64(float64(s.Bytes) / wikimediaSpeed)
		if s.Kind == KindBooks {
			seconds = int64(c.Run.Download.Client.BookPause.Seconds() * float64(s.Files))
		}
		p.DownloadSeconds = max(p.DownloadSeconds, seconds) // wikis and books are downloaded concurrently
	}
	f := c.foresee(filter.Corpus{TextBytes: p.TextBytes, Documents: p.Documents}, p.DownloadBytes)
	p.Records, p.Shards, p.Disk, p.Memory = int64(f.Records), f.Shards, f.Disk, f.Memory
	p.Disk.Free = -1
	if free, ok := freeSpace(c.Run.Out); ok {
		p.Disk.Free = free
	}
	p.foreseeSpool(c)
}

// fit returns a [*FitError] if the run does not fit into memory or disk space.
func (p *Plan) fit(c PlanConfig) error {
	if p.Memory.Needed > p.Memory.Allowed {
		p.Problems = append(p.Problems, fmt.Sprintf("about %d MB of memory are needed, --memory allows %d MB: give more --memory, fewer --workers or more --shards",
			p.Memory.Needed/1e6, p.Memory.Allowed/1e6))
	}
	if p.Disk.Free >= 0 && p.Disk.Peak > p.Disk.Free {
		p.Problems = append(p.Problems, fmt.Sprintf("about %d MB of disk are needed below %s, %d MB are free: free some space, give another --out, a smaller --dupe-factor or --compression gzip",
			p.Disk.Peak/1e6, c.Run.Out, p.Disk.Free/1e6))
	}
	if p.Problems != nil {
		return &FitError{p.Problems}
	}
	return nil
}

// addDownloads asks servers for the files of requests. If no server answers, it
// uses recorded sizes and adds a note.
func (p *Plan) addDownloads(ctx context.Context, d DownloadConfig, typical func(download.Request) (TypicalSize, bool)) error {
	for _, q := range d.Requests {
		source, err := planRequest(ctx, d.Client, q)
		if errors.Is(err, download.ErrNetwork) || errors.Is(err, download.ErrOffline) {
			d.Client.Offline = true // avoids waiting for the network again
			size, ok := TypicalSize{}, false
			if typical != nil {
				size, ok = typical(q)
			}
			if !ok {
				return fmt.Errorf("%w (no size of %s is recorded either)", err, q)
			}
			p.Notes = append(p.Notes, fmt.Sprintf("%s: planned with a recorded size, %s: %v", q, size.Source, err))
			source, err = typicalSource(q, size), nil
		}
		if err != nil {
			return err
		}
		source.Source, source.Language = downloadName(q), cmp.Or(q.Language, wiki.LanguageOf(q.Wiki))
		p.Sources = append(p.Sources, source)
	}
	return nil
}

// planRequest asks servers for the files selected by a request and for their sizes.
func planRequest(ctx context.Context, o download.Options, q download.Request) (s PlannedSource, err error) {
	client, err := download.NewClient(o)
	if err != nil {
		return s, failure.Usage(err)
	}
	defer client.Close()
	list, err := client.Resolve(ctx, q)
	if err != nil {
		return s, err
	}
	found := downloadPlan{files: list.Files}
	if err := found.measure(ctx, client, nil); err != nil {
		return s, err
	}
	s = PlannedSource{Name: q.String(), Kind: list.Files[0].Kind, Files: len(list.Files), Bytes: found.bytes, Basis: "asked the source", Licence: list.Files[0].Licence}
	if q.Kind == download.Gutenberg {
		s.Basis = fmt.Sprintf("%.0f kB a book, typically", typicalBook/1e3)
	}
	if q.Kind == download.Wiki {
		s.Name = q.Wiki + "@" + dateOf(list.Files[0].Name)
	}
	s.expect(list.Files[0].Name)
	return s, nil
}

// dateOf returns the date contained in the name of a dump, or "latest".
func dateOf(name string) string {
	for i := range name {
		if rest := name[i:]; i > 0 && name[i-1] == '-' {
			digits := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '-' })
			if digits >= 8 {
				return strings.TrimRight(rest[:digits], "-")
			}
		}
	}
	return download.Latest
}

func typicalSource(q download.Request, size TypicalSize) PlannedSource {
	s := PlannedSource{Name: q.String(), Kind: KindWiki, Files: 1, Bytes: size.Bytes, Basis: "recorded: " + size.Source, Licence: download.LicenceOf(q)}
	name := "dump.xml.bz2"
	if q.Kind == download.Gutenberg {
		s.Kind, s.Files, name = KindBooks, int(size.Bytes/typicalBook), "book.txt"
	}
	s.expect(name)
	return s
}

// expect predicts the text and documents of a source from its kind, name and size.
func (s *PlannedSource) expect(name string) {
	if s.Kind == KindWiki && !strings.HasSuffix(name, ".xml") {
		s.spooled = s.Bytes
	}
	ratio, documents := 1.0, bookDocuments
	packed := strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, ".tgz") || strings.HasSuffix(name, ".zip") || strings.HasSuffix(name, ".epub")
	switch {
	case s.Kind == KindWiki && strings.HasSuffix(name, ".bz2"):
		ratio, documents = textPerDumpByte, wikiDocuments
	case s.Kind == KindWiki && packed:
		ratio, documents = textPerDumpByte*0.75, wikiDocuments // gzip files are a third larger than bzip2 files
	case s.Kind == KindWiki:
		ratio, documents = textPerDumpByte/4, wikiDocuments // uncompressed XML is four times as large as bzip2, measured
	case packed:
		ratio = textPerPackedByte
	}
	s.TextBytes = int64(float64(s.Bytes) * ratio)
	s.Documents = int64(float64(s.TextBytes) / 1e6 * documents)
	if s.Kind == KindBooks && s.Files > 1 {
		s.Documents = int64(s.Files)
	}
}

// planLocal predicts the text and documents of a local source. For a dump it extracts a
// sample. For books it uses the file sizes.
func planLocal(ctx context.Context, s expandedSource, o ExtractOptions) (PlannedSource, error) {
	p := PlannedSource{Name: store.Base(s.Path), Language: o.Wiki.Language, Kind: s.Kind, Files: 1, Licence: "as you have it", Local: true, Basis: "size of the file"}
	if s.Kind == KindWiki {
		err := sampleDump(ctx, s.Path, o.Wiki, &p)
		if err == nil && o.ExpandTemplates != ExpandOff {
			p.spooled, err = spooled(ctx, s.Path)
		}
		return p, err
	}
	if s.Kind == KindWikiHTML {
		return p, samplePages(ctx, s.Path, o.Wiki, &p)
	}
	var from books.Store = bookFiles{ctx}
	if s.books != nil {
		from = listedBooks{files: s.books}
	}
	tasks, err := books.Plan(from, []string{s.Path}, o.Books)
	if err != nil {
		return p, err
	}
	p.archive = tasks[0].Shared(o.Books)
	if len(tasks[0].Files) > 0 {
		p.Files, p.Basis = 0, "sizes of the files"
	}
	for _, t := range tasks {
		if t.First == 0 { // several tasks may read rows of the same file; count it once
			p.Files += len(t.Files)
		}
		p.Bytes += t.Bytes
	}
	p.expect(p.Name)
	return p, nil
}

// For a dump, the sample is a number (samples) of ranges with sampleBytes compressed
// bytes each, at equal distances. Extracting them takes about a second.
const (
	samples     = 8
	sampleBytes = 256 << 10
)

// sampleDump extracts some ranges of a dump and extrapolates to the whole dump. It sets
// the sizes and the basis in to.
func sampleDump(ctx context.Context, path string, o wiki.Options, to *PlannedSource) error {
	f, dump, err := openDump(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	var read, text, documents int64
	size := dump.Size
	to.Language = cmp.Or(o.Language, dump.Language())
	reader := wiki.NewReader(dump, wiki.Range{}, o)
	for _, r := range sampleRanges(size) {
		reader.Reset(dump, r)
		for _, err := range reader.Documents() {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil && !errors.Is(err, bzip2.ErrTrailing) {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		st := reader.Stats()
		read, text, documents = read+r.End-r.Start, text+st.TextBytes, documents+st.Kept
	}
	scale := float64(size) / float64(max(1, read))
	to.Bytes, to.TextBytes, to.Documents = size, int64(float64(text)*scale), int64(float64(documents)*scale)
	to.Basis = fmt.Sprintf("%d kB of it extracted", read/1e3)
	return nil
}

func sampleRanges(size int64) (ranges []wiki.Range) {
	if size <= samples*sampleBytes {
		return []wiki.Range{{Start: 0, End: size}}
	}
	for i := range int64(samples) {
		start := (size*(2*i+1)/samples - sampleBytes) / 2 // in the middle of its part of the dump
		ranges = append(ranges, wiki.Range{Start: start, End: start + sampleBytes})
	}
	return slices.Clip(ranges)
}
