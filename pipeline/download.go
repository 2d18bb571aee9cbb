package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"pretext/counts"
	"pretext/extract/download"
	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// downloadAlgorithm is the version of the download stage. It is raised if the same
// requests and server lists would select different files.
const downloadAlgorithm = 1

// downloadsAtOnce is the number of concurrent downloads. Most of them wait for one of the
// few connections to their host. The number is large so that downloads from one host do
// not block downloads from another.
const downloadsAtOnce = 128

// DownloadOptions are the options that determine which files are downloaded.
type DownloadOptions struct {
	Requests []download.Request `json:"requests"`
}

// DownloadConfig configures [Download].
type DownloadConfig struct {
	stage.Target
	Requests []download.Request
	Client   download.Options // does not affect the downloaded bytes
}

// downloadWork contains the options of download workers.
type downloadWork struct {
	Client download.Options
	// Addresses maps the SHA-256 of a URL to the full URL, which may contain secrets. The
	// stage writes only redacted URLs to files.
	Addresses map[string]string
}

// Counts of a download directory.
var (
	downloads           = counts.Declare("downloads", counts.About{Label: "files downloaded", In: counts.Summary, Meaning: "files that were downloaded"})
	downloadBytes       = counts.Declare("download_bytes", counts.About{Label: "bytes downloaded", Unit: counts.Bytes, In: counts.Summary, Meaning: "their bytes"})
	unverifiedDownloads = counts.Declare("unverified_downloads", counts.About{Label: "files without a published checksum", In: counts.Summary, Sparse: true,
		Meaning: "those without a published checksum; absent if 0"})
	missingDownloads = counts.Declare("missing_downloads", counts.About{Label: "files missing at the source", In: counts.Summary,
		Meaning: "books of a catalogue that have no text"})
)

func init() {
	stage.Register(stage.Definition{
		Name:      "download",
		Algorithm: downloadAlgorithm,
		New:       stage.New(func(env *stage.Env, work downloadWork) stage.Worker { return &downloadWorker{env, work} }),
		Clear:     removeDownloads,
		Counts:    []counts.Count{downloads, downloadBytes, unverifiedDownloads, missingDownloads},
	})
}

// A downloadTask is the plan of a task: the file to download.
type downloadTask struct {
	File download.File `json:"file"`
}

