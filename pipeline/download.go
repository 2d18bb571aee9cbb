package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pretext/extract/download"
	"pretext/internal/store"
	"pretext/pipeline/stage"
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

// downloadWork is what a download worker needs beyond its task.
type downloadWork struct {
	Client download.Options
	// Addresses are the whole URLs of files whose plan has only what is no secret,
	// by their hash. They are written to no file.
	Addresses map[string]string
}

func init() {
	stage.Register(stage.Definition{
		Name:  "download",
		New:   stage.New(func(env *stage.Env, work downloadWork) stage.Worker { return &downloadWorker{env, work} }),
		Clear: removeDownloads,
		Counts: [][2]string{{"downloads", "files downloaded"}, {"download_bytes", "bytes downloaded"},
			{"unverified_downloads", "files without a published checksum"}, {"missing_downloads", "files missing at the source"}},
	})
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
		return nil, &ConfigError{Err: err}
	}
	return stage.Locked(c.Out, func(folder store.Folder) (*sharding.Manifest, error) {
		plan, err := planDownload(ctx, folder, c)
		if err != nil {
			return nil, err
		}
		if err := plan.checkSpace(ctx, folder); err != nil {
			return nil, err
		}
		var requests []string
		for _, q := range c.Requests {
			requests = append(requests, q.String())
		}
		spec := stage.NewSpec("download", c.Out, requests, downloadWork{Client: c.Client, Addresses: c.addresses()})
		r.Workers = max(r.Workers, downloadsAtOnce)
		m, err := stage.RunIn(ctx, folder, r, stage.Config{Spec: spec, Recipe: plan.recipe, Tasks: plan.tasks(), Total: plan.bytes, Overwrite: c.Overwrite})
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
			errs = append(errs, fmt.Errorf("url %s: plain http is not safe, give an https URL", q))
		}
	}
	return errors.Join(errs...)
}

// addresses returns the whole URLs of requests by their hash, where they hold what
// may be secret.
func (c DownloadConfig) addresses() map[string]string {
	whole := map[string]string{}
	for _, q := range c.Requests {
		if sum := q.Redacted().URLSHA256; sum != "" {
			whole[sum] = q.URL
		}
	}
	return whole
}

// downloadWorker fetches files.
type downloadWorker struct {
	*stage.Env
	downloadWork
}

// client returns the one client of the job: its limits are those of the run.
func (w *downloadWorker) client() (*download.Client, error) {
	shared, err := w.Share(func() (any, error) { return download.NewClient(w.Client) })
	if err != nil {
		return nil, err
	}
	return shared.(*download.Client), nil
}

func (w *downloadWorker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	var t downloadTask
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	sideCar := t.File.Name + sharding.SideCarSuffix
	if results, ok, err := w.Proved(ctx, index, sideCar); err != nil || ok {
		if info, err := w.Folder.Stat(ctx, t.File.Name); err == nil {
			w.Meter.Add(info.Size())
		}
		return results, err
	}
	client, err := w.client()
	if err != nil {
		return nil, err
	}
	got, err := client.Fetch(ctx, w.Folder.String(), revealed(t.File, w.Addresses), download.Hooks{Progress: w.Meter.Add, BeforeCommit: func() error { return w.Fence(ctx) }})
	var entry sharding.FileEntry
	switch {
	case err == nil:
		entry = downloaded(t.File, index, got)
	case t.File.Optional && errors.Is(err, download.ErrNotFound):
		entry = sharding.FileEntry{Task: index, Counts: sharding.Counts{"missing_downloads": 1}}
	default:
		return nil, err
	}
	result, err := w.Prove(ctx, sideCar, sharding.SideCar{Task: index, File: entry})
	return []stage.Result{result}, err
}

// revealed returns a file of the plan with its whole URL.
func revealed(f download.File, addresses map[string]string) download.File {
	if whole, ok := addresses[f.URLSHA256]; ok {
		f.URL, f.URLSHA256 = whole, ""
	}
	return f
}

// downloaded describes a file that was fetched.
func downloaded(f download.File, task int, got download.Result) sharding.FileEntry {
	e := sharding.FileEntry{Name: f.Name, Task: task, Bytes: got.Bytes, SHA256: got.SHA256,
		Counts: sharding.Counts{"downloads": 1, "download_bytes": got.Bytes},
		Origin: &sharding.Origin{URL: f.URL, URLSHA256: f.URLSHA256, Kind: f.Kind, Checksum: string(f.Checksum), ChecksumSource: f.ChecksumSource, Licence: f.Licence}}
	if f.Checksum == "" {
		e.Counts["unverified_downloads"] = 1
	}
	return e
}

func (w *downloadWorker) Finish(ctx context.Context, results []stage.Result) error {
	if client, err := w.client(); err == nil {
		client.Close()
	}
	if err := w.refuseEqual(ctx, results); err != nil {
		return err
	}
	return w.Manifest(ctx, results, sharding.Manifest{})
}

// removeDownloads removes the files that the plan names, and partial files.
func removeDownloads(ctx context.Context, folder store.Folder, plan *sharding.StagePlan) error {
	for i := range plan.Tasks {
		var t downloadTask
		if err := sharding.ReadTask(ctx, folder, i, &t); err != nil {
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

// downloadNotes are what a person should know of downloads that went well.
func downloadNotes(m *Manifest) (notes []string) {
	if n := m.Counts["missing_downloads"]; n > 0 {
		notes = append(notes, fmt.Sprintf("%d books of the catalogue have no plain text at the source", n))
	}
	return notes
}
