package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"pretext/extract/download"
	"pretext/internal/store"
	"pretext/sharding"
)

// downloadAlgorithm is raised when the same requests and lists mean other files.
const downloadAlgorithm = 1

// downloadsAtOnce is how many files are begun at a time. Most of them wait for
// one of the few connections to their host; it is large so that those of one
// host do not keep those of another from beginning.
const downloadsAtOnce = 128

// DownloadOptions are the options that decide what is downloaded.
type DownloadOptions struct {
	Requests []download.Request `json:"requests"`
}

// DownloadConfig says what to bring, how to behave, and where to.
type DownloadConfig struct {
	Requests  []download.Request
	Client    download.Options // decides no byte
	Out       string
	Overwrite bool
}

// DownloadSpec is what a download worker needs beyond its task.
type DownloadSpec struct {
	Requests []string // for people
	Client   download.Options
}

// A downloadTask is the plan of one file.
type downloadTask struct {
	File download.File `json:"file"`
}

// Download brings raw sources: OUT/ holds the files under their own names. What
// requests such as "the newest" meant is decided once, written to the plan, and
// kept when the command is run again; with Overwrite it is asked anew.
func Download(ctx context.Context, r Runner, c DownloadConfig) (*sharding.Manifest, error) {
	if err := c.validate(); err != nil {
		return nil, &ConfigError{err}
	}
	return locked(c.Out, func(folder store.Folder) (*sharding.Manifest, error) {
		plan, err := planDownload(ctx, folder, c)
		if err != nil {
			return nil, err
		}
		if err := plan.checkSpace(ctx, folder); err != nil {
			return nil, err
		}
		spec := Spec{Stage: "download", Out: c.Out, Download: &DownloadSpec{Client: c.Client}}
		for _, q := range c.Requests {
			spec.Download.Requests = append(spec.Download.Requests, q.String())
		}
		r.Workers = max(r.Workers, downloadsAtOnce)
		m, err := driveIn(ctx, folder, r, driveConfig{spec: spec, recipe: plan.recipe, tasks: plan.tasks(), total: plan.bytes, overwrite: c.Overwrite})
		if err == nil && m.Counts["downloads"] == 0 {
			err = fmt.Errorf("%w: none of the %d files that were asked for", download.ErrNotFound, len(plan.files))
		}
		return m, err
	})
}

func (c DownloadConfig) validate() error {
	errs := []error{c.Client.Validate()}
	if len(c.Requests) == 0 {
		errs = append(errs, errors.New("nothing to download: give a wiki, books or a URL"))
	}
	for _, q := range c.Requests {
		errs = append(errs, q.Validate())
		if q.Kind == download.URL && strings.HasPrefix(q.URL, "http:") && !c.Client.AllowPrivate {
			errs = append(errs, fmt.Errorf("url %s: plain http is not safe, give an https URL", q.URL))
		}
	}
	return errors.Join(errs...)
}

// A downloadPlan is the files that requests mean.
type downloadPlan struct {
	recipe sharding.Recipe
	files  []download.File
	sizes  []int64 // of the files, as far as they are known
	bytes  int64   // sum of sizes
}

func (p *downloadPlan) tasks() (tasks []any) {
	for _, f := range p.files {
		tasks = append(tasks, downloadTask{f})
	}
	return tasks
}

// planDownload takes the plan of an earlier run of the same requests, or asks the
// sources.
func planDownload(ctx context.Context, folder store.Folder, c DownloadConfig) (*downloadPlan, error) {
	options, err := json.Marshal(DownloadOptions{c.Requests})
	if err != nil {
		return nil, err
	}
	if !c.Overwrite || c.Client.Offline {
		if p, err := earlierDownload(ctx, folder, options); p != nil || err != nil {
			return p, err
		}
	}
	client, err := download.NewClient(c.Client)
	if err != nil {
		return nil, &ConfigError{err}
	}
	defer client.Close()
	p := &downloadPlan{recipe: sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "download", Algorithm: downloadAlgorithm, Options: options,
		Inputs: []sharding.Input{}}}
	for _, q := range c.Requests {
		list, err := client.Resolve(ctx, q)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, list.Files...)
		for _, in := range list.Indices {
			p.recipe.Inputs = append(p.recipe.Inputs, sharding.Input(in))
		}
	}
	nameDownloads(p.files)
	return p, p.measure(ctx, client)
}

// nameDownloads gives every file a name of its own that none of the stage's has.
func nameDownloads(files []download.File) {
	for i := range files {
		if f := &files[i]; strings.HasSuffix(f.Name, sharding.SideCarSuffix) || ours(f.Name) {
			f.Name = "file-" + f.Name + ".data"
		}
	}
	download.Distinct(files)
}

