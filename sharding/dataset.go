package sharding

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"

	"pretext/internal/failure"
	"pretext/internal/store"
)

// StageExamples is the name of the stage in the manifest of a folder of shards.
const StageExamples = "examples"

// Names of directories in a run.
const (
	DocumentsFolder = "documents"
	ShardsFolder    = "shards"
)

// Directories inside a stage's directory, see docs/file-format.md. Each is a finished
// stage folder itself.
const (
	ImportedFolder   = "imported"   // documents converted from third-party files
	LinesFolder      = "lines"      // lines of documents, by which a filter finds repeated ones; also the name of that stage
	SignaturesFolder = "signatures" // text signatures, by which a filter finds duplicates; also the name of that stage
	PairsFolder      = "pairs"      // pairs of similar documents; also the name of that stage
	MixFolder        = "mix"        // token counts of all documents, for a [Mix]; also the name of that stage
	TemplatesFolder  = "templates"  // template definitions from dumps; also the name of that stage
)

// A Dataset describes a path: the stage folders of a run or of one stage, TFRecord files
// without a manifest, or both. [Open] returns it. It is not safe for concurrent use.
type Dataset struct {
	Path    string
	Records []string // paths of TFRecord files without a manifest, sorted by name

	found    []*Stage // stages found so far
	pending  []*Stage // folders whose subfolders are not known yet; not all are stages
	complete bool     // found has all stages
}

// A Stage is the directory of one stage. It is a [Folder], so the functions
// that take a Folder read its manifest, plan and side-cars:
//
//	m, err := sharding.ReadManifest(ctx, stage)
//	for _, f := range m.RecordFiles() {
//		body, err := sharding.ReadShardBody(ctx, stage, f.Name)
type Stage struct {
	Folder
	Name  string // directory relative to the dataset's path, with slashes; "." for the path itself
	Stage string // name of the stage: from the manifest or plan, else guessed from Name; "" if unknown

	isStage  bool           // it has a manifest or plan
	manifest []byte         // content of the manifest when [Open] found the stage; nil if it is large
	entries  []fs.DirEntry  // all files and subfolders, if a listing had them; nil: unknown
	listing  *store.Listing // the beginning of the listing; nil: unknown
}

// Path returns the path of a file of the stage.
func (s *Stage) Path(name string) string { return store.Join(s.String(), name) }

// keptManifest is the size of the largest manifest that a [Stage] keeps in memory: of a few
// thousand shards.
const keptManifest = 1 << 20

// Open opens a file of the stage. The manifest has the content that it had when the
// [Dataset] was opened: a stage has found its manifest with a request, which need not be
// repeated.
func (s *Stage) Open(ctx context.Context, name string) (File, error) {
	if name == ManifestName && s.manifest != nil {
		return keptFile{bytes.NewReader(s.manifest)}, nil
	}
	return s.Folder.Open(ctx, name)
}

// OpenAt opens a file of the stage of which the n bytes from off on are read next, in order.
// With an object store it takes one request less than Open.
func (s *Stage) OpenAt(ctx context.Context, name string, off, n int64) (File, error) {
	if name == ManifestName && s.manifest != nil {
		return s.Open(ctx, name)
	}
	return store.OpenAt(ctx, s.Folder, name, off, n)
}

// A keptFile is a file in memory.
type keptFile struct{ *bytes.Reader }

func (keptFile) Close() error { return nil }

