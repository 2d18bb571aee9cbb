package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"pretext/internal/store"
	"pretext/records/pretrain"
	"pretext/sharding"
	"pretext/tokenize"
	"pretext/tokenize/sentence"
)

// examplesAlgorithm is raised when the same documents give other records.
const examplesAlgorithm = 1

// RecipeGoogle makes the examples of google-research/bert's
// create_pretraining_data.py, value for value.
const RecipeGoogle = "google"

// Compressions of the records' files.
const (
	CompressionNone = "none"
	CompressionGzip = "gzip"
)

// ExamplesOptions are the options that decide what records are made, under the
// names of Google's flags. Start from [DefaultExamplesOptions].
type ExamplesOptions struct {
	pretrain.Options
	RandomSeed  int64 `json:"random_seed"`   // of shard 0; see [sharding.ShardName.Seed]
	DoLowerCase bool  `json:"do_lower_case"` // as the vocabulary demands

	// TokenizerProfile says whose rules a vocab.txt is used by. A tokenizer.json
	// brings its own.
	TokenizerProfile tokenize.Profile `json:"tokenizer_profile,omitempty"`

	// Tokenizer is what a tokenizer.json says; the stage fills it in.
	Tokenizer *TokenizerInfo `json:"tokenizer,omitempty"`

	Recipe           string `json:"recipe"`            // [RecipeGoogle]
	SentenceSplitter string `json:"sentence_splitter"` // auto, punkt or newline
	Shards           int    `json:"shards"`            // 0: one for each 16 MiB of text
	sharding.Split
	Compression string `json:"compression"` // [CompressionNone] or [CompressionGzip]
}

// DefaultExamplesOptions returns Google's defaults.
func DefaultExamplesOptions() ExamplesOptions {
	return ExamplesOptions{Options: pretrain.DefaultOptions(), RandomSeed: 12345, DoLowerCase: true,
		TokenizerProfile: tokenize.ProfileGoogle, Recipe: RecipeGoogle, SentenceSplitter: sentence.Auto, Compression: CompressionNone}
}

// Validate returns all that is wrong with the options.
func (o ExamplesOptions) Validate() error {
	errs := []error{o.Options.Validate()}
	if p := o.TokenizerProfile; p != "" && !slices.Contains(tokenize.Profiles(), p) {
		errs = append(errs, fmt.Errorf("tokenizer_profile %q: not known, must be one of %q", p, tokenize.Profiles()))
	}
	if o.Recipe != RecipeGoogle {
		errs = append(errs, fmt.Errorf("recipe %q: not known, must be %q", o.Recipe, RecipeGoogle))
	}
	if _, err := sentence.New(o.SentenceSplitter, ""); err != nil {
		errs = append(errs, err)
	}
	if o.Shards < 0 {
		errs = append(errs, fmt.Errorf("shards %d: must be at least 1, or 0 for the default", o.Shards))
	}
	if !(o.Fraction >= 0 && o.Fraction < 1) {
		errs = append(errs, fmt.Errorf("eval_fraction %g: must be at least 0 and below 1", o.Fraction))
	}
	if o.Compression != CompressionNone && o.Compression != CompressionGzip {
		errs = append(errs, fmt.Errorf("compression %q: must be none or gzip", o.Compression))
	}
	return errors.Join(errs...)
}

// tokenFile returns the name of the file that says how text becomes ids.
func (o ExamplesOptions) tokenFile() string {
	if o.Tokenizer != nil {
		return sharding.TokenizerName
	}
	return sharding.VocabName
}

// splits returns the sides of the held-out split that are written.
func (o ExamplesOptions) splits() []string {
	if o.Fraction > 0 {
		return []string{sharding.Train, sharding.Eval}
	}
	return []string{sharding.Train}
}

// ExamplesConfig says what the examples stage makes of what, and where.
type ExamplesConfig struct {
	Documents []string // documents folders, or JSON lines of others
	Texts     []string // files in BERT's text form
	Vocab     string   // path of a vocab.txt
	Tokenizer string   // path of a tokenizer.json, in place of Vocab
	Options   ExamplesOptions
	Import    ExtractOptions // for what is not ours
	// MaxRejects is the share of the lines of others that may be unreadable.
	MaxRejects float64
	Memory     int64 // bytes that the process may use
	Out        string
	Overwrite  bool
}

// ExamplesSpec is what an examples worker needs beyond its task.
type ExamplesSpec struct {
	Documents []string // locations of the documents folders
	Options   ExamplesOptions
	Scratch   int64 // bytes of instances that a task may hold in memory
}

// An examplesTask is the plan of one shard.
type examplesTask struct {
	Blocks blockList `json:"blocks"`
}

// shardBody is what a side-car says of a file of records.
type shardBody struct {
	RandomSeed int64  `json:"random_seed"` // of the generator that made it
	Split      string `json:"split"`
	Shard      int    `json:"shard"`
	Shards     int    `json:"shards"`
	// One number a record, in file order.
	Tokens []uint16 `json:"tokens"` // length with [CLS] and [SEP]
	Masked []uint16 `json:"masked"` // positions to predict
}

