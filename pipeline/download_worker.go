package pipeline

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"

	"pretext/extract/download"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// downloadWorker downloads files.
type downloadWorker struct {
	*stage.Env
	downloadWork
}

// client returns the HTTP client, which all tasks of the job share so that its limits
// apply to the whole run.
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
	got, err := client.Fetch(ctx, w.Folder.String(), revealed(t.File, w.Addresses), download.Hooks{Progress: w.Meter.Add, Commit: func(c store.Committer) error { return w.Settle(ctx, t.File.Name, c) }})
	var entry sharding.FileEntry
	switch {
	case err == nil:
		entry = downloaded(t.File, index, got)
	case t.File.Optional && errors.Is(err, download.ErrNotFound):
		entry = sharding.FileEntry{Task: index, Counts: sharding.Counts{missingDownloads.Key: 1}}
	default:
		return nil, err
	}
	result, err := w.Prove(ctx, sideCar, sharding.SideCar{Task: index, File: entry})
	return []stage.Result{result}, err
}

// revealed returns the file f of the plan with its full URL. addresses maps the SHA-256
// of a redacted URL to the full URL.
func revealed(f download.File, addresses map[string]string) download.File {
	if whole, ok := addresses[f.URLSHA256]; ok {
		f.URL, f.URLSHA256 = whole, ""
	}
	return f
}

// downloaded returns the manifest entry for a downloaded file.
func downloaded(f download.File, task int, got download.Result) sharding.FileEntry {
	e := sharding.FileEntry{Name: f.Name, Task: task, Bytes: got.Bytes, SHA256: got.SHA256,
		Counts: sharding.Counts{downloads.Key: 1, downloadBytes.Key: got.Bytes},
		Origin: &sharding.Origin{URL: f.URL, URLSHA256: f.URLSHA256, Kind: f.Kind, Checksum: string(f.Checksum), ChecksumSource: f.ChecksumSource, Licence: f.Licence}}
	if f.Checksum == "" {
		unverifiedDownloads.Add(e.Counts, 1)
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

// removeDownloads removes the files in the plan, their side-cars, and partial downloads.
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

// downloadsIn returns the files in a finished download directory, in the order of their
// tasks. ok is false if path is not a finished download directory.
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

// downloadNotes returns notes on a successful download.
func downloadNotes(m *sharding.Manifest) (notes []string) {
	if n := missingDownloads.Of(m.Counts); n > 0 {
		notes = append(notes, fmt.Sprintf("%d books of the catalogue have no plain text at the source", n))
	}
	return notes
}

// refuseEqual returns an error if different books have the same bytes, for example the
// login page of a network. It does not compare files with a published checksum. Files
// with the same name at different hosts may be equal, because they are mirrors.
// refuseEqual removes the equal files, so that the next run downloads them again.
func (w *downloadWorker) refuseEqual(ctx context.Context, results []stage.Result) error {
	equal := map[string][]sharding.FileEntry{} // by hash
	for _, r := range results {
		car, err := sharding.ReadSideCar(ctx, w.Folder, r.SideCar)
		if err != nil {
			return err
		}
		f := car.File
		if f.Origin == nil || f.Origin.Checksum != "" {
			continue
		}
		equal[f.SHA256] = append(equal[f.SHA256], f)
	}
	var refused error
	for _, files := range equal {
		other := slices.IndexFunc(files, func(f sharding.FileEntry) bool { return !sameSource(*f.Origin, *files[0].Origin) })
		if other < 0 {
			continue
		}
		if err := w.forget(ctx, files...); err != nil {
			return err
		}
		refused = fmt.Errorf("%w: %s and %s have the same %d bytes, though they are different files: open their addresses in a browser, because a network or site may ask you to log in, or download only one of them",
			download.ErrRefused, files[0].Name, files[other].Name, files[0].Bytes)
	}
	return refused
}

// sameSource reports whether two origins are the same file: their URLs are equal, or are
// on different hosts and end in the same name.
func sameSource(a, b sharding.Origin) bool {
	if a.URL == b.URL {
		return a.URLSHA256 == b.URLSHA256
	}
	u, err := url.Parse(a.URL)
	if err != nil {
		return false
	}
	v, err := url.Parse(b.URL)
	return err == nil && u.Host != v.Host && path.Base(u.Path) == path.Base(v.Path)
}

// forget removes downloaded files, each after its side-car was removed.
func (w *downloadWorker) forget(ctx context.Context, files ...sharding.FileEntry) error {
	for _, f := range files {
		for _, name := range []string{f.Name + sharding.SideCarSuffix, f.Name} {
			if err := w.Fence(ctx); err != nil {
				return err
			}
			if err := w.Folder.Remove(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}
