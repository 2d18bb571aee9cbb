package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"pretext/extract"
	"pretext/internal/store"
	"pretext/internal/usage"
	"pretext/pipeline"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// drive plans a stage of shards and runs a job whose tasks do nothing.
func drive(ctx context.Context, c config, documents string) error {
	o := sharding.DefaultExamplesOptions()
	o.Shards = c.shards
	out, err := makeShards(c)
	if err != nil {
		return err
	}
	lap := newLap()
	inputs, err := sharding.OpenDocuments(ctx, []string{documents})
	if err != nil {
		return err
	}
	lap.end("read block tables")
	plan, err := sharding.Assign(inputs, o)
	if err != nil {
		return err
	}
	lap.end("assign blocks to shards")
	run := stage.Config{Target: stage.Target{Out: out, Overwrite: true}, Stage: stageName, Options: o,
		Inputs: plan.Inputs, Paths: plan.Locations, Tasks: plan.Tasks(), Loaded: lap, Work: o,
		Prepare: func(context.Context, store.Folder) error {
			lap.end("write plan")
			return nil
		}}
	m, err := stage.Run(ctx, stage.Runner{Workers: 2}, run)
	if err != nil {
		return err
	}
	lap.end("read manifest")
	lap.total()
	predicted := pipeline.DriverMemory(int64(c.blocks), c.shards)
	ratio := float64(predicted) / float64(usage.PeakMemory())
	fmt.Printf("plan says %d MB, %.2f times the peak\n", predicted/1e6, ratio)
	info, err := os.Stat(filepath.Join(out, sharding.ManifestName))
	if err != nil {
		return err
	}
	tasks, err := os.Stat(filepath.Join(out, sharding.PlanFolder, sharding.TasksName))
	if err != nil {
		return err
	}
	fmt.Printf("%d records in %d files; manifest.json %d MB, plan %d MB\n", sharding.Records.Of(m.Counts), 3*c.shards, info.Size()/1e6, tasks.Size()/1e6)
	if ratio < 0.8 || ratio > 1.2 {
		return fmt.Errorf("the memory that plan predicts is %.2f times the peak, want within a fifth", ratio)
	}
	return nil
}

// makeShards makes the directory of the stage with an empty file for each file of the
// tasks, because the manifest step checks that all exist.
func makeShards(c config) (out string, err error) {
	out = filepath.Join(c.dir, "out")
	if err := os.RemoveAll(out); err != nil {
		return "", err
	}
	folder, err := store.Open(out)
	if err != nil {
		return "", err
	}
	for i := range c.shards {
		name := sharding.ShardName{Split: sharding.Train, Index: i, Count: c.shards}
		for _, file := range []string{name.Records(false), name.IndexFile(), name.SideCar()} {
			if err := writeUnsynced(folder, file, nil); err != nil {
				return "", err
			}
		}
	}
	return out, nil
}

const stageName = "scale"

func init() {
	stage.Register(stage.Definition{Name: stageName, Algorithm: 1,
		New: stage.New(func(env *stage.Env, o sharding.ExamplesOptions) stage.Worker { return &worker{env, o} })})
}

// A worker returns the result of a shard for each task, without doing it.
type worker struct {
	*stage.Env
	options sharding.ExamplesOptions
}

func (w *worker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	var t sharding.ShardTask
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	name := sharding.ShardName{Split: sharding.Train, Index: index, Count: w.options.Shards}
	entry := func(name string, counts sharding.Counts) sharding.FileEntry {
		return sharding.FileEntry{Name: name, Task: index, SHA256: sharding.Hash([]byte(name)), Counts: counts}
	}
	car := sharding.SideCar{FormatVersion: sharding.FormatVersion, Stage: stageName, Fingerprint: sharding.Hash(nil), Task: index, Index: entry(name.IndexFile(), nil),
		File: entry(name.Records(false), sharding.Counts{extract.Documents.Key: t.Blocks.CountDocuments(), sharding.Sentences.Key: 4_000_000, sharding.Tokens.Key: 60_000_000, sharding.UnknownTokens.Key: 9_000,
			sharding.Records.Key: 600_000, sharding.RecordTokens.Key: 70_000_000, sharding.Masked.Key: 11_000_000, sharding.RandomNext.Key: 300_000, sharding.WithoutPredictions.Key: 0})}
	return []stage.Result{{Task: index, SideCar: name.SideCar(), SHA256: sharding.Hash(nil), Head: string(sharding.Compact(car))}}, nil
}

func (w *worker) Finish(ctx context.Context, results []stage.Result) error {
	lap := w.Loaded().(*lap)
	lap.end("tasks that only read their plan")
	defer lap.end("manifest")
	return w.Env.Finish(ctx, results)
}
