package pipeline

import (
	"context"
	"encoding/json"

	"pretext/pipeline/stage"
	"pretext/records/pretrain"
	"pretext/sharding"
)

// build makes the records of one side of a shard: the file, its index and the
// side-car that proves both.
func (w *examplesWorker) build(ctx context.Context, index int, side *shardSide, tools *shardTools) (stage.Result, error) {
	name := sharding.ShardName{Split: side.split, Index: index, Count: w.Options.Shards}
	body, frames := &tools.body, tools.frames
	*body = sharding.ShardBody{RandomSeed: name.Seed(w.Options.RandomSeed), Split: side.split, Shard: index, Shards: w.Options.Shards,
		Tokens: body.Tokens[:0], Masked: body.Masked[:0], WithoutPunkt: side.withoutPunkt}
	out, err := w.Create(ctx, name.Records(w.Options.Compression == sharding.CompressionGzip))
	if err != nil {
		return stage.Result{}, err
	}
	defer out.Abort()
	frames.Reset(out)
	made, err := tools.builder.Build(ctx, side.corpus, body.RandomSeed, func(r pretrain.Record) error {
		body.Tokens = append(body.Tokens, uint16(r.Tokens))
		body.Masked = append(body.Masked, uint16(r.Predictions))
		return frames.Write(r.Payload)
	})
	if err != nil {
		return stage.Result{}, err
	}
	if err := frames.Close(); err != nil {
		return stage.Result{}, err
	}
	if err := w.Commit(ctx, out); err != nil {
		return stage.Result{}, err
	}
	indexEntry, err := w.Write(ctx, name.IndexFile(), frames.Index())
	if err != nil {
		return stage.Result{}, err
	}
	indexEntry.Task = index
	raw, err := json.Marshal(body)
	if err != nil {
		return stage.Result{}, err
	}
	side.counts.Add(sharding.Counts{"records": made.Examples, "random_next": made.RandomNext, "masked": made.Predictions,
		"record_tokens": made.Tokens, "without_predictions": made.NoPredictions})
	return w.Prove(ctx, name.SideCar(), sharding.SideCar{Task: index, File: out.Entry(index, side.counts), Index: indexEntry, Body: raw})
}

// scratch says where a task's instances wait for the last shuffle.
func (w *examplesWorker) scratch(ctx context.Context) pretrain.Scratch {
	return pretrain.Scratch{MemoryBytes: w.Scratch, Create: func() (pretrain.ScratchFile, error) { return w.Folder.Scratch(ctx) }}
}