// Download downloads raw sources to OUT/, each under its own name. Requests such as "the
// newest" are resolved once and stored in the plan. A later run with the same requests
// uses the stored files, unless Overwrite is set.
func Download(ctx context.Context, r stage.Runner, c DownloadConfig) (*sharding.Manifest, error) {
	if err := c.validate(); err != nil {
		return nil, failure.Usage(err)
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
		r.Workers = max(r.Workers, downloadsAtOnce)
		r.Cluster.Parallelism = 1 // a single worker process, because the limits for each host apply to a process
		m, err := stage.RunIn(ctx, folder, r, stage.Config{Target: c.Target, Stage: "download", Options: plan.options, Inputs: plan.inputs, Paths: requests,
			Work: downloadWork{Client: c.Client, Addresses: c.addresses()}, Tasks: plan.tasks(), Total: plan.bytes})
		if err == nil && downloads.Of(m.Counts) == 0 {
			err = fmt.Errorf("%w: none of the %d requested files exists", download.ErrNotFound, len(plan.files))
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

// addresses maps the SHA-256 of each requested URL to the full URL, if the URL may
// contain secrets.
func (c DownloadConfig) addresses() map[string]string {
	whole := map[string]string{}
	for _, q := range c.Requests {
		if sum := q.Redacted().URLSHA256; sum != "" {
			whole[sum] = q.URL
		}
	}
	return whole
}

// A downloadPlan lists the files selected by the requests.
type downloadPlan struct {
	options json.RawMessage
	inputs  []sharding.Input
	files   []download.File
	bytes   int64 // total size of the files; some sizes are estimated, unknown ones count as 0
}

func (p *downloadPlan) tasks() sharding.TaskList {
	return sharding.TaskList{Len: len(p.files), Plan: func(i int) any { return downloadTask{p.files[i]} }}
}

// planDownload returns the plan of an earlier run with the same requests. If there is
// none, it asks the servers which files the requests select.
func planDownload(ctx context.Context, folder store.Folder, c DownloadConfig) (*downloadPlan, error) {
	written := make([]download.Request, len(c.Requests))
	for i, q := range c.Requests {
		written[i] = q.Redacted()
	}
	options, err := json.Marshal(DownloadOptions{written})
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
		return nil, failure.Usage(err)
	}
	defer client.Close()
	p := &downloadPlan{options: options, inputs: []sharding.Input{}}
	for _, q := range c.Requests {
		list, err := client.Resolve(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, f := range list.Files {
			p.files = append(p.files, f.Redacted())
		}
		for _, in := range list.Indices {
			p.inputs = append(p.inputs, sharding.Input(in))
		}
	}
	nameDownloads(p.files)
	return p, p.measure(ctx, client, c.addresses())
}

// nameDownloads gives every file a unique name, different from the names of the stage's
// own files such as side-cars.
func nameDownloads(files []download.File) {
	for i := range files {
		if f := &files[i]; strings.HasSuffix(f.Name, sharding.SideCarSuffix) || sharding.IsStageFile(f.Name) {
			f.Name = "file-" + f.Name + ".data"
		}
	}
	download.Distinct(files)
}

// earlierDownload returns the plan of an earlier run with the same requests, or nil if
// the directory has no plan. If the plan has other requests or belongs to another stage,
// the error is a [*stage.OptionsError].
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
		return nil, &stage.OptionsError{Folder: folder.String(), Differences: otherRequests(plan.Recipe, options)} // no servers are asked in this case
	}
	p := &downloadPlan{options: options, inputs: plan.Inputs}
	for i := range plan.Tasks {
		var t downloadTask
		if err := sharding.ReadTask(ctx, folder, i, &t); err != nil {
			return nil, err
		}
		p.files = append(p.files, t.File)
	}
	return p, p.measure(ctx, nil, nil)
}

// otherRequests describes the differences between the recipe in a directory and a
// download with the given options.
func otherRequests(old sharding.Recipe, options json.RawMessage) []string {
	var a, b DownloadOptions
	if old.Stage != "download" || old.Algorithm != downloadAlgorithm || json.Unmarshal(old.Options, &a) != nil || json.Unmarshal(options, &b) != nil {
		wanted := old
		wanted.Stage, wanted.Algorithm = "download", downloadAlgorithm
		return stage.Differences(old, wanted)
	}
	in := func(list []download.Request, q download.Request) bool {
		return slices.ContainsFunc(list, func(other download.Request) bool { return reflect.DeepEqual(q, other) })
	}
	var diffs []string
	for _, side := range []struct {
		verb       string
		list, from []download.Request
	}{{"no more", a.Requests, b.Requests}, {"now also", b.Requests, a.Requests}} {
		var names []string
		for _, q := range side.list {
			if !in(side.from, q) {
				names = append(names, q.String())
			}
		}
		if len(names) > 3 {
			names = append(names[:3], fmt.Sprintf("%d others", len(names)-3))
		}
		if names != nil {
			diffs = append(diffs, side.verb+" "+strings.Join(names, ", "))
		}
	}
	if diffs == nil {
		diffs = []string{"the order of requests"}
	}
	return diffs
}

// typicalBook is the assumed size of a book in bytes of plain text: the 11,038 books of
// BooksCorpus have about 4.6 GB.
const typicalBook = 400e3

// measure adds up the sizes of the files in p.bytes. It asks servers for
// unknown sizes unless client is nil. addresses maps the SHA-256 of a redacted
// URL to the full URL.
func (p *downloadPlan) measure(ctx context.Context, client *download.Client, addresses map[string]string) error {
	for _, f := range p.files {
		n := f.Bytes
		if n == 0 && f.Kind == KindBooks && f.Checksum == "" {
			n = typicalBook
		}
		if n == 0 && client != nil {
			length, err := client.Length(ctx, revealed(f, addresses).URL)
			if err != nil && (ctx.Err() != nil || errors.Is(err, download.ErrNotFound) || errors.Is(err, download.ErrRefused)) {
				return err
			}
			n = length // 0 if the server does not report it
		}
		p.bytes += n
	}
	return nil
}

// checkSpace returns an error if the disk has too little space for the missing files.
func (p *downloadPlan) checkSpace(ctx context.Context, folder store.Folder) error {
	free, ok := freeSpace(folder.String())
	if !ok {
		return nil
	}
	need := p.bytes
	for _, f := range p.files {
		for _, name := range []string{f.Name, store.PartialName(f.Name)} {
			if info, err := folder.Stat(ctx, name); err == nil {
				need -= info.Size()
			}
		}
	}
	if need > free {
		return fmt.Errorf("download to %s: about %d MB are needed, %d MB are free: %w", folder, need/1e6, free/1e6, syscall.ENOSPC)
	}
	return nil
}
