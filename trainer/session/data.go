package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/records"
	"pretext/sharding"
	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
	"pretext/trainer/loader"
)

// A Corpus is a split of a folder of shards, with its vocabulary.
type Corpus struct {
	path      string
	shards    *loader.Shards
	vocab     vocabulary
	tokenizer checkpoint.Tokenizer // saved with models that were trained on the data
	hash      string               // of the manifest
}

// OpenCorpus opens a split of a folder of shards with [loader.Open]. vocab is
// the path of the vocab.txt of third-party records, which have none beside
// them; otherwise "".
func OpenCorpus(ctx context.Context, path, split, vocab string) (*Corpus, error) {
	shards, err := loader.Open(ctx, path, loader.Options{Split: split})
	if errors.Is(err, sharding.ErrNoShards) {
		return nil, failure.Usage(err)
	}
	if err != nil {
		return nil, err
	}
	c := &Corpus{path: path, shards: shards}
	if err := c.readVocab(vocab); err != nil {
		return nil, err
	}
	if c.hash, err = c.dataHash(); err != nil {
		return nil, err
	}
	return c, nil
}

// openEval opens the held-out data of a run. It returns nil without an error if
// there is none.
func openEval(ctx context.Context, o *Options) (*Corpus, error) {
	if o.EvalData != "" {
		return openForEvaluation(ctx, o.EvalData, o.Vocab)
	}
	c, err := OpenCorpus(ctx, o.Data, sharding.Eval, o.Vocab)
	if errors.Is(err, sharding.ErrNoShards) {
		return nil, nil
	}
	if err == nil && c.shards.Files()[0].Split != sharding.Eval {
		return nil, nil // a single file is read whatever its split
	}
	return c, err
}

// openForEvaluation opens the eval split of a folder, or all its shards if it
// has no eval split, because a folder given for evaluation may consist of train
// shards.
func openForEvaluation(ctx context.Context, path, vocab string) (*Corpus, error) {
	c, err := OpenCorpus(ctx, path, sharding.Eval, vocab)
	if errors.Is(err, sharding.ErrNoShards) {
		return OpenCorpus(ctx, path, "", vocab)
	}
	return c, err
}

// VocabSize returns the number of tokens in the vocabulary.
func (c *Corpus) VocabSize() int { return c.vocab.Len() }

// Shards returns the files of the split.
func (c *Corpus) Shards() *loader.Shards { return c.shards }

// Heads returns the heads that a model has when it is trained on the corpus: next
// sentence only if the records have its labels, and never if noNSP is set.
func (c *Corpus) Heads(noNSP bool) trainer.Heads {
	return trainer.Heads{MLM: true, NSP: !noNSP && c.shards.Form() == records.Pairs}
}

// Longest returns the length of the longest example; 0 if it is unknown. cut is
// the length to which documents are cut.
func (c *Corpus) Longest(cut int) int {
	if c.shards.Form() == records.Tokens {
		return cut
	}
	return c.shards.MaxSeqLength()
}

// DataLimits are [BatchLimits] for steps of batch examples of these corpora; nil ones
// are ignored. A row of packed examples is any number of sequences.
func DataLimits(tokens, batch, predictions int, data ...*Corpus) trainer.Options {
	for _, c := range data {
		if c != nil && c.shards.Form() == records.Packed {
			batch = tokens
		}
	}
	return BatchLimits(tokens, batch, predictions)
}

// OpenSource opens the train split of o.Data in the order of a run with these options:
// Data, Vocab, Cache ("": none), Masking, NoNSP, MaxSeqLength, AttendAcross, Seed,
// TrainBatchSize, MicroBatchTokens (at least the longest example) and Readers count.
// Close the source after use.
func OpenSource(ctx context.Context, o Options) (*loader.Source, *Corpus, error) {
	data, err := OpenCorpus(ctx, o.Data, sharding.Train, o.Vocab)
	if err != nil {
		return nil, nil, err
	}
	if err := data.cached(ctx, cacheBelow(o.Cache, sharding.Train), false, io.Discard); err != nil {
		return nil, nil, err
	}
	masking, err := o.Masking.masking(o.Seed, data, o.TrainBatchSize)
	if err != nil {
		return nil, nil, err
	}
	if err := data.suits(o.MaxSeqLength, o.AttendAcross); err != nil {
		return nil, nil, err
	}
	source, err := loader.NewSource(ctx, data.shards, loader.SourceOptions{Seed: int64(o.Seed), MicroBatchTokens: o.MicroBatchTokens, Heads: data.Heads(o.NoNSP),
		Rules: data.rules(), Readers: o.Readers, Masking: masking, MaxSeqLength: o.MaxSeqLength, AttendAcross: o.AttendAcross})
	return source, data, err
}

