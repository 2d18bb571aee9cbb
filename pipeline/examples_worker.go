package pipeline

import (
	"context"
	"encoding/json"

	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/records/pretrain"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/tokenize/sentence"
)

// examplesWorker makes shards.
type examplesWorker struct {
	*stage.Env
	examplesWork
}

// load reads the stage's own copy of the vocabulary or tokenizer, once for the
// job.
func (w *examplesWorker) load(ctx context.Context) (*sharding.Tokenizer, error) {
	shared, err := w.Share(func() (any, error) {
		name := w.Examples.TokenFile()
		raw, err := store.ReadFile(ctx, w.Folder, name)
		if err != nil {
			return nil, err
		}
		return sharding.NewTokenizer(name, raw, w.Examples)
	})
	if err != nil {
		return nil, err
	}
	return shared.(*sharding.Tokenizer), nil
}

func (w *examplesWorker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	var sideCars []string
	for _, split := range w.Examples.Splits() {
		sideCars = append(sideCars, sharding.ShardName{Split: split, Index: index, Count: w.Examples.Shards}.SideCar())
	}
	var t sharding.ShardTask
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	if results, ok, err := w.Proved(ctx, index, sideCars...); err != nil || ok {
		w.Meter.Add(2 * t.Blocks.TextBytes())
		return results, err
	}
	tok, err := w.load(ctx)
	if err != nil {
		return nil, err
	}
	tools, err := w.tools(ctx, tok)
	if err != nil {
		return nil, err
	}
	defer w.Give(tools)
	sides, err := w.read(ctx, t, tools)
	if err != nil {
		return nil, err
	}
	var results []stage.Result
	for _, side := range sides {
		r, err := w.build(ctx, index, side, tools)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
		w.Meter.Add(t.Blocks.TextBytes() / int64(len(sides))) // reading was the first half
	}
	return results, nil
}

// A shardSide is what a task reads for one side of the held-out split.
type shardSide struct {
	split  string
	corpus *pretrain.Corpus
	counts sharding.Counts

	withoutPunkt map[string]int64 // see [sharding.ShardBody]
}

// shardTools are what a task holds while it is at work. They keep their memory
// for the next task.
type shardTools struct {
	unknown   int32 // id of [UNK]
	encoder   sharding.SentenceEncoder
	sentences *sentence.LanguageSplitter
	ids       []int32
	corpora   []*pretrain.Corpus // one for each side
	builder   *pretrain.Builder
	frames    *tfrecord.Writer
	body      sharding.ShardBody
}

func (w *examplesWorker) tools(ctx context.Context, tok *sharding.Tokenizer) (*shardTools, error) {
	if spare, ok := w.Take().(*shardTools); ok {
		return spare, nil
	}
	builder, err := pretrain.NewBuilder(w.Examples.Options, tok.Vocab, w.scratch(context.WithoutCancel(ctx)))
	if err != nil {
		return nil, err
	}
	frames := tfrecord.NewWriter(nil, tfrecord.WriterOptions{Gzip: w.Examples.Compression == sharding.CompressionGzip, Index: true})
	t := &shardTools{unknown: tok.Unknown, encoder: tok.NewEncoder(), builder: builder, frames: frames,
		sentences: sentence.NewLanguageSplitter(w.Examples.SentenceSplitter)}
	for range w.Examples.Splits() {
		t.corpora = append(t.corpora, tok.NewCorpus())
	}
	return t, nil
}

// read tokenizes the documents of a shard, each to its side.
func (w *examplesWorker) read(ctx context.Context, t sharding.ShardTask, tools *shardTools) ([]*shardSide, error) {
	var sides []*shardSide
	for i, split := range w.Examples.Splits() {
		tools.corpora[i].Reset()
		sides = append(sides, &shardSide{split: split, corpus: tools.corpora[i], counts: sharding.Counts{}})
	}
	for doc, err := range w.Documents(ctx, t.Blocks) {
		if err != nil {
			return nil, err
		}
		side := sides[0]
		if len(sides) > 1 && w.Examples.HeldOut(doc.ID) {
			side = sides[1]
		}
		var sentences, tokens, unknown int64
		for line, err := range tools.sentences.Sentences(doc.Text, doc.Lang) {
			if err != nil {
				return nil, err
			}
			ids := tools.encoder.AppendIDsBytes(tools.ids[:0], line)
			tools.ids = ids
			if len(ids) == 0 {
				continue
			}
			if err := side.corpus.AddSentence(ids); err != nil {
				return nil, err
			}
			sentences, tokens = sentences+1, tokens+int64(len(ids))
			for _, id := range ids {
				if id == tools.unknown {
					unknown++
				}
			}
		}
		side.corpus.EndDocument()
		if w.Examples.SentenceSplitter == sentence.Punkt && doc.Lang != "" && !sentence.HasPunkt(doc.Lang) {
			side.countWithoutPunkt(doc.Lang)
		}
		side.counts["documents"]++
		side.counts["sentences"] += sentences
		side.counts["tokens"] += tokens
		side.counts["unknown_tokens"] += unknown
	}
	return sides, nil
}

func (s *shardSide) countWithoutPunkt(lang string) {
	if s.withoutPunkt == nil {
		s.withoutPunkt = map[string]int64{}
	}
	s.withoutPunkt[lang]++
}

func (w *examplesWorker) Finish(ctx context.Context, results []stage.Result) error {
	name := w.Examples.TokenFile()
	bytes, sum, err := sharding.HashFile(ctx, w.Folder, name)
	if err != nil {
		return err
	}
	return w.Manifest(ctx, results, sharding.Manifest{Files: []sharding.FileEntry{{Name: name, Bytes: bytes, SHA256: sum}}})
}

// build makes the records of one side of a shard: the file, its index and the
// side-car that proves both.
func (w *examplesWorker) build(ctx context.Context, index int, side *shardSide, tools *shardTools) (stage.Result, error) {
	name := sharding.ShardName{Split: side.split, Index: index, Count: w.Examples.Shards}
	body, frames := &tools.body, tools.frames
	*body = sharding.ShardBody{RandomSeed: name.Seed(w.Examples.RandomSeed), Split: side.split, Shard: index, Shards: w.Examples.Shards,
		Tokens: body.Tokens[:0], Masked: body.Masked[:0], WithoutPunkt: side.withoutPunkt}
	out, err := w.Create(ctx, name.Records(w.Examples.Compression == sharding.CompressionGzip))
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