// earlierDownload reads what an earlier run of the same requests planned, nil
// where there is none. A folder with anything else in it is refused.
func earlierDownload(ctx context.Context, folder store.Folder, options json.RawMessage) (*downloadPlan, error) {
	plan, err := sharding.ReadPlan(ctx, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var old bytes.Buffer
	if err := json.Compact(&old, plan.Options); err != nil {
		return nil, err
	}
	if plan.Stage != "download" || plan.Algorithm != downloadAlgorithm || !bytes.Equal(old.Bytes(), options) {
		wanted := plan.Recipe
		wanted.Stage, wanted.Algorithm, wanted.Options = "download", downloadAlgorithm, options
		return nil, &OptionsError{folder.String(), differences(plan.Recipe, wanted)} // before servers are asked
	}
	plan.Recipe.Options = options
	p := &downloadPlan{recipe: plan.Recipe}
	st := &stage{folder: folder}
	for i := range plan.Tasks {
		var t downloadTask
		if err := st.task(ctx, i, &t); err != nil {
			return nil, err
		}
		p.files = append(p.files, t.File)
	}
	return p, p.measure(ctx, nil)
}

// typicalBook is the size of a book of Project Gutenberg as plain text: the mean
// of the 11 that the shared test data holds and the 4.4 GB of the 11,038 books
// of BooksCorpus agree on about this.
const typicalBook = 400e3

// measure finds out how much there is to download; client may be nil.
func (p *downloadPlan) measure(ctx context.Context, client *download.Client) error {
	for _, f := range p.files {
		n := f.Bytes
		if n == 0 && f.Kind == KindBooks && f.Checksum == "" {
			n = typicalBook
		}
		if n == 0 && client != nil {
			var err error
			if n, err = client.Length(ctx, f.URL); err != nil {
				return err
			}
		}
		p.sizes = append(p.sizes, n)
		p.bytes += n
	}
	return nil
}

// checkSpace wants room for what is not there yet.
func (p *downloadPlan) checkSpace(ctx context.Context, folder store.Folder) error {
	free, ok := freeSpace(folder.String())
	if !ok {
		return nil
	}
	need := p.bytes
	for _, f := range p.files {
		for _, name := range []string{f.Name, store.PartialName(f.Name)} {
			if info, err := folder.Stat(ctx, name); err == nil {
				need -= info.Size
			}
		}
	}
	if need > free {
		return fmt.Errorf("download to %s: about %d MB are needed, %d MB are free: %w", folder, need/1e6, free/1e6, syscall.ENOSPC)
	}
	return nil
}

// downloadWorker fetches files.
type downloadWorker struct {
	*stage
	DownloadSpec
}

// client returns the one client of the job: its limits are those of the run.
func (w *downloadWorker) client() (*download.Client, error) {
	shared, err := w.job.share(func() (any, error) { return download.NewClient(w.Client) })
	if err != nil {
		return nil, err
	}
	return shared.(*download.Client), nil
}

func (w *downloadWorker) do(ctx context.Context, index int) ([]Result, error) {
	var t downloadTask
	if err := w.task(ctx, index, &t); err != nil {
		return nil, err
	}
	sideCar := t.File.Name + sharding.SideCarSuffix
	if results, ok, err := w.proved(ctx, index, sideCar); err != nil || ok {
		if info, err := w.folder.Stat(ctx, t.File.Name); err == nil {
			w.meter.Add(info.Size)
		}
		return results, err
	}
	client, err := w.client()
	if err != nil {
		return nil, err
	}
	got, err := client.Fetch(ctx, w.folder, t.File, download.Hooks{Progress: w.meter.Add, BeforeCommit: func() error { return w.fence(ctx) }})
	var entry sharding.FileEntry
	switch {
	case err == nil:
		entry = downloaded(t.File, index, got)
	case t.File.Optional && errors.Is(err, download.ErrNotFound):
		entry = sharding.FileEntry{Task: index, Counts: sharding.Counts{"missing_downloads": 1}}
	default:
		return nil, err
	}
	result, err := w.prove(ctx, sideCar, sharding.SideCar{Task: index, File: entry})
	return []Result{result}, err
}

// downloaded describes a file that was fetched.
func downloaded(f download.File, task int, got download.Result) sharding.FileEntry {
	e := sharding.FileEntry{Name: f.Name, Task: task, Bytes: got.Bytes, SHA256: got.SHA256,
		Counts: sharding.Counts{"downloads": 1, "download_bytes": got.Bytes},
		Origin: &sharding.Origin{URL: f.URL, Kind: f.Kind, Checksum: string(f.Checksum), ChecksumSource: f.ChecksumSource, Licence: f.Licence}}
	if f.Checksum == "" {
		e.Counts["unverified_downloads"] = 1
	}
	return e
}

func (w *downloadWorker) finish(ctx context.Context, results []Result) error {
	if client, err := w.client(); err == nil {
		client.Close()
	}
	return w.manifest(ctx, results, nil)
}

// removeDownloads removes the files that the plan of a download stage names, and
// what was got of others, and does nothing in folders of other stages.
func removeDownloads(ctx context.Context, folder store.Folder) error {
	plan, err := sharding.ReadPlan(ctx, folder)
	if err != nil || plan.Stage != "download" {
		return nil
	}
	st := &stage{folder: folder}
	for i := range plan.Tasks {
		var t downloadTask
		if err := st.task(ctx, i, &t); err != nil {
			return err
		}
		for _, name := range []string{t.File.Name, t.File.Name + sharding.SideCarSuffix} {
			if err := folder.Remove(ctx, name); err != nil {
				return err
			}
		}
	}
	return store.RemovePartials(folder)
}

// downloadsIn returns the files of a folder that the download stage finished, in
// the order of their tasks; ok is false for any other path.
func downloadsIn(ctx context.Context, path string) (files []sharding.FileEntry, ok bool, err error) {
	folder, err := store.Open(path)
	if err != nil {
		return nil, false, nil
	}
	plan, err := sharding.ReadPlan(ctx, folder)
	if err != nil || plan.Stage != "download" {
		return nil, false, nil
	}
	m, err := sharding.ReadManifest(ctx, folder)
	if err != nil {
		return nil, false, err
	}
	for _, f := range m.Files {
		if f.Origin != nil {
			files = append(files, f)
		}
	}
	slices.SortStableFunc(files, func(a, b sharding.FileEntry) int { return a.Task - b.Task })
	return files, true, nil
}

// downloadWarnings are what a person should know of downloads that went well.
func downloadWarnings(m *Manifest) (notes []string) {
	if n := m.Counts["missing_downloads"]; n > 0 {
		notes = append(notes, fmt.Sprintf("%d books of the catalogue have no plain text at the source", n))
	}
	return notes
}
