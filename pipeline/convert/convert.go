// Package convert is the stage that writes the examples of a folder of shards in the
// format of another library. One task converts one shard:
//
//	train-00003-of-00010.tfrecord  →  train-00003-of-00010.*  in the format
//	                                  train-00003-of-00010.json, the side-car
//
// At the end, the stage writes the format's index, if it has one, and a copy of the
// vocab.txt or tokenizer.json of the examples. TFRecord files without a manifest are
// numbered in the order of their names.
package convert

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pretext/counts"
	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/records/columns"
	"pretext/records/columns/consumers"
	"pretext/records/columns/formats"
	"pretext/sharding"
)

// algorithm is the version of the stage. It is raised if the same examples would result
// in different bytes.
const algorithm = 2

// removeIndex removes the index file of the format in the plan.
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
	Shards string // path of a folder of shards, a run, or TFRecord files without a manifest
	Split  string // the only split to convert; "" for all

	// For is the name of a consumer ([consumers.Names]), which determines the format, the
	// columns and the directories; "": none.
	For    string
	Format string // one of [formats.Names]; "" with For

	Compression string // one of the format's; "": the default of the consumer or the format
	Int         string // type of integers: int32, int64 or uint16; "": that of the consumer, or int32
}

// A target is what a Config converts to.
type target struct {
	format   columns.Format
	about    columns.Description
	consumer consumers.Consumer // zero: none
}

// target returns what c converts to, and c with the names of the format and the
// compression.
func (c Config) target() (Config, target, error) {
	var t target
	var err error
	if c.For != "" {
		if t.consumer, err = consumers.Get(c.For); err != nil {
			return c, t, err
		}
		switch {
		case t.consumer.Format == "":
			return c, t, failure.Usagef("%s reads the shards as they are: there is nothing to convert", c.For)
		case c.Format != "" && c.Format != t.consumer.Format:
			return c, t, failure.Usagef("%s reads the format %s, not %s: leave the format out", c.For, t.consumer.Format, c.Format)
		case c.Int != "":
			return c, t, failure.Usagef("the types of integers are those of %s: leave the type out, or give a format", c.For)
		case c.Compression != "" && t.consumer.Compression != "" && c.Compression != t.consumer.Compression:
			return c, t, failure.Usagef("%s reads files of the compression %s: leave the compression out, or give a format", c.For, t.consumer.Compression)
		}
		c.Format, c.Compression = t.consumer.Format, cmp.Or(c.Compression, t.consumer.Compression)
	}
	if t.format, err = get(c.Format); err != nil {
		return c, t, err
	}
	t.about = t.format.About()
	if all := t.about.Compressions; c.Compression != "" && !slices.Contains(all, c.Compression) {
		if len(all) == 0 {
			return c, t, failure.Usagef("the format %s has no choice of compression: leave it out", c.Format)
		}
		return c, t, failure.Usagef("compression %q: must be one of %s", c.Compression, strings.Join(all, ", "))
	}
	if kind, ok := columns.IntNamed(c.Int); c.Int != "" && (!ok || kind != columns.Int32 && !slices.Contains(t.about.Ints, kind)) {
		return c, t, failure.Usagef("the format %s has no integers of the type %q: int32 is that of every format", c.Format, c.Int)
	}
	return c, t, nil
}

// A task is the plan for converting one shard.
type task struct {
	File    string `json:"file"` // name of the records file
	SHA256  string `json:"sha256"`
	Records int64  `json:"records"`
	Stem    string `json:"stem,omitempty"` // name of the shard; "": derived from File

	// Shares are what the shard has of the records files, if the rows of all shards are
	// divided anew. Records is then their number, and the fields above describe the file that
	// has given the shard its name.
	Shares []share `json:"shares,omitempty"`
}

// shares returns what the shard has of the records files.
func (t task) shares() []share {
	if t.Shares == nil {
		return []share{{File: t.File, SHA256: t.SHA256, Records: t.Records}}
	}
	return t.Shares
}