// Open returns the data set at a path. Every command finds its input this way:
//
//	a file                                 one TFRecord file
//	a directory with a manifest or plan    a stage's folder, and stage folders inside
//	a directory of such directories        a run
//	any other directory                    its TFRecord files, see [IsRecords]
//
// It reads the beginning of manifests, plans and of a single file, and does not validate
// them. A file that is clearly something else is a usage error, and so is a directory with
// none of these, which matches [ErrUnfinished].
//
// The number of requests to an object store does not depend on the number of shards: of the
// folder of a stage, only the first page is listed.
func Open(ctx context.Context, location string) (*Dataset, error) {
	d := &Dataset{Path: location}
	root, err := store.Open(location)
	if err != nil {
		return nil, err
	}
	listing, err := store.List(ctx, location)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		listing = nil // the folder may be readable without its listing
	}
	var entries []fs.DirEntry
	if listing != nil && listing.All {
		if entries = listing.Entries; len(entries) == 0 {
			return d.single(ctx, &fs.PathError{Op: "list", Path: location, Err: fs.ErrNotExist})
		}
	}
	self, err := look(ctx, root, ".", entries)
	switch {
	case err != nil:
		return nil, err
	case self.isStage && self.Stage != "": // checkpoints have manifests too, which name no stage
		self.listing = listing
		d.found, d.pending = []*Stage{self}, []*Stage{self}
		return d, nil
	}
	if entries, err = wholeListing(ctx, location, listing); err != nil {
		return d.single(ctx, err)
	}
	if self.isStage {
		d.found = []*Stage{self}
	} else {
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") && !e.IsDir() && IsRecords(e.Name()) {
				d.Records = append(d.Records, store.Join(location, e.Name()))
			}
		}
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && isRemote(location) && maybeHides(e.Name(), entries) {
			return nil, hides(store.Join(location, e.Name()))
		}
		if !e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	if err := d.inside(ctx, root, ".", names); err != nil {
		return nil, err
	}
	if d.known() || len(d.Records) > 0 {
		return d, nil
	}
	if _, err := d.Stages(ctx); err != nil { // stages one level deeper, as in the folder of a conversion
		return nil, err
	}
	if err := noData(ctx, location); !d.known() && (len(d.found) == 0 || isModel(ctx, location)) {
		return nil, err
	}
	return d, nil
}

// wholeListing returns the files and subfolders of a folder, sorted by name. listing is the
// beginning of its listing, or nil.
func wholeListing(ctx context.Context, location string, listing *store.Listing) ([]fs.DirEntry, error) {
	if listing != nil {
		return listing.Whole(ctx)
	}
	return store.ReadDir(ctx, location)
}

// single returns d as the data set of a single file. err is the error of listing its path,
// which is returned if that is no file.
func (d *Dataset) single(ctx context.Context, err error) (*Dataset, error) {
	info, statErr := store.Stat(ctx, d.Path)
	switch {
	case statErr != nil:
		return nil, statErr
	case info.IsDir():
		return nil, err
	}
	if isRemote(d.Path) && info.Size() == 0 && !IsRecords(store.Base(d.Path)) {
		return nil, hides(d.Path)
	}
	d.Records, d.complete = []string{d.Path}, true
	return d, notData.Check(ctx, d.Path)
}

// isRemote reports whether a location is in an object store.
func isRemote(location string) bool {
	_, local := store.Locate(location).Local()
	return !local
}

// maybeHides reports whether an object beside entries has the name of a folder of a run. One
// named vocab may be anything, unless there is a run.
func maybeHides(name string, entries []fs.DirEntry) bool {
	data := func(name string) bool { return name == DocumentsFolder || name == ShardsFolder }
	return data(name) || name == "vocab" && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() && data(e.Name()) })
}

// hides returns the error for an object that has, or may have, the name of a folder. An
// object store allows both, and some programs create such objects for the folders that they
// show. But some stores, such as MinIO, then list nothing of the folder, which would be left
// out of the data set without a message.
func hides(location string) error {
	return failure.Usagef("%s is an object with the name of a folder, which it can hide: remove the object, and what is below %s/ stays", location, location)
}

// known reports whether a stage with a known name has been found.
func (d *Dataset) known() bool {
	return slices.ContainsFunc(d.found, func(s *Stage) bool { return s.Stage != "" })
}

// Stages returns all stages, finished or not, in the order of data flow. Unlike [Open], it
// lists a part of the folders of stages, to find stages inside them.
func (d *Dataset) Stages(ctx context.Context) ([]*Stage, error) { return d.stages(ctx, false) }

// ListStages is [Dataset.Stages] for a caller that asks for the [Stage.FileNames] of all
// stages: it lists the folders in an object store once.
func (d *Dataset) ListStages(ctx context.Context) ([]*Stage, error) { return d.stages(ctx, true) }

