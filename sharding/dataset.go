package sharding

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

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
	SignaturesFolder = "signatures" // text signatures, by which a filter finds duplicates; also the name of that stage
	PairsFolder      = "pairs"      // pairs of similar documents; also the name of that stage
	MixFolder        = "mix"        // token counts of all documents, for a [Mix]; also the name of that stage
	TemplatesFolder  = "templates"  // template definitions from dumps; also the name of that stage
)

// A Dataset describes a path: the stage folders of a run or of one stage, TFRecord files
// without a manifest, or both. [Open] returns it.
type Dataset struct {
	Path    string
	Stages  []*Stage // finished or not, in the order of data flow
	Records []string // paths of TFRecord files without a manifest, sorted by name
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
}

// Path returns the path of a file of the stage.
func (s *Stage) Path(name string) string { return store.Join(s.String(), name) }

// Open returns the data set at a path. Every command finds its input this way:
//
//	a file                                 one TFRecord file
//	a directory with a manifest or plan    a stage's folder, and stage folders inside
//	a directory of such directories        a run
//	any other directory                    its TFRecord files, see [IsRecords]
//
// It reads manifests, plans and the first bytes of a single file, and does not validate
// them. A file that is clearly something else is a usage error, and so is a directory with
// none of these, which matches [ErrUnfinished].
func Open(ctx context.Context, location string) (*Dataset, error) {
	d := &Dataset{Path: location}
	info, err := store.Stat(ctx, location)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		d.Records = []string{location}
		return d, notData.Check(ctx, location)
	}
	entries, err := store.ReadDir(ctx, location) // sorted by name
	if err != nil {
		return nil, err
	}
	root, err := store.Open(location)
	if err != nil {
		return nil, err
	}
	isStage := d.add(ctx, root, ".")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		for _, name := range []string{"", ImportedFolder, PairsFolder, SignaturesFolder, MixFolder, TemplatesFolder, Train, Eval, ValFolder} {
			d.add(ctx, root, path.Join(e.Name(), name))
		}
		if !isStage && !e.IsDir() && IsRecords(e.Name()) {
			d.Records = append(d.Records, store.Join(location, e.Name()))
		}
	}
	known := slices.ContainsFunc(d.Stages, func(s *Stage) bool { return s.Stage != "" })
	if !known && len(d.Records) == 0 {
		if err := noData(ctx, location); len(d.Stages) == 0 || isModel(ctx, location) {
			return nil, err
		}
	}
	slices.SortStableFunc(d.Stages, func(a, b *Stage) int {
		return cmp.Or(cmp.Compare(stageRank(a.Stage), stageRank(b.Stage)), cmp.Compare(a.Name, b.Name))
	})
	return d, nil
}

// add adds the directory name to d if it contains a manifest or plan, and reports whether
// it does. A corrupt manifest or plan also counts: reading it later returns the error.
func (d *Dataset) add(ctx context.Context, root store.Folder, name string) (found bool) {
	folder := root.Folder(name)
	s := &Stage{Folder: folder, Name: name}
	for _, file := range []string{PlanName, ManifestName} { // if both exist, the manifest determines the stage
		if _, err := folder.Stat(ctx, file); err != nil {
			continue
		}
		found = true
		var recipe struct {
			Stage string `json:"stage"`
		}
		if raw, err := store.ReadFile(ctx, folder, file); err == nil && json.Unmarshal(raw, &recipe) == nil {
			s.Stage = cmp.Or(recipe.Stage, s.Stage)
		}
	}
	if !found {
		return false
	}
	s.Stage = cmp.Or(s.Stage, map[string]string{"sources": "download", DocumentsFolder: "extract", "vocab": "vocab", ShardsFolder: StageExamples}[path.Base(name)])
	d.Stages = append(d.Stages, s)
	return true
}

// Shards returns the stage folder that contains the shards: the data set itself, the
// folder named "shards", or the only folder of shards. If the path is the folder of
// another stage, Shards returns that folder, so that its manifest explains the error. If
// there is none of these, the error matches [ErrNoShards].
func (d *Dataset) Shards() (*Stage, error) {
	var found []*Stage
	var names []string
	for _, s := range d.Stages {
		if s.Stage == StageExamples {
			if s.Name == "." || s.Name == ShardsFolder {
				return s, nil
			}
			found, names = append(found, s), append(names, s.Name)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if i := slices.IndexFunc(d.Stages, func(s *Stage) bool { return s.Name == "." }); i >= 0 {
		return d.Stages[i], nil
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("%s %w itself: name one of the folders in it: %s", d.Path, ErrNoShards, strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("%s %w", d.Path, ErrNoShards)
}

// Data returns the stages that contain documents, records or other results. It omits the
// intermediate stages of extraction, filters and mixes, unless the data set's path is the
// folder of an intermediate stage.
func (d *Dataset) Data() (stages []*Stage) {
	for _, s := range d.Stages {
		if s.Name == "." || s.Stage != SignaturesFolder && s.Stage != PairsFolder && s.Stage != MixFolder && s.Stage != TemplatesFolder {
			stages = append(stages, s)
		}
	}
	return stages
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
