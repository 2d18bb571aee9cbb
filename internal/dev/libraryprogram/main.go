package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"pretext/extract/wiki"
	"pretext/records/pretrain"
	"pretext/sharding"
	"pretext/trainer/loader"
)

func main() {
	ctx, dumpPath, vocabPath, out := context.Background(), os.Args[1], os.Args[2], os.Args[3]
	source := must(sharding.SourceInput(ctx, dumpPath))
	file := must(os.Open(dumpPath))
	dump := wiki.Dump{File: file, Size: source.Bytes, Name: source.Name, Head: must(wiki.ReadHead(file, source.Bytes))}
	tokenizer := must(sharding.LoadTokenizer(vocabPath, sharding.DefaultExamplesOptions()))
	corpus, encoder := tokenizer.NewCorpus(), tokenizer.NewEncoder()
	for doc, err := range wiki.NewReader(dump, wiki.Range{End: dump.Size}, wiki.DefaultOptions()).Documents() {
		check(err)
		check(encoder.Add(corpus, doc)) // splits it into sentences and tokenizes them
	}
	builder := must(pretrain.NewBuilder(tokenizer.Options.Options, tokenizer.Vocab, pretrain.Scratch{}))
	w := must(sharding.Create(ctx, out, tokenizer, source))
	shard := must(w.Shard(ctx, sharding.Train, 0))
	check(shard.Build(ctx, builder, corpus))
	check(shard.Close(ctx))
	must(w.Close(ctx))

	stage := must(must(sharding.Open(ctx, out)).Shards(ctx))
	fmt.Println(sharding.Records.Of(must(sharding.ReadManifest(ctx, stage)).Counts), "examples")
	for r, err := range must(loader.Open(ctx, out, loader.Options{})).Examples(ctx) {
		fmt.Println(must(r, err).Index, r.Example.Tokens(), r.Example.Predictions())
	}
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