// Examples makes shards of documents: OUT/train-NNNNN-of-NNNNN.tfrecord.
func Examples(ctx context.Context, r Runner, c ExamplesConfig) (*sharding.Manifest, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	tokens, err := c.tokens().read(c.Options)
	if err != nil {
		return nil, err // before documents are imported
	}
	r.note(tokens.tokenizer.warning)
	folders, foreign, err := sortDocuments(c.Documents, c.Texts)
	if err != nil {
		return nil, err
	}
	if len(foreign) == 0 {
		return makeExamples(ctx, r, c, tokens, folders, drive)
	}
	// The lock is held while foreign documents are imported too: no other run
	// may replace them below this one.
	return locked(c.Out, func(folder store.Folder) (*sharding.Manifest, error) {
		imported := filepath.Join(c.Out, ImportedFolder)
		if _, err := Extract(ctx, r, ExtractConfig{Sources: foreign, Options: c.Import, MaxRejects: c.MaxRejects, Out: imported, Overwrite: c.Overwrite}); err != nil {
			return nil, err
		}
		return makeExamples(ctx, r, c, tokens, append(folders, imported), func(ctx context.Context, r Runner, d driveConfig) (*sharding.Manifest, error) {
			return driveIn(ctx, folder, r, d)
		})
	})
}

// makeExamples makes shards of documents folders of ours.
func makeExamples(ctx context.Context, r Runner, c ExamplesConfig, tokens *tokens, folders []string,
	drive func(context.Context, Runner, driveConfig) (*sharding.Manifest, error)) (*sharding.Manifest, error) {
	inputs, err := openDocuments(ctx, folders)
	if err != nil {
		return nil, err
	}
	plan, err := planShards(inputs, tokens.options)
	if err != nil {
		return nil, err
	}
	spec := Spec{Stage: "examples", Out: c.Out, Examples: &ExamplesSpec{Documents: plan.locations, Options: plan.options}}
	if spec.Examples.Scratch, err = plan.memory(c.Memory, r.Workers, tokens.tokenizer.wide()); err != nil {
		return nil, err
	}
	options, err := json.Marshal(plan.options)
	if err != nil {
		return nil, err
	}
	name := c.tokens().name()
	recipe := sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "examples", Algorithm: examplesAlgorithm, Options: options,
		Inputs: append(plan.inputs, sharding.Input{Name: name, Bytes: int64(len(tokens.raw)), SHA256: sharding.Hash(tokens.raw)})}
	m, err := drive(ctx, r, driveConfig{spec: spec, recipe: recipe, tasks: plan.tasks, total: 2 * plan.bytes, overwrite: c.Overwrite,
		prepare: func(ctx context.Context, folder store.Folder) error {
			return store.WriteFile(ctx, folder, name, tokens.raw)
		}})
	if err != nil {
		return nil, err
	}
	if m.Counts["records"] == 0 {
		return nil, fmt.Errorf("%w could be made of the %d documents in %v", ErrNoRecords, m.Counts["documents"], folders)
	}
	return m, nil
}

func (c ExamplesConfig) validate() error {
	err := c.Options.Validate()
	if len(c.Texts) > 0 && c.Options.SentenceSplitter != sentence.Newline {
		err = errors.Join(err, fmt.Errorf("sentence_splitter %s: in BERT's text form a line is a sentence, so it must be newline", c.Options.SentenceSplitter))
	}
	if len(c.Texts) > 0 && len(c.Documents) > 0 {
		err = errors.Join(err, errors.New("documents and BERT text cannot be read in one run: make documents of the text first, or two runs"))
	}
	if len(c.Texts)+len(c.Documents) == 0 {
		err = errors.Join(err, errors.New("nothing to read: give a documents folder, JSON lines or --text"))
	}
	if err != nil {
		return &ConfigError{err}
	}
	return nil
}

func (c ExamplesConfig) tokens() tokenFile { return tokenFile{c.Vocab, c.Tokenizer} }

// A shardPlan is what the examples stage will do.
type shardPlan struct {
	options   ExamplesOptions // with the number of shards resolved
	locations []string
	inputs    []sharding.Input
	tasks     []any
	bytes     int64
	sizes     []taskSize // of the tasks
}

// planShards deals the blocks of the documents to shards.
func planShards(inputs []documentsInput, o ExamplesOptions) (*shardPlan, error) {
	p := &shardPlan{options: o}
	var refs []sharding.BlockRef
	type place struct{ folder, file int }
	var places []place // of the files, in source order
	for i, in := range inputs {
		p.locations = append(p.locations, in.location)
		p.inputs = append(p.inputs, in.input)
		for j, f := range in.files {
			for k, b := range f.blocks {
				refs = append(refs, sharding.BlockRef{File: len(places), Block: k, Bytes: b.TextBytes})
				p.bytes += b.TextBytes
			}
			places = append(places, place{i, j})
		}
	}
	if len(refs) == 0 {
		return nil, fmt.Errorf("%w in the input", ErrNoDocuments)
	}
	if p.options.Shards == 0 {
		p.options.Shards = min(sharding.DefaultShards(p.bytes), len(refs))
	}
	dealt, err := sharding.Plan(refs, p.options.Shards, uint64(o.RandomSeed))
	if err != nil {
		return nil, err
	}
	for _, shard := range dealt {
		var blocks blockList
		last := -1
		for _, ref := range shard {
			at := places[ref.File]
			file := inputs[at.folder].files[at.file]
			if ref.File != last {
				blocks = append(blocks, fileBlocks{Folder: at.folder, Name: file.name})
				last = ref.File
			}
			f := &blocks[len(blocks)-1]
			f.Blocks = append(f.Blocks, file.blocks[ref.Block])
		}
		p.sizes = append(p.sizes, blocks.size())
		p.tasks = append(p.tasks, examplesTask{blocks})
	}
	return p, nil
}

