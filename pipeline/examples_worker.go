package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/records/pretrain"
	"pretext/sharding"
)

// examplesWorker makes shards.
type examplesWorker struct {
	*stage.Env
	examplesWork
}

// newExamplesWorker is the worker constructor for [stage.Definition].
func newExamplesWorker(env *stage.Env, work examplesWork) stage.Worker {
	env.Facts = func(body json.RawMessage) (*sharding.Facts, error) {
		var shard sharding.ShardBody
		err := json.Unmarshal(body, &shard)
		return shard.Facts(work.Examples), err
	}
	return &examplesWorker{env, work}
}

// load returns the tokenizer. The first call in a job reads it from the copy in the
// stage's directory, unless the driver's process has already loaded it.
func (w *examplesWorker) load(ctx context.Context) (*sharding.Tokenizer, error) {
	shared, err := w.Share(func() (any, error) {
		name := w.Examples.TokenFile()
		raw, err := store.ReadFile(ctx, w.Folder, name)
		if err != nil {
			return nil, err
		}
		if t, _ := w.Loaded().(*sharding.Tokenizer); t != nil {
			if t = t.For(raw, w.Examples); t != nil {
				return t, nil
			}
		}
		return sharding.NewTokenizer(name, raw, w.Examples)
	})
	if err != nil {
		return nil, err
	}
	return shared.(*sharding.Tokenizer), nil
}

// SideCars names the side-cars of a shard, for helpers on a cluster.
func (w *examplesWorker) SideCars(index int, _ func(to any) error) (sideCars []string, err error) {
	for _, split := range w.Examples.Splits() {
		for _, name := range w.Examples.ShardFiles(split, index) {
			sideCars = append(sideCars, name.SideCar())
		}
	}
	return sideCars, nil
}

func (w *examplesWorker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	sideCars, err := w.SideCars(index, nil)
	if err != nil {
		return nil, err
	}
	var t sharding.ShardTask
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	if results, ok, err := w.Proved(ctx, index, sideCars...); err != nil || ok {
		w.Meter.Add(2 * t.TextBytes())
		return results, err
	}
	tok, err := w.load(ctx)
	if err != nil {
		return nil, err
	}
	maker, ok := w.Take().(*sharding.ShardMaker)
	if !ok {
		if maker, err = sharding.NewShardMaker(tok, w.Examples, w.scratch()); err != nil {
			return nil, err
		}
	}
	defer w.Give(maker)
	if err := maker.Read(ctx, t, w.Paths(), w.Meter.Add); err != nil {
		return nil, err
	}
	var results []stage.Result
	splits := w.Examples.Splits()
	for i, split := range splits {
		made, err := w.build(ctx, maker, i, w.Examples.ShardFiles(split, index))
		if err != nil {
			return nil, err
		}
		results = append(results, made...)
		w.Meter.Add(t.TextBytes() / int64(len(splits))) // reading counted as the first half
	}
	return results, nil
}

func (w *examplesWorker) Finish(ctx context.Context, results []stage.Result) error {
	var err error
	if w.Known.Tokenizer, err = w.load(ctx); err != nil {
		return err
	}
	name := w.Examples.TokenFile()
	raw, err := store.ReadFile(ctx, w.Folder, name)
	if err != nil {
		return err
	}
	files, err := w.WriteTokenizer(ctx, w.Examples, raw)
	if err != nil {
		return err
	}
	_, err = w.Folder.Folder(sharding.ImportedFolder).Stat(ctx, sharding.ManifestName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := w.Write(ctx, sharding.ReaderName, sharding.RecordsReader(w.Examples.Splits(), err == nil)); err != nil {
		return err
	}
	return w.Manifest(ctx, results, sharding.Manifest{Files: append(files, sharding.FileEntry{Name: name, Bytes: int64(len(raw)), SHA256: sharding.Hash(raw)})})
}

// build makes the records of one split of a shard. For each name it writes the records,
// the index, and a side-car with the hashes of both.
func (w *examplesWorker) build(ctx context.Context, maker *sharding.ShardMaker, split int, names []sharding.ShardName) ([]stage.Result, error) {
	outs := make([]*stage.Output, len(names))
	to := make([]io.Writer, len(names))
	for i, name := range names {
		out, err := w.Create(ctx, name.Records(w.Examples.Compression == sharding.CompressionGzip))
		if err != nil {
			return nil, err
		}
		defer out.Abort()
		outs[i], to[i] = out, out
	}
	made, err := maker.Make(ctx, split, names, to)
	if err != nil {
		return nil, err
	}
	var results []stage.Result
	for i, name := range names {
		r, err := w.finish(ctx, name, outs[i], made[i])
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// finish completes the records file of a shard.
func (w *examplesWorker) finish(ctx context.Context, name sharding.ShardName, out *stage.Output, shard *sharding.ShardWriter) (stage.Result, error) {
	if err := out.Wait(); err != nil {
		return stage.Result{}, err
	}
	index := stage.Small{Name: name.IndexFile(), Data: shard.Index()}
	return w.Publish(ctx, []*stage.Output{out}, []stage.Small{index}, name.SideCar(), shard.SideCar(out.Entry(name.Index, nil), index.Entry()))
}

// scratch configures where a task stores examples until they are shuffled.
func (w *examplesWorker) scratch() pretrain.Scratch {
	return pretrain.Scratch{MemoryBytes: w.Scratch, Create: func() (pretrain.ScratchFile, error) { return w.TempFile() }}
}
