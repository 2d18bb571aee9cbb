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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"pretext/counts"
	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/records/columns"
	"pretext/records/columns/formats"
	"pretext/sharding"
)

// algorithm is the version of the stage. It is raised if the same examples would result
// in different bytes.
const algorithm = 1

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
	Format string // one of [formats.Names]
	Split  string // the only split to convert; "" for all

	// Balance divides the rows of all shards anew, for the loader of LDDL; see balance.
	Balance bool
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
// if there are two splits and the format allows only one split in a directory.
func (c Config) Directories(ctx context.Context) ([]Config, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	splits := s.splits
	if format, _ := formats.Get(c.Format); len(splits) == 1 || c.Split != "" || !format.About().OneSplit {
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

// Run converts shards to a single directory, see [Config.Directories].
func Run(ctx context.Context, r stage.Runner, c Config) (*sharding.Manifest, error) {
	if err := c.Validate(); err != nil {
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
	o, err := c.options(ctx, s)
	if err != nil {
		return nil, err
	}
	if c.Balance {
		if tasks, o.Bins, err = s.balanced(ctx, tasks, o); err != nil {
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
		return nil, failure.Usagef("%s: no examples to convert", c.Shards)
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

// Validate returns an error if the configuration is invalid.
func (c Config) Validate() error {
	_, err := get(c.Format)
	return err
}
