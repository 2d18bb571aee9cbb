package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/sharding"
	"pretext/sharding/examples"
)

// A Remake selects shards that [Dataset] makes again from their documents, to compare the
// records. The zero value selects none.
type Remake struct {
	Shards    int      // number of shards in each folder, drawn with Seed; negative: all
	Seed      int64    // seed for drawing the shards
	Documents []string // paths of documents folders outside the data set
	Memory    int64    // memory for making shards in bytes; 0: 600 MB
}

// A remakeSource is a folder of shards, in any format, and the documents of its shards.
type remakeSource struct {
	stage     *sharding.Stage
	manifest  *sharding.Manifest
	made      sharding.ExamplesOptions
	split     string // the split in the folder, if there is only one; "" for all splits
	documents []string
	tasks     func(ctx context.Context, shard int) (sharding.ShardTask, error)
	parts     map[string]examples.Part // by shard name
}

// sources finds the documents of the shards in a data set, if any shards are to be made
// again. It runs before all checks. added are the documents folders that the user named,
// which are to be checked too. It omits shards beside which there are only documents
// of other shards: chain reports these. If documents are missing, the error is a usage
// error.
func (v *verifier) sources(ctx context.Context, path string, stages []*sharding.Stage) (sources []*remakeSource, added []*sharding.Stage, err error) {
	if v.opts.Remake.Shards == 0 {
		return nil, nil, nil
	}
	f := &remakeFinder{}
	if added, err = f.find(ctx, stages, v.opts.Remake.Documents); err != nil {
		return nil, nil, err
	}
	for _, s := range f.all {
		var source *remakeSource
		switch s.manifest.Stage {
		case sharding.StageExamples:
			source, err = f.ofShards(ctx, s)
		case sharding.StageConvert:
			source, err = f.ofConverted(ctx, s)
		default:
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		f.skipped = f.skipped || source == nil
		if source != nil {
			sources = append(sources, source)
		}
	}
	if len(sources) == 0 && !f.skipped {
		return nil, nil, failure.Usagef("%s: no shards in it that can be made again: give a run or a folder of shards, or leave out --remake", path)
	}
	return sources, added, nil
}

// A madeFolder is a folder with its manifest and the hash of the manifest.
type madeFolder struct {
	folderManifest
	sum string
}

// A remakeFinder finds the documents of shards.
type remakeFinder struct {
	all   []madeFolder // folders of the data set, then those that the user named
	given []madeFolder // folders that the user named, in this order

	corrupt bool // a manifest is corrupt, so all may lack a documents folder that exists
	skipped bool // a folder will be reported instead of made again
}

// find reads the manifests of the stages of a data set, and of the documents folders at paths.
// It returns those of the folders that are not among the stages.
func (f *remakeFinder) find(ctx context.Context, stages []*sharding.Stage, paths []string) (added []*sharding.Stage, err error) {
	for _, s := range stages {
		if _, err := f.add(ctx, s); err != nil {
			return nil, err
		}
	}
	for _, path := range paths {
		d, err := sharding.Open(ctx, path)
		if err != nil {
			return nil, err
		}
		named, err := d.Stages(ctx)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(named, func(s *sharding.Stage) bool { return s.Name == "." })
		if at < 0 {
			return nil, failure.Usagef("--documents %s: no folder of documents: name the folder with their %s", path, sharding.ManifestName)
		}
		s := named[at]
		here := slices.IndexFunc(f.all, func(have madeFolder) bool { return store.Absolute(have.String()) == store.Absolute(s.String()) })
		if here >= 0 {
			f.given = append(f.given, f.all[here])
			continue
		}
		added = append(added, s)
		m, err := f.add(ctx, s)
		if err != nil {
			return nil, err
		}
		if m != nil && len(m.manifest.DocumentsFiles()) == 0 {
			return nil, failure.Usagef("--documents %s: it contains the output of stage %q, want a folder of documents", path, m.manifest.Stage)
		}
		if m != nil {
			f.given = append(f.given, *m)
		}
	}
	return added, nil
}

// add reads the manifest of a stage. It returns nil if the manifest is corrupt.
func (f *remakeFinder) add(ctx context.Context, s *sharding.Stage) (*madeFolder, error) {
	m, err := sharding.ReadManifest(ctx, s)
	if errors.Is(err, sharding.ErrFormat) {
		f.corrupt, f.skipped = true, true
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	in, err := sharding.ManifestInput(ctx, s)
	if err != nil {
		return nil, err
	}
	f.all = append(f.all, madeFolder{folderManifest{s, m}, in.SHA256})
	return &f.all[len(f.all)-1], nil
}

// documents returns the documents folders in f.all.
func (f *remakeFinder) documents() (list []madeFolder) {
	return slices.DeleteFunc(slices.Clone(f.all), func(s madeFolder) bool { return len(s.manifest.DocumentsFiles()) == 0 })
}

// ofShards finds the documents of a folder of TFRecord shards. It returns nil if the
// documents in the data set are those of other shards, or if a manifest is corrupt.
func (f *remakeFinder) ofShards(ctx context.Context, s madeFolder) (*remakeSource, error) {
	source := &remakeSource{stage: s.Stage, manifest: s.manifest}
	if err := s.manifest.DecodeOptions(s, &source.made); err != nil {
		return nil, err
	}
	wanted := 0
	for _, in := range s.manifest.Inputs {
		if in.Name != sharding.ManifestName {
			continue
		}
		wanted++
		for _, d := range f.documents() {
			if d.sum == in.SHA256 {
				source.documents = append(source.documents, d.String())
				break
			}
		}
	}
	switch found := len(source.documents); {
	case wanted == 0:
		return nil, failure.Usagef("%s: not made of folders of documents, so its shards cannot be made again: leave out --remake", s)
	case found == wanted:
	case f.corrupt:
		return nil, nil
	case len(f.given) > 0:
		return nil, failure.Usagef("%s: made of other documents than those that --documents names: name the folders whose %s has the hashes in its manifest", s, sharding.ManifestName)
	case found == 0 && len(f.documents()) > 0:
		return nil, nil // reported by chain
	default:
		return nil, failure.Usagef("%s: the documents from which it was made are not next to it (%d of %d folders are missing): give their folders with --documents DIR", s, wanted-found, wanted)
	}
	if source.made.NSPNegatives != "" && s.manifest.Algorithm < sharding.NegativesAlgorithm {
		return nil, failure.Usagef("%s: made by version %d of the stage with --nsp-negatives corpus, which this program does not make any more, so its shards cannot be made again: make the data again, or leave out --remake", s, s.manifest.Algorithm)
	}
	source.tasks = func(ctx context.Context, shard int) (t sharding.ShardTask, err error) {
		return t, sharding.ReadTask(ctx, s, shard, &t)
	}
	return source, source.findParts(ctx)
}

// findParts lists the shards in the folder.
func (r *remakeSource) findParts(ctx context.Context) error {
	parts, err := examples.Of(ctx, r.stage, r.manifest)
	if err != nil {
		return err
	}
	r.parts = map[string]examples.Part{}
	for _, p := range parts {
		stem, _, _ := strings.Cut(store.Base(p.Path), ".")
		r.parts[stem] = p
	}
	return nil
}

// tokenizer reads the vocabulary in the folder. It returns nil if that file is missing,
// corrupt or not the vocabulary of the records; the check of the file reports that.
func (r *remakeSource) tokenizer(ctx context.Context) (*sharding.Tokenizer, error) {
	name := r.made.TokenFile()
	raw, err := store.ReadFile(ctx, r.stage, name)
	if errors.Is(err, fs.ErrNotExist) && slices.ContainsFunc(r.manifest.Files, func(e sharding.FileEntry) bool { return e.Name == name }) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.stage, err)
	}
	t, err := sharding.NewTokenizer(name, raw, r.made)
	if errors.Is(err, sharding.ErrDamaged) {
		return nil, nil
	}
	return t, err
}
