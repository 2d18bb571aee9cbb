// Package verify checks a data set completely: every byte against the manifest,
// every document and record against its format and options, and the stages of a
// run against each other.
//
//	result, err := verify.Dataset(ctx, "data", verify.Options{Workers: 4})
//	if err != nil {
//		return err // a file could not be read
//	}
//	for _, problem := range result.Problems {
//		fmt.Println(problem)
//	}
package verify

import (
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/sharding"
)

// A Result is the result of [Dataset].
type Result struct {
	Folders   []string           `json:"folders,omitempty"`
	Files     int                `json:"files"`
	Bytes     int64              `json:"bytes"`
	Documents int64              `json:"documents"`
	Records   int64              `json:"records"`
	Repeated  int64              `json:"repeated"`         // number of records that also occur in an earlier file
	Remade    int                `json:"remade,omitempty"` // number of shards made again, see [Remake]
	Found     int                `json:"problem_count"`    // number of problems, listed or not
	Problems  []sharding.Problem `json:"problems"`         // the first problems, at most Options.MaxProblems
}

// OK reports whether there are no problems.
func (v *Result) OK() bool { return v.Found == 0 }

// Options configures [Dataset]. The zero value uses one goroutine and lists 100
// problems.
type Options struct {
	Workers     int    // number of files checked at the same time
	MaxProblems int    // maximum number of problems to list; all are counted
	Memory      int64  // memory for hashes of records in bytes; more hashes go to a file; 0: 64 MB
	Temp        string // folder for the file of hashes; "": the system's temporary folder

	// Remake selects the shards to make again from their documents.
	Remake Remake
}

func (o Options) normal() Options {
	o.Workers = max(1, o.Workers)
	if o.MaxProblems <= 0 {
		o.MaxProblems = 100
	}
	if o.Memory <= 0 {
		o.Memory = 64e6
	}
	if o.Remake.Memory <= 0 {
		o.Remake.Memory = 600e6
	}
	return o
}

// Dataset checks the data set at a path, see [sharding.Open]. It compares every byte with
// the manifest; every document and record with its format and options; side-cars, indexes
// and plans with their files; and the stages of a run with each other. The result lists
// the problems. An error means that Dataset could not read the data.
func Dataset(ctx context.Context, path string, o Options) (*Result, error) {
	o = o.normal()
	v := &verifier{opts: o, result: &Result{Problems: []sharding.Problem{}}}
	d, err := sharding.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	stages, err := d.ListStages(ctx)
	if err != nil {
		return nil, err
	}
	sources, added, err := v.sources(ctx, path, stages)
	if err != nil {
		return nil, err
	}
	if len(d.Records) > 0 {
		if err := v.bare(ctx, d.Records); err != nil {
			return nil, err
		}
	}
	var finished []folderManifest
	for _, s := range slices.Concat(stages, added) {
		m, err := v.folder(ctx, s)
		if err != nil {
			return nil, err
		}
		if m != nil {
			finished = append(finished, folderManifest{s, m})
		}
	}
	if err := v.chain(ctx, finished); err != nil {
		return nil, err
	}
	for _, s := range sources {
		if err := v.remake(ctx, s); err != nil {
			return nil, err
		}
	}
	return v.result, nil
}

// A verifier holds the state of one call of [Dataset].
type verifier struct {
	opts   Options
	result *Result
}

// findings are the problems of one file.
type findings struct {
	most  int // maximum number of problems to list
	found int
	list  []sharding.Problem
}

// take adds the problems of other to f.
func (f *findings) take(other findings) {
	f.found += other.found
	f.list = append(f.list, other.list[:min(len(other.list), f.most-len(f.list))]...)
}

func (f *findings) add(p sharding.Problem) {
	f.found++
	if len(f.list) < f.most {
		f.list = append(f.list, p)
	}
}

// A fileReport is the result of checking one file.
type fileReport struct {
	findings
	files              int
	bytes              int64
	documents, records int64
	scan               *recordScan // nil if the file contains no records
}

// take adds the report about a file in folder to the result. It turns the file
// names in the problems into paths.
func (v *verifier) take(folder string, r fileReport) {
	v.result.Files += r.files
	v.result.Bytes += r.bytes
	v.result.Documents += r.documents
	v.result.Records += r.records
	v.result.Found += r.found
	for _, p := range r.list {
		if len(v.result.Problems) == v.opts.MaxProblems {
			return
		}
		if folder != "" {
			p.File = store.Join(folder, p.File)
		}
		v.result.Problems = append(v.result.Problems, p)
	}
}

// problem adds a problem in a folder to the result.
func (v *verifier) problem(folder string, p sharding.Problem) {
	v.take(folder, fileReport{findings: findings{found: 1, list: []sharding.Problem{p}}})
}