func (d *Dataset) stages(ctx context.Context, list bool) ([]*Stage, error) {
	if d.complete {
		return d.found, nil
	}
	for len(d.pending) > 0 {
		s := d.pending[0]
		names, err := s.subfolders(ctx, list)
		if err != nil {
			return nil, err
		}
		d.pending = d.pending[1:]
		if err := d.inside(ctx, s.Folder.(store.Folder), s.Name, names); err != nil {
			return nil, err
		}
	}
	d.complete = true
	slices.SortStableFunc(d.found, func(a, b *Stage) int {
		return cmp.Or(cmp.Compare(stageRank(a.Stage), stageRank(b.Stage)), cmp.Compare(a.Name, b.Name))
	})
	return d.found, nil
}

// Names of the folders that a folder of shards, any stage and the folder of a conversion may
// have inside, sorted.
var (
	insideShards     = []string{ImportedFolder, MixFolder}
	insideStage      = []string{ImportedFolder, LinesFolder, MixFolder, PairsFolder, SignaturesFolder, TemplatesFolder}
	insideConversion = []string{Eval, ImportedFolder, LinesFolder, MixFolder, PairsFolder, SignaturesFolder, TemplatesFolder, Train, ValFolder}
)

// subfolders returns the names of the folders inside s that may be stages. These may be any
// in the path of a data set: a conversion has the name that its user gave it. With whole, it
// keeps the entries of a folder in an object store.
func (s *Stage) subfolders(ctx context.Context, whole bool) (found []string, err error) {
	names := insideConversion
	switch {
	case s.Stage == StageExamples:
		names = insideShards
	case s.Stage != "" && s.Stage != StageConvert:
		names = insideStage
	}
	_, local := store.Locate(s.String()).Local()
	entries := s.entries
	switch {
	case entries != nil:
	case s.listing != nil && s.Stage == StageExamples && !whole:
		return s.foldersBetweenShards(ctx)
	case s.Name == "." || whole && !local:
		entries, err = wholeListing(ctx, s.String(), s.listing)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ENOTDIR) {
			return nil, err
		}
		if whole && !local {
			s.entries = entries
		}
	}
	if entries == nil && s.Name != "." {
		return store.Subfolders(ctx, s.Folder.(store.Folder), names)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() && s.mayBeStage(e.Name()) && (s.Name == "." || slices.Contains(names, e.Name())) {
			found = append(found, e.Name())
		}
	}
	return found, nil
}

// mayBeStage reports whether a folder inside s may be that of another stage.
func (s *Stage) mayBeStage(name string) bool {
	return !strings.HasPrefix(name, ".") && !(s.isStage && name == PlanFolder)
}

// foldersBetweenShards returns the names of the folders inside a folder of shards, without
// listing all shards. A folder whose name begins like that of a shard is not found.
func (s *Stage) foldersBetweenShards(ctx context.Context) ([]string, error) {
	names, err := s.listing.Folders(ctx, func(name string) string {
		n, ok := ParseShardName(name)
		if !ok {
			return ""
		}
		n.Index = n.Count - 1
		return n.String() + "/" // sorts after the names of the last shard's files
	})
	return slices.DeleteFunc(names, func(name string) bool { return !s.mayBeStage(name) }), err
}

// FileNames returns the names of the files in the stage's folder, sorted, without temporary
// files and subfolders.
func (s *Stage) FileNames(ctx context.Context) (names []string, err error) {
	for _, e := range s.entries {
		if !e.IsDir() && !store.Hidden(e.Name()) {
			names = append(names, e.Name())
		}
	}
	if s.entries != nil {
		return names, nil
	}
	infos, err := s.Folder.(store.Folder).List(ctx)
	for _, info := range infos {
		names = append(names, info.Name())
	}
	return names, err
}

