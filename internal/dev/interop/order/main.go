// Command order prints the training order of shards, as train-bert reads them with
// dynamic masking, for the tests of the Python package:
//
//	go run ./internal/dev/interop/order [-epochs N] [-every K] [-words] [-length L] DIR SEED
//
// It prints a line of JSON for each Kth position: the position, ids and the original
// ids of the tokens to predict by their index.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"

	"pretext/sharding"
	"pretext/trainer"
	"pretext/trainer/loader"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "order:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("order", flag.ExitOnError)
	epochs := fs.Int64("epochs", 2, "`N`")
	every := fs.Int64("every", 1, "print each `K`th position")
	words := fs.Bool("words", false, "mask whole words")
	length := fs.Int("length", 0, "max_seq_length of documents")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() != 2 {
		return errors.New("usage: order [FLAGS] DIR SEED")
	}
	seed, err := strconv.ParseUint(fs.Arg(1), 10, 64)
	if err != nil {
		return err
	}
	shards, err := loader.Open(ctx, fs.Arg(0), loader.Options{Split: sharding.Train})
	if err != nil {
		return err
	}
	masking, err := masks(ctx, shards, seed)
	if err != nil {
		return err
	}
	masking.WholeWord = *words
	source, err := loader.NewSource(ctx, shards, loader.SourceOptions{Seed: int64(seed), MicroBatchTokens: 1 << 20, Heads: trainer.PretrainHeads(),
		MaxSeqLength: *length, AttendAcross: shards.Form().Rows(), Masking: masking})
	if err != nil {
		return err
	}
	defer source.Close()
	out := bufio.NewWriter(os.Stdout)
	for position := int64(0); position < *epochs*source.Len(); position += *every {
		if err := write(out, source, position); err != nil {
			return err
		}
	}
	return out.Flush()
}

// masks returns the masking of shards with a vocab.txt: 15 % of the tokens.
func masks(ctx context.Context, shards *loader.Shards, seed uint64) (*loader.Masking, error) {
	v, err := shards.Vocab(ctx)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, errors.New("the shards have no vocab.txt")
	}
	return &loader.Masking{Seed: seed, Prob: 0.15, Vocab: loader.MaskVocab{Size: v.Len(), CLS: v.CLS(), SEP: v.SEP(), PAD: v.PAD(), MASK: v.MASK(),
		Continues: func(_, id int32) bool { return v.IsSubword(id) }}}, nil
}

// write writes the example at a position.
func write(out *bufio.Writer, source *loader.Source, position int64) error {
	share, err := source.Step(position, 1)
	if err != nil {
		return err
	}
	for b, err := range share.Batches {
		if err != nil {
			return err
		}
		targets := make(map[int32]int32, len(b.MaskedIndex))
		for i, at := range b.MaskedIndex {
			targets[at] = b.MaskedIDs[i]
		}
		line, err := json.Marshal(map[string]any{"position": position, "ids": b.IDs, "targets": targets})
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}
