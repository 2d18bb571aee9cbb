// Package convert is the stage that writes the examples of a folder of shards in
// the format of another library. One task converts one shard:
//
//	train-00003-of-00010.tfrecord  →  train-00003-of-00010.*  in the format
//	                                  train-00003-of-00010.json, the side-car
//
// and the end of the stage writes the index of formats that have one.
package convert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/formats"
	"pretext/sharding"
	"pretext/tokenize"
)

// algorithm is the version of the stage. It is raised when the same examples
// would give other bytes.
const algorithm = 1

// removeIndex removes the index of the format of a plan.
func removeIndex(ctx context.Context, folder store.Folder, plan *sharding.StagePlan) error {
	var o sharding.ConvertOptions
	if err := json.Unmarshal(plan.Options, &o); err != nil {
		return err
	}
	format, _ := formats.Get(o.Format)
	indexer, ok := format.(columns.Indexer)
	if !ok {
		return nil
	}
	name, _, err := indexer.Index(nil)
	if err != nil {
		return err
	}
	return folder.Remove(ctx, name)
}

// Config configures [Run].
type Config struct {
	stage.Target
	Shards string // path of the folder of shards
	Format string // one of [formats.Names]
	Split  string // the only split to convert; "" for all
}

// A task is the plan of one shard.
type task struct {
	File    string `json:"file"` // of records
	SHA256  string `json:"sha256"`
	Records int64  `json:"records"`
}

// stem returns the name of the shard.
func (t task) stem() string {
	stem, _, _ := strings.Cut(t.File, ".")
	return stem
}

func init() {
	stage.Register(stage.Definition{
		Name:      sharding.StageConvert,
		Algorithm: algorithm,
		New:       stage.New(func(env *stage.Env, o sharding.ConvertOptions) stage.Worker { return &worker{env, o} }),
		Clear:     removeIndex,
		Counts:    [][2]string{{"records", "examples"}, {"record_tokens", "tokens"}},
	})
}

// Directories returns a Config for each directory that c needs: OUT, or OUT/train
// and OUT/eval for two splits in a format that has one in a directory.
func (c Config) Directories(ctx context.Context) ([]Config, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	_, made, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	splits := made.Splits()
	if format, _ := formats.Get(c.Format); len(splits) == 1 || c.Split != "" || !oneSplit(format) {
		return []Config{c}, nil
	}
	var list []Config
	for _, split := range splits {
		one := c
		one.Target, one.Split = c.Target.In(split), split
		list = append(list, one)
	}
	return list, nil
}

func oneSplit(f columns.Format) bool {
	_, ok := f.(columns.SplitIndexer)
	return ok
}

// open reads the manifest of the shards and checks the split against it.
func (c Config) open(ctx context.Context) (m *sharding.Manifest, made sharding.ExamplesOptions, err error) {
	folder, err := store.Open(c.Shards)
	if err != nil {
		return nil, made, err
	}
	if m, err = sharding.ReadManifest(ctx, folder); err != nil {
		return nil, made, err
	}
	if m.Stage != sharding.StageExamples {
		return nil, made, failure.Usagef("%s contains the output of stage %q, want a folder of shards", c.Shards, m.Stage)
	}
	if err := m.DecodeOptions(folder, &made); err != nil {
		return nil, made, err
	}
	if splits := made.Splits(); c.Split != "" && !slices.Contains(splits, c.Split) {
		return nil, made, failure.Usagef("split %q: the shards have %s", c.Split, strings.Join(splits, " and "))
	}
	return m, made, nil
}

// Run converts shards into one directory, see [Config.Directories].
func Run(ctx context.Context, r stage.Runner, c Config) (*sharding.Manifest, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m, made, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	raw := sharding.Marshal(m) // as the folder has it: verify checks that
	o, err := c.options(made)
	if err != nil {
		return nil, err
	}
	inputs, err := c.inputs(raw)
	if err != nil {
		return nil, err
	}
	config := stage.Config{Target: c.Target, Stage: sharding.StageConvert, Options: o, Work: o, Unit: "examples",
		Inputs: inputs, Paths: []string{store.Absolute(c.Shards)}}
	var tasks []task
	for _, f := range m.RecordFiles() {
		name, _ := sharding.ParseShardName(f.Name)
		if o.Split != "" && name.Split != o.Split {
			continue
		}
		n := f.Counts["records"]
		tasks = append(tasks, task{File: f.Name, SHA256: f.SHA256, Records: n})
		config.Sizes = append(config.Sizes, n)
		config.Total += n
		config.Reads += f.Bytes
	}
	if config.Total == 0 {
		return nil, failure.Usagef("%s: no examples to convert", c.Shards)
	}
	config.Tasks = stage.Tasks(tasks)
	return stage.Run(ctx, r, config)
}