// inside looks into the subfolders of a folder with the given names.
func (d *Dataset) inside(ctx context.Context, folder store.Folder, name string, names []string) error {
	stages := make([]*Stage, len(names))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(looks)
	for i, sub := range names {
		g.Go(func() (err error) {
			stages[i], err = look(ctx, folder.Folder(sub), path.Join(name, sub), nil)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, s := range stages {
		if s.isStage {
			d.found = append(d.found, s)
		}
		if name == "." {
			d.pending = append(d.pending, s)
		}
	}
	return nil
}

// looks is the number of folders that are looked into at once: it hides the latency of an
// object store, and takes few connections.
const looks = 16

// look describes the folder name of a data set. It is a stage if it has a manifest or plan;
// if it has both, the manifest determines the name of the stage. A manifest or plan that
// cannot be read also counts: reading it later returns the error. entries are all entries of
// the folder, so that nothing is asked for that does not exist; nil: unknown.
func look(ctx context.Context, folder store.Folder, name string, entries []fs.DirEntry) (*Stage, error) {
	s := &Stage{Folder: folder, Name: name, entries: entries}
	for _, file := range []string{ManifestName, PlanName} {
		if entries != nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == file && !e.IsDir() }) {
			continue
		}
		f, err := store.OpenAt(ctx, folder, file, 0, keptManifest)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
			continue
		case err == nil:
			s.learn(f, file)
			f.Close()
		}
		s.isStage = true
		if s.Stage != "" {
			return s, nil
		}
	}
	if s.isStage {
		s.Stage = map[string]string{"sources": "download", DocumentsFolder: "extract", "vocab": "vocab", ShardsFolder: StageExamples}[path.Base(name)]
	}
	return s, nil
}

// learn takes the name of the stage from its open manifest or plan, and keeps a small
// manifest.
func (s *Stage) learn(f File, name string) {
	all := io.NewSectionReader(f, 0, f.Size())
	if name == ManifestName && f.Size() <= keptManifest {
		if b, err := io.ReadAll(all); err == nil {
			s.manifest = b
			s.Stage = stageOf(bytes.NewReader(b))
			return
		}
	}
	s.Stage = stageOf(all)
}

// stageOf returns the name of the stage in a manifest or plan, or "". The name is among the
// first fields, so that large manifests are not read as a whole.
func stageOf(r io.Reader) (stage string) {
	in := json.NewDecoder(r)
	if start, err := in.Token(); err != nil || start != json.Delim('{') {
		return ""
	}
	for in.More() {
		name, err := in.Token()
		var other json.RawMessage
		switch {
		case err != nil:
			return ""
		case name == "stage":
			in.Decode(&stage) //nolint:errcheck // of another type: no name
			return stage
		case in.Decode(&other) != nil:
			return ""
		}
	}
	return ""
}

// Shards returns the stage folder that contains the shards: the data set itself, the
// folder named "shards", or the only folder of shards. If the path is the folder of
// another stage, Shards returns that folder, so that its manifest explains the error. If
// there is none of these, the error matches [ErrNoShards].
func (d *Dataset) Shards(ctx context.Context) (*Stage, error) {
	for _, s := range d.found {
		if s.Stage == StageExamples && (s.Name == "." || s.Name == ShardsFolder) {
			return s, nil
		}
	}
	stages, err := d.Stages(ctx)
	if err != nil {
		return nil, err
	}
	var found []*Stage
	var names []string
	for _, s := range stages {
		if s.Stage == StageExamples {
			found, names = append(found, s), append(names, s.Name)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if i := slices.IndexFunc(stages, func(s *Stage) bool { return s.Name == "." }); i >= 0 {
		return stages[i], nil
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("%s %w itself: name one of the folders in it: %s", d.Path, ErrNoShards, strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("%s %w", d.Path, ErrNoShards)
}

// Data returns the stages that contain documents, records or other results. It omits the
// intermediate stages of extraction, filters and mixes, unless the data set's path is the
// folder of an intermediate stage.
func (d *Dataset) Data(ctx context.Context) (stages []*Stage, err error) {
	all, err := d.Stages(ctx)
	for _, s := range all {
		if s.Name == "." || s.Stage != LinesFolder && s.Stage != SignaturesFolder && s.Stage != PairsFolder && s.Stage != MixFolder && s.Stage != TemplatesFolder {
			stages = append(stages, s)
		}
	}
	return stages, err
}

// stageRank returns the position of a stage in the data flow. A stage that is
// not part of pretext is assumed to turn documents into documents.
func stageRank(stage string) int {
	order := []string{"download", "extract", "", "vocab", StageExamples, StageConvert}
	if i := slices.Index(order, stage); i >= 0 {
		return i
	}
	return slices.Index(order, "")
}

// DefinitionsFile returns the name of the index file in [TemplatesFolder] for one dump's
// template definitions. source identifies the dump, as in the names of its documents
// files.
func DefinitionsFile(source string) string { return TemplatesFolder + "-" + source + ".definitions" }
