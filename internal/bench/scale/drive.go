package main

import (
	"context"
	"fmt"
	"path/filepath"

	"pretext/pipeline/stage"
	"pretext/sharding"
)

// drive plans a stage of shards and runs a job of empty tasks.
func drive(ctx context.Context, c config, documents string) error {
	var inputs []sharding.DocumentsInput
	var plan *sharding.Assignment
	o := sharding.DefaultExamplesOptions()
	o.Shards = c.shards
	if err := timed("read block tables", func() (err error) {
		inputs, err = sharding.OpenDocuments(ctx, []string{documents})
		return err
	}); err != nil {
		return err
	}
	if err := timed("assign blocks to shards", func() (err error) {
		plan, err = sharding.Assign(inputs, o)
		return err
	}); err != nil {
		return err
	}
	run := stage.Config{Target: stage.Target{Out: filepath.Join(c.dir, "out"), Overwrite: true}, Stage: stageName, Options: o,
		Inputs: plan.Inputs, Paths: plan.Locations, Tasks: plan.Tasks()}
	return timed("plan files, job, manifest", func() error {
		_, err := stage.Run(ctx, stage.Runner{Workers: 2}, run)
		return err
	})
}

const stageName = "scale"

func init() {
	stage.Register(stage.Definition{Name: stageName, Algorithm: 1,
		New: stage.New(func(env *stage.Env, _ struct{}) stage.Worker { return &worker{env} })})
}

// A worker returns for each task a result as that of a shard.
type worker struct{ *stage.Env }

func (w *worker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	var t sharding.ShardTask
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	return []stage.Result{{Task: index, SideCar: fmt.Sprintf("train-%05d.json", index)}}, nil
}

func (w *worker) Finish(ctx context.Context, results []stage.Result) error { return nil }
