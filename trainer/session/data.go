package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/records"
	"pretext/sharding"
	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
	"pretext/trainer/loader"
)

// A Corpus holds one split of a data folder, and the vocabulary of the data.
type Corpus struct {
	path      string
	shards    *loader.Shards
	vocab     vocabulary
	tokenizer checkpoint.Tokenizer // saved with models that were trained on the data
	hash      string               // of the manifest
}

// OpenCorpus opens a split of a folder of shards with [loader.Open]. vocab is the
// path of a vocabulary file, or "". It is needed if the folder has no vocabulary;
// otherwise the file must equal the folder's.
func OpenCorpus(ctx context.Context, path, split, vocab string) (*Corpus, error) {
	shards, err := loader.Open(ctx, path, loader.Options{Split: split})
	if errors.Is(err, sharding.ErrNoShards) {
		return nil, failure.Usage(err)
	}
	if err != nil {
		return nil, err
	}
	c := &Corpus{path: path, shards: shards}
	if err := c.readVocab(ctx, vocab); err != nil {
		return nil, err
	}
	if err = c.narrow(ctx); err != nil {
		return nil, err
	}
	if c.hash, err = c.dataHash(); err != nil {
		return nil, err
	}
	return c, nil
}

// openEval opens the held-out data of a run. It returns nil without an error if
// there is none.
func openEval(ctx context.Context, o *DataOptions) (*Corpus, error) {
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

// openForEvaluation opens the eval split of a folder. If the folder has no eval
// split, it opens all shards: a user may evaluate on train shards.
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

// Heads returns the heads for training a model m on the corpus: masked LM and next
// sentence, if the architecture has both, the records have next-sentence labels and noNSP is
// not set.
func (c *Corpus) Heads(m trainer.Config, noNSP bool) trainer.Heads {
	h := m.PretrainHeads()
	h.NSP = h.NSP && !noNSP && c.shards.Form().Pairs()
	return h
}

// Longest returns the length of the longest example; 0 if it is unknown. cut is
// the length to which documents are cut.
func (c *Corpus) Longest(cut int) int {
	if c.shards.Form().Documents() {
		return cut
	}
	return c.shards.MaxSeqLength()
}

// DataLimits returns [BatchLimits] for steps of batch examples from the given corpora;
// nil corpora are ignored. The limit allows for packed rows with any number of
// sequences.
func DataLimits(tokens, batch, predictions int, data ...*Corpus) trainer.Options {
	for _, c := range data {
		if c != nil && c.shards.Form().Rows() {
			batch = tokens
		}
	}
	return BatchLimits(tokens, batch, predictions)
}

// OpenSource opens the train split of o.Data in the training order of a run with these
// options and a model m. Unlike a run, it uses no cache if o.Cache is "", and corrupt records
// are errors. A micro-batch must have room for the longest example. Close the source after
// use.
func OpenSource(ctx context.Context, m trainer.Config, o DataOptions, step StepOptions) (*loader.Source, *Corpus, error) {
	data, err := OpenCorpus(ctx, o.Data, sharding.Train, o.Vocab)
	if err != nil {
		return nil, nil, err
	}
	if err := data.cached(ctx, cacheBelow(o.Cache, sharding.Train), false, io.Discard); err != nil {
		return nil, nil, err
	}
	masking, err := o.Masking.masking(step.Seed, data, step.TrainBatchSize)
	if err != nil {
		return nil, nil, err
	}
	if err := data.suits(o.MaxSeqLength, o.AttendAcross); err != nil {
		return nil, nil, err
	}
	source, err := loader.NewSource(ctx, data.shards, loader.SourceOptions{Seed: int64(step.Seed), MicroBatchTokens: step.MicroBatchTokens, Heads: data.Heads(m, o.NoNSP),
		Rules: data.rules(), Readers: o.Readers, Masking: masking, MaxSeqLength: o.MaxSeqLength, AttendAcross: o.AttendAcross})
	return source, data, err
}

// suits returns a usage error if options do not suit the form of the records.
func (c *Corpus) suits(maxSeqLength int, attendAcross bool) error {
	switch form := c.shards.Form(); {
	case attendAcross && !form.Rows():
		return usagef("%s: --attend-across applies only to packed rows, its records are of the form %s: leave it out", c.path, form)
	case form.Documents() && min(c.vocab.CLS(), c.vocab.SEP()) < 0:
		return usagef("%s: its tokenizer has no tokens for [CLS] and [SEP], which must enclose a sequence: make the data with a tokenizer that has them", c.path)
	case form.Documents() && maxSeqLength < minTokens:
		return usagef("--max-seq-length %d: must be at least %d, for [CLS], a token and [SEP]", maxSeqLength, minTokens)
	}
	return nil
}

// folder returns the directory of the shards. It may be a subdirectory of c.path.
func (c *Corpus) folder() string { return store.Dir(c.shards.Files()[0].Path) }

// readVocab reads the vocabulary in the folder of the records. If the folder has none,
// it reads the file given, and returns a usage error if the first examples have ids
// outside this vocabulary. It also returns a usage error if the folder's vocabulary and
// the file given differ.
func (c *Corpus) readVocab(ctx context.Context, given string) error {
	file := c.shards.Made().Tokenizer
	path := store.Join(c.folder(), c.shards.Made().TokenFile())
	own, err := store.ReadSmall(ctx, path, store.Tokens)
	switch {
	case err == nil && given != "":
		raw, err := store.ReadSmall(ctx, given, store.Tokens)
		if err != nil {
			return err
		}
		if !bytes.Equal(raw, own) {
			return usagef("--vocab %s (SHA-256 %.8s…) is not the vocabulary that the data was made with, %s (SHA-256 %.8s…): leave --vocab out",
				given, sharding.Hash(raw), path, sharding.Hash(own))
		}
		given = ""
	case errors.Is(err, fs.ErrNotExist) && file == nil && given == "":
		return usagef("no %s beside the records of %s: give --vocab FILE, the one they were made with", sharding.VocabName, c.path)
	case errors.Is(err, fs.ErrNotExist) && file == nil:
		path = given
	case err != nil:
		return err
	}
	if file != nil {
		return c.readTokenizer(&fileVocab{TokenizerInfo: file})
	}
	if err := c.readWords(path, given); err != nil || given == "" {
		return err
	}
	return c.sample(ctx, func(r loader.Record) error {
		for _, id := range r.Example.InputIDs {
			if int(id) >= c.vocab.Len() {
				return usagef("--vocab %s has %d tokens, but record %d of %s has the id %d: give the vocabulary that the records were made with",
					given, c.vocab.Len(), r.Index, r.File, id)
			}
		}
		return nil
	})
}

// readWords reads the vocab.txt or tokenizer.json at path. given is the path if
// --vocab names it, else "".
func (c *Corpus) readWords(path, given string) error {
	t, err := readTokenizer(path)
	if given == "" && errors.Is(err, errDamaged) && !c.shards.Form().Masks() {
		if _, few := c.shards.Vocab(context.Background()); few == nil {
			return usagef("%s: training masks tokens and needs it: make the data with a vocabulary that has it", strings.TrimPrefix(err.Error(), errDamaged.Error()+": "))
		}
	}
	if given != "" && errors.Is(err, errDamaged) {
		return usagef("--vocab: %v: give the vocabulary that the records were made with", err) // a usage error: giving another file helps
	}
	if err != nil {
		return err
	}
	if t.Vocab == nil {
		return c.readForeignTokenizer(path, t.File)
	}
	t.File = nil // the records' ids come from vocab.txt
	if c.vocab, err = tokenize.ReadVocab(path, t.Vocab); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	if lower := c.shards.DoLowerCase(); lower != nil { // the manifest says how the text was tokenized
		t.LowerCase, t.StripAccents, t.TokenizeChineseChars = *lower, nil, nil
	}
	c.tokenizer = t
	return nil
}

// sampled and filesSampled are the numbers of examples per file and of files that
// [Corpus.sample] reads.
const sampled, filesSampled = 32, 8

// sample calls look with the first examples of the first files. At a corrupt example it
// continues with the next file: reading the whole file reports the error.
func (c *Corpus) sample(ctx context.Context, look func(r loader.Record) error) error {
	files, last := 0, ""
	for r, err := range c.shards.Head(ctx, sampled) {
		if err != nil {
			return err
		}
		if r.File != last {
			files, last = files+1, r.File
		}
		if files > filesSampled {
			break
		}
		if err := look(r); err != nil {
			return err
		}
	}
	return nil
}

// narrow tells pieces from documents, whose records have the same features, where no manifest
// does: pieces if the first examples begin with [CLS] and end with [SEP].
func (c *Corpus) narrow(ctx context.Context) error {
	form, pieces := c.shards.Form(), true
	if c.shards.Made().Recipe != "" || !form.Documents() {
		return nil
	}
	narrowed := form
	err := c.sample(ctx, func(r loader.Record) error {
		narrowed = form.Narrow(r.Example, c.vocab.CLS(), c.vocab.SEP())
		pieces = pieces && narrowed != form
		return nil
	})
	if err == nil && pieces {
		c.shards.As(narrowed)
	}
	return err
}

// dataHash returns a hash that identifies the data: the hash of the manifest,
// or, without a manifest, of the names and sizes of the files.
func (c *Corpus) dataHash() (string, error) {
	h := sha256.New()
	if c.shards.Manifest() != nil || c.shards.Converted() {
		b, err := store.ReadSmall(context.Background(), store.Join(c.folder(), sharding.ManifestName), store.Parts)
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