// stem returns the name of the shard.
func (t task) stem() string {
	if t.Stem != "" {
		return t.Stem
	}
	stem, _, _ := strings.Cut(t.File, ".")
	return stem
}

// work contains the options of the workers.
type work struct {
	sharding.ConvertOptions
	Vocabulary *sharding.Input `json:"vocabulary,omitempty"` // the file to copy; nil: none
}

// recordTokens is the same as [sharding.RecordTokens], but shown in the summary of this
// stage.
var recordTokens = counts.Declare("record_tokens", counts.About{Label: "tokens", In: counts.Summary, Meaning: sharding.RecordTokens.Meaning})

func init() {
	stage.Register(stage.Definition{
		Name:      sharding.StageConvert,
		Algorithm: algorithm,
		New:       stage.New(func(env *stage.Env, o work) stage.Worker { return &worker{env, o} }),
		Clear:     removeIndex,
		Counts:    []counts.Count{sharding.Records, recordTokens},
	})
}

// Directories returns a Config for each output directory: OUT, or OUT/train and OUT/eval
// if there are two splits and the format allows only one split in a directory. A split
// without examples, which few documents may leave, has no directory.
func (c Config) Directories(ctx context.Context) ([]Config, error) {
	c, t, err := c.target()
	if err != nil {
		return nil, err
	}
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	folders := t.consumer.Splits
	if folders == nil && (len(s.splits) == 1 || c.Split != "" || !t.about.OneSplit) {
		return []Config{c}, nil
	}
	var list []Config
	for _, split := range s.splits {
		if c.Split == split || c.Split == "" && !s.empty(split) {
			one := c
			one.Target, one.Split = c.Target.In(cmp.Or(folders[split], split)), split
			list = append(list, one)
		}
	}
	if len(list) == 0 {
		return nil, noExamples(c.Shards)
	}
	return list, nil
}

// noExamples returns the error for shards, or a split of them, without examples.
func noExamples(shards string) error { return failure.Usagef("%s: no examples to convert", shards) }

// Run converts shards to a single directory, see [Config.Directories].
func Run(ctx context.Context, r stage.Runner, c Config) (*sharding.Manifest, error) {
	c, t, err := c.target()
	if err != nil {
		return nil, err
	}
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	if store.Absolute(c.Out) == store.Absolute(s.path) {
		return nil, failure.Usage(fmt.Errorf("%s: %w", c.Out, errSame))
	}
	tasks, inputs, bytes, err := s.plan(ctx, c.Split)
	if err != nil {
		return nil, err
	}
	o, err := c.options(ctx, s, t)
	if err != nil {
		return nil, err
	}
	if t.consumer.Balance {
		divided, bins, err := s.balanced(ctx, tasks, o)
		switch {
		case err == nil:
			tasks, o.Bins = divided, bins
		case !failure.IsUsage(err) || c.Split != sharding.Eval: // which often has too few examples, and is not trained on
			return nil, err
		}
	}
	config := stage.Config{Target: c.Target, Stage: sharding.StageConvert, Unit: "examples", Inputs: inputs, Reads: bytes,
		Tasks: stage.Tasks(tasks), Paths: []string{store.Absolute(s.path)}}
	for _, t := range tasks {
		config.Sizes = append(config.Sizes, t.Records)
		config.Total += t.Records
	}
	if config.Total == 0 {
		return nil, noExamples(c.Shards)
	}
	vocab, err := s.vocabInput(ctx, c.Format)
	if err != nil {
		return nil, err
	}
	if vocab != nil {
		config.Inputs = append(config.Inputs, *vocab)
	}
	config.Options, config.Work = o, work{ConvertOptions: o, Vocabulary: vocab}
	return stage.Run(ctx, r, config)
}

// errSame reports that the output directory is the directory of the shards.
var errSame = errors.New("the output directory is that of the shards: give another --out")