// options returns the options of the conversion of shards that were made with the
// options made.
func (c Config) options(made sharding.ExamplesOptions) (o sharding.ConvertOptions, err error) {
	o = sharding.ConvertOptions{Format: c.Format, Split: c.Split, MaxSeqLength: made.MaxSeqLength, MaxPredictionsPerSeq: made.MaxPredictionsPerSeq}
	if form := made.Form(); form != records.Pairs {
		o.Form = form
	}
	format, _ := formats.Get(c.Format)
	if !columns.Holds(format, o.Form) {
		return o, failure.Usagef("%s: the format %s cannot hold examples of the recipe %s: convert them --to %s", c.Shards, c.Format, made.Recipe, strings.Join(holding(o.Form), ", "))
	}
	if _, ok := format.(columns.Sized); ok {
		o.VocabSize, err = c.vocabSize(made)
	}
	if _, ok := format.(columns.Worded); ok && made.Tokenizer != nil {
		return o, failure.Usagef("%s: the format %s needs the words of a %s, but a tokenizer.json made these shards: convert them --to mds, parquet, npy, hdf5 or webdataset", c.Shards, c.Format, sharding.VocabName)
	}
	return o, err
}

// inputs returns the manifest of the shards, and the vocabulary if words of it are
// written.
func (c Config) inputs(manifest []byte) ([]sharding.Input, error) {
	list := []sharding.Input{{Name: sharding.ManifestName, Bytes: int64(len(manifest)), SHA256: sharding.Hash(manifest)}}
	if format, _ := formats.Get(c.Format); !worded(format) {
		return list, nil
	}
	raw, err := store.ReadLocation(context.Background(), store.Join(c.Shards, sharding.VocabName))
	if err == nil {
		_, err = tokenize.ReadVocab(sharding.VocabName, raw)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, failure.Usagef("%s: the format %s needs the words of the vocabulary: put the %s of these shards there", c.Shards, c.Format, sharding.VocabName)
	}
	return append(list, sharding.Input{Name: sharding.VocabName, Bytes: int64(len(raw)), SHA256: sharding.Hash(raw)}), err
}

func worded(f columns.Format) bool {
	_, ok := f.(columns.Worded)
	return ok
}

// holding returns the names of the formats that hold examples of a form.
func holding(form records.Form) (names []string) {
	for _, name := range formats.Names() {
		if f, _ := formats.Get(name); columns.Holds(f, form) {
			names = append(names, name)
		}
	}
	return names
}

// vocabSize returns the number of ids of the vocabulary of the shards; 0 if there is
// none beside them.
func (c Config) vocabSize(made sharding.ExamplesOptions) (int, error) {
	if made.Tokenizer != nil {
		return made.Tokenizer.VocabSize, nil
	}
	name := store.Join(c.Shards, sharding.VocabName)
	raw, err := store.ReadLocation(context.Background(), name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	v, err := tokenize.ReadVocab(name, raw)
	if err != nil {
		return 0, fmt.Errorf("%w vocabulary: %w", sharding.ErrDamaged, err)
	}
	return v.Len(), nil
}

// errSame is the error if the output would be written into the shards.
var errSame = errors.New("the output directory is that of the shards: give another --out")

// Validate returns the problem of a configuration, if it has one.
func (c Config) Validate() error {
	if _, ok := formats.Get(c.Format); !ok {
		return failure.Usagef("format %q: must be one of %s", c.Format, strings.Join(formats.Names(), ", "))
	}
	if store.Absolute(c.Out) == store.Absolute(c.Shards) {
		return failure.Usage(fmt.Errorf("%s: %w", c.Out, errSame))
	}
	return nil
}