// folder checks the folder of a stage. It returns the manifest, or nil if that is
// corrupt.
func (v *verifier) folder(ctx context.Context, s *sharding.Stage) (*sharding.Manifest, error) {
	path := s.String()
	v.result.Folders = append(v.result.Folders, path)
	folder, err := openStage(s)
	if err != nil {
		return nil, err
	}
	m, err := sharding.ReadManifest(ctx, folder)
	if newer := (*failure.Newer)(nil); errors.As(err, &newer) {
		return nil, err // a newer version wrote the folder, so it cannot be checked
	}
	if errors.Is(err, sharding.ErrFormat) {
		v.problem(path, sharding.Problem{File: sharding.ManifestName, Reason: err.Error()})
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	check, err := newFolderCheck(ctx, folder, m, v.opts)
	if err != nil {
		return nil, err
	}
	defer check.close()
	reports, err := check.files(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range reports {
		v.take(path, r)
	}
	whole, err := check.whole(ctx, reports)
	if err != nil {
		return nil, err
	}
	v.take(path, whole)
	v.result.Repeated += check.repeated
	return m, nil
}

// folder is [store.Folder], under a name that is not one of its methods.
type folder = store.Folder

// A stageFolder is the folder of a stage, of which small files are read once.
type stageFolder struct {
	folder
	stage *sharding.Stage
}

func openStage(s *sharding.Stage) (*stageFolder, error) {
	folder, err := store.Open(s.String())
	if err != nil {
		return nil, err
	}
	return &stageFolder{store.Cached(folder), s}, nil
}

func (f *stageFolder) Open(ctx context.Context, name string) (sharding.File, error) {
	return f.OpenAt(ctx, name, 0, store.ToEnd)
}

// OpenAt implements [store.OpenAt]. The stage may have the manifest in memory.
func (f *stageFolder) OpenAt(ctx context.Context, name string, off, n int64) (sharding.File, error) {
	if name == sharding.ManifestName {
		return f.stage.OpenAt(ctx, name, off, n)
	}
	return store.OpenAt(ctx, f.folder, name, off, n)
}

// files checks all files of the manifest, up to Workers files concurrently.
func (c *folderCheck) files(ctx context.Context) ([]fileReport, error) {
	reports := make([]fileReport, len(c.m.Files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.opts.Workers)
	for i, e := range c.m.Files {
		g.Go(func() (err error) {
			reports[i], err = c.file(ctx, i, e)
			return err
		})
	}
	return reports, g.Wait()
}

// bare checks TFRecord files without a manifest.
func (v *verifier) bare(ctx context.Context, paths []string) error {
	r := newRepeats(v.opts)
	defer r.close()
	reports := make([]fileReport, len(paths))
	g, groupCtx := errgroup.WithContext(ctx)
	g.SetLimit(v.opts.Workers)
	for i, path := range paths {
		g.Go(func() error {
			f, err := store.OpenPath(groupCtx, path)
			if err != nil {
				return err
			}
			defer f.Close()
			s := &recordScan{number: i, bare: true, repeats: r, findings: findings{most: v.opts.MaxProblems}, file: path}
			err = s.run(groupCtx, store.NewReader(f, 0))
			reports[i] = fileReport{findings: s.findings, files: 1, bytes: f.Size(), records: s.records, scan: s}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	copies, err := r.find(ctx, reports, func(i int) string { return paths[i] })
	if err != nil {
		return err
	}
	v.result.Repeated = r.between
	for i, report := range reports {
		for _, p := range copies[i] {
			report.add(p)
		}
		v.take("", report)
	}
	return nil
}

// strangers returns a problem for each file that is not in the manifest, except the files
// of forPeople. A third-party folder has no plan; there, only files that a reader would
// treat as data are reported.
func (c *folderCheck) strangers(ctx context.Context) (problems []sharding.Problem, err error) {
	names, err := c.folder.stage.FileNames(ctx)
	if err != nil {
		return nil, err
	}
	planned := slices.Contains(names, sharding.PlanName)
	for _, name := range names {
		switch name {
		case sharding.ManifestName, sharding.PlanName, sharding.RunName:
			continue
		}
		counts := planned || sharding.IsStageFile(name) || sharding.IsRecords(name)
		if slices.ContainsFunc(c.m.Parts(), func(p sharding.ManifestPart) bool { return p.Name == name }) {
			continue
		}
		if _, listed := c.index[name]; !listed && counts && !forPeople(name) {
			problems = append(problems, sharding.Problem{File: name, Reason: "not in the manifest: a file of another run?"})
		}
	}
	return problems, nil
}

// forPeople reports whether a file may be absent from the manifest: a hidden file, such
// as a lock or a partial download, or a description of the data for people. Readers never
// treat such files as data.
func forPeople(name string) bool {
	if strings.HasPrefix(name, ".") {
		return true
	}
	stem, suffix := name, ""
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		stem, suffix = name[:i], strings.ToLower(name[i:])
	}
	switch suffix {
	case ".md", ".html", ".pdf", ".png", ".svg":
		return true
	}
	return slices.Contains([]string{"LICENSE", "LICENCE", "NOTICE", "README", "SHA256SUMS"}, strings.ToUpper(stem)) && (suffix == "" || suffix == ".txt")
}