// examplesWorker makes shards.
type examplesWorker struct {
	*stage
	ExamplesSpec
}

// load reads the stage's own copy of the vocabulary or tokenizer, once for the
// job.
func (w *examplesWorker) load(ctx context.Context) (*tokenizer, error) {
	shared, err := w.job.share(func() (any, error) {
		name := w.Options.tokenFile()
		raw, err := store.ReadFile(ctx, w.folder, name)
		if err != nil {
			return nil, err
		}
		return newTokenizer(name, raw, w.Options)
	})
	if err != nil {
		return nil, err
	}
	return shared.(*tokenizer), nil
}

func (w *examplesWorker) do(ctx context.Context, index int) ([]Result, error) {
	var sideCars []string
	for _, split := range w.Options.splits() {
		sideCars = append(sideCars, sharding.ShardName{Split: split, Index: index, Count: w.Options.Shards}.SideCar())
	}
	var t examplesTask
	if err := w.task(ctx, index, &t); err != nil {
		return nil, err
	}
	if results, ok, err := w.proved(ctx, index, sideCars...); err != nil || ok {
		w.meter.Add(2 * t.Blocks.textBytes())
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
	defer w.job.give(tools)
	sides, err := w.read(ctx, t, tools)
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, side := range sides {
		r, err := w.build(ctx, index, side, tools)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
		w.meter.Add(t.Blocks.textBytes() / int64(len(sides))) // reading was the first half
	}
	return results, nil
}

// A shardSide is what a task reads for one side of the held-out split.
type shardSide struct {
	split  string
	corpus *pretrain.Corpus
	counts sharding.Counts
}

// shardTools are what a task holds while it is at work. They keep their memory
// for the next task.
type shardTools struct {
	unknown   int32 // id of [UNK]
	encoder   sentenceEncoder
	sentences sentences
	ids       []int32
	corpora   []*pretrain.Corpus // one for each side
	builder   *pretrain.Builder
	frames    frameWriter
	body      shardBody
}

func (w *examplesWorker) tools(ctx context.Context, tok *tokenizer) (*shardTools, error) {
	if spare, ok := w.job.take().(*shardTools); ok {
		return spare, nil
	}
	builder, err := pretrain.NewBuilder(w.Options.Options, tok.vocab, w.scratch(context.WithoutCancel(ctx)))
	if err != nil {
		return nil, err
	}
	t := &shardTools{unknown: tok.unknown, encoder: tok.newEncoder(), builder: builder,
		sentences: sentences{splitters: NewSplitters(w.Options.SentenceSplitter)}}
	for range w.Options.splits() {
		t.corpora = append(t.corpora, tok.newCorpus())
	}
	return t, nil
}

// read tokenizes the documents of a shard, each to its side.
func (w *examplesWorker) read(ctx context.Context, t examplesTask, tools *shardTools) ([]*shardSide, error) {
	var sides []*shardSide
	for i, split := range w.Options.splits() {
		tools.corpora[i].Reset()
		sides = append(sides, &shardSide{split, tools.corpora[i], sharding.Counts{}})
	}
	for doc, err := range t.Blocks.documents(ctx, w.Documents, w.meter) {
		if err != nil {
			return nil, err
		}
		side := sides[0]
		if len(sides) > 1 && w.Options.HeldOut(doc.ID) {
			side = sides[1]
		}
		var sentences, tokens, unknown int64
		for line, err := range tools.sentences.of(doc) {
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
		side.counts["documents"]++
		side.counts["sentences"] += sentences
		side.counts["tokens"] += tokens
		side.counts["unknown_tokens"] += unknown
	}
	return sides, nil
}

func (w *examplesWorker) finish(ctx context.Context, results []Result) error {
	name := w.Options.tokenFile()
	bytes, sum, err := sharding.HashFile(ctx, w.folder, name)
	if err != nil {
		return err
	}
	return w.manifest(ctx, results, nil, sharding.FileEntry{Name: name, Bytes: bytes, SHA256: sum})
}

// Shards returns the side-car and index names of a manifest's shards, for
// readers: the names of its files of records, sorted.
func recordFiles(m *sharding.Manifest) []sharding.FileEntry {
	var files []sharding.FileEntry
	for _, f := range m.Files {
		if n, ok := sharding.ParseShardName(f.Name); ok && (f.Name == n.Records(false) || f.Name == n.Records(true)) {
			files = append(files, f)
		}
	}
	return slices.Clip(files)
}