// suits returns a usage error if options do not suit the form of the records.
func (c *Corpus) suits(maxSeqLength int, attendAcross bool) error {
	switch form := c.shards.Form(); {
	case attendAcross && form != records.Packed:
		return usagef("%s: --attend-across applies only to packed rows, its records are of the form %s: leave it out", c.path, form)
	case form == records.Tokens && min(c.vocab.CLS(), c.vocab.SEP()) < 0:
		return usagef("%s: its tokenizer has no tokens for [CLS] and [SEP], between which a sequence stands: make the data with a tokenizer that has them", c.path)
	case form == records.Tokens && maxSeqLength < MinTokens:
		return usagef("--max-seq-length %d: must be at least %d, for [CLS], a token and [SEP]", maxSeqLength, MinTokens)
	}
	return nil
}

// folder returns the directory of the shards, which may be a subdirectory of
// the given path.
func (c *Corpus) folder() string { return store.Dir(c.shards.Files()[0].Path) }

func (c *Corpus) readVocab(given string) error {
	path := store.Join(c.folder(), sharding.VocabName)
	_, err := store.Stat(context.Background(), path)
	if file := c.shards.Made().Tokenizer; file != nil {
		if given != "" {
			return usagef("--vocab %s: the data was made with its %s, which is used: leave --vocab out", given, sharding.TokenizerName)
		}
		return c.readTokenizer(&fileVocab{TokenizerInfo: file})
	}
	switch {
	case given != "" && err == nil:
		return usagef("--vocab %s: not needed, the data has a vocabulary, %s", given, path)
	case given != "":
		path = given
	case errors.Is(err, fs.ErrNotExist):
		return usagef("no %s beside the records of %s: give --vocab FILE, the one they were made with", sharding.VocabName, c.path)
	}
	t, err := readTokenizer(path)
	if given != "" && errors.Is(err, errDamaged) {
		return usagef("--vocab: %v: give the vocabulary that the records were made with", err) // not what is damaged: another file helps
	}
	if err != nil {
		return err
	}
	if t.Vocab == nil {
		return c.readForeignTokenizer(path, t.File)
	}
	t.File = nil // the records' ids are those of the vocabulary
	if c.vocab, err = tokenize.ReadVocab(path, t.Vocab); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	c.tokenizer = c.asMade(t)
	return nil
}

// asMade returns t with do_lower_case as in the manifest of the records;
// without a manifest it returns t unchanged.
func (c *Corpus) asMade(t checkpoint.Tokenizer) checkpoint.Tokenizer {
	if lower := c.shards.DoLowerCase(); lower != nil {
		t.LowerCase, t.StripAccents, t.TokenizeChineseChars = *lower, nil, nil
	}
	return t
}

// dataHash returns a hash that identifies the data: the hash of the manifest,
// or, without a manifest, of the names and sizes of the files.
func (c *Corpus) dataHash() (string, error) {
	h := sha256.New()
	if c.shards.Manifest() != nil || c.shards.Converted() {
		b, err := store.ReadLocation(context.Background(), store.Join(c.folder(), sharding.ManifestName))
		if err != nil {
			return "", err
		}
		h.Write(b)
	} else {
		for _, f := range c.shards.Files() {
			fmt.Fprintf(h, "%s %d\n", store.Base(f.Path), f.Bytes)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// rules returns the rules that every example must satisfy.
func (c *Corpus) rules() records.Rules {
	r := records.Rules{VocabSize: c.vocab.Len(), CLS: c.vocab.CLS(), SEP: c.vocab.SEP()}
	if v, ok := c.vocab.(*fileVocab); ok {
		r.Pad = v.Pad // with a vocab.txt it is 0, wherever [PAD] is
	}
	return r
}
