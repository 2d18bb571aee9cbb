package tinydata

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"pretext/records/pretrain"
	"pretext/sharding"
)

// Shards writes a folder of n shards of one example each to a location, with all files of
// the examples stage. It is for tests of what commands do with many shards.
func Shards(ctx context.Context, location string, n int) error {
	const vocab = 40
	dir, err := os.MkdirTemp("", "tinydata-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	list := "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"
	for i := words; i < vocab; i++ {
		list += fmt.Sprintf("n%d\n", i)
	}
	path := filepath.Join(dir, sharding.VocabName)
	if err := os.WriteFile(path, []byte(list), 0o666); err != nil {
		return err
	}
	o := sharding.DefaultExamplesOptions()
	o.Shards, o.MaxSeqLength, o.MaxPredictionsPerSeq, o.MaskedLMProb = n, maxSeqLength, maxPredicted, 0.4
	tokenizer, err := sharding.LoadTokenizer(path, o)
	if err != nil {
		return err
	}
	to, err := sharding.Create(ctx, strings.TrimSuffix(location, "/"), tokenizer)
	if err != nil {
		return err
	}
	w := writer{rng: rand.New(rand.NewPCG(1, 1)), vocab: vocab}
	have := map[string]bool{} // equal records would be a problem of the folder
	for i := range n {
		shard, err := to.Shard(ctx, sharding.Train, i)
		if err != nil {
			return err
		}
		e := w.example()
		for have[string(e.Append(nil))] {
			e = w.example()
		}
		have[string(e.Append(nil))] = true
		record := pretrain.Record{Payload: e.Append(nil), Tokens: e.Tokens(), Predictions: e.Predictions(), RandomNext: e.NextSentenceLabel == 1}
		if err := shard.Write(record); err != nil {
			return err
		}
		if err := shard.Close(ctx); err != nil {
			return err
		}
	}
	_, err = to.Close(ctx)
	return err
}
