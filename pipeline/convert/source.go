package convert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strings"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/consumers"
	"pretext/records/columns/formats"
	"pretext/records/pretrain"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/tokenize"
)

// A source is the input of a conversion: finished shards, or TFRecord files without a
// manifest.
type source struct {
	path   string // directory of the files
	splits []string
	shards *sharding.Manifest // nil: no manifest
	made   sharding.ExamplesOptions
	files  []foreignFile // the files, if there is no manifest
}

// A foreignFile is a TFRecord file without a manifest.
type foreignFile struct {
	name  string             // relative to the directory
	shard sharding.ShardName // name of the shard made from the file
}

// open finds the examples at the path of c.
func (c Config) open(ctx context.Context) (*source, error) {
	d, err := sharding.Open(ctx, c.Shards)
	if err != nil {
		return nil, err
	}
	stage, err := d.Shards(ctx)
	var s *source
	switch {
	case err == nil:
		s, err = ofShards(ctx, stage)
	case len(d.Records) > 0:
		s, err = ofFiles(d.Records), nil
	default:
		err = failure.Usage(err)
	}
	if err != nil {
		return nil, err
	}
	if c.Split != "" && !slices.Contains(s.splits, c.Split) {
		return nil, failure.Usagef("split %q: the shards have %s", c.Split, strings.Join(s.splits, " and "))
	}
	return s, nil
}

// ofShards returns the shards of a stage as a source.
func ofShards(ctx context.Context, stage *sharding.Stage) (*source, error) {
	m, err := sharding.ReadManifest(ctx, stage)
	if err != nil {
		return nil, err
	}
	if m.Stage != sharding.StageExamples {
		return nil, failure.Usagef("%s contains the output of stage %q, want a folder of shards", stage, m.Stage)
	}
	s := &source{path: stage.String(), shards: m}
	if err := m.DecodeOptions(stage, &s.made); err != nil {
		return nil, err
	}
	s.splits = s.made.Splits()
	return s, nil
}

// ofFiles returns TFRecord files without a manifest as a source. They are numbered in the
// order of their names. Files named like shards of the eval split form the eval split;
// all others form the train split.
func ofFiles(paths []string) *source {
	s := &source{path: store.Dir(paths[0])}
	count := map[string]int{}
	for _, path := range paths {
		f := foreignFile{name: store.Base(path), shard: sharding.ShardName{Split: sharding.Train}}
		if named, ok := sharding.ParseShardName(f.name); ok {
			f.shard.Split = named.Split
		}
		f.shard.Index = count[f.shard.Split]
		count[f.shard.Split]++
		s.files = append(s.files, f)
	}
	for i := range s.files {
		s.files[i].shard.Count = count[s.files[i].shard.Split]
	}
	for _, split := range []string{sharding.Train, sharding.Eval} {
		if count[split] > 0 {
			s.splits = append(s.splits, split)
		}
	}
	return s
}

// empty reports whether a split has no examples, according to the manifest.
func (s *source) empty(split string) bool {
	if s.shards == nil {
		return false
	}
	return !slices.ContainsFunc(s.shards.RecordFiles(), func(f sharding.FileEntry) bool {
		name, _ := sharding.ParseShardName(f.Name)
		return name.Split == split && sharding.Records.Of(f.Counts) > 0
	})
}

// plan returns the tasks for a split ("" for all), the inputs of the conversion, and the
// total size of the records files in bytes.
func (s *source) plan(ctx context.Context, split string) (tasks []task, inputs []sharding.Input, bytes int64, err error) {
	if s.shards == nil {
		return s.planFiles(ctx, split)
	}
	raw := sharding.Marshal(s.shards) // the bytes of manifest.json, whose hash verify checks
	inputs = []sharding.Input{{Name: sharding.ManifestName, Bytes: int64(len(raw)), SHA256: sharding.Hash(raw)}}
	for _, f := range s.shards.RecordFiles() {
		if name, _ := sharding.ParseShardName(f.Name); split == "" || name.Split == split {
			tasks = append(tasks, task{File: f.Name, SHA256: f.SHA256, Records: sharding.Records.Of(f.Counts)})
			bytes += f.Bytes
		}
	}
	return tasks, inputs, bytes, nil
}

// planFiles reads all files to find their hashes, their numbers of records, and the form
// and lengths of each file's first record. These must be the same in all files.
func (s *source) planFiles(ctx context.Context, split string) (tasks []task, inputs []sharding.Input, bytes int64, err error) {
	folder, err := store.Open(s.path)
	if err != nil {
		return nil, nil, 0, err
	}
	first := ""
	for _, f := range s.files {
		if split != "" && f.shard.Split != split {
			continue
		}
		r, err := readForeign(ctx, folder, f.name)
		if err != nil {
			return nil, nil, 0, fmt.Errorf("%s: %w", store.Join(s.path, f.name), err)
		}
		bytes += r.bytes
		inputs = append(inputs, sharding.Input{Name: f.name, Bytes: r.bytes, SHA256: r.sha256})
		tasks = append(tasks, task{File: f.name, SHA256: r.sha256, Records: r.records, Stem: f.shard.String()})
		switch {
		case r.records == 0:
		case first == "":
			first, s.made = f.name, r.made
		case !reflect.DeepEqual(r.made, s.made):
			return nil, nil, 0, failure.Usagef("%s: %s, but %s: convert them from directories of their own", s.path, describe(first, s.made), describe(f.name, r.made))
		}
	}
	return tasks, inputs, bytes, nil
}

func describe(file string, o sharding.ExamplesOptions) string {
	return fmt.Sprintf("%s has examples of %d tokens and %d predictions (%s)", file, o.MaxSeqLength, o.MaxPredictionsPerSeq, o.Recipe)
}

// foreignContent describes the content of a TFRecord file without a manifest.
type foreignContent struct {
	bytes, records int64
	sha256         string
	made           sharding.ExamplesOptions // form and lengths of the first record
}

// readForeign reads a TFRecord file without a manifest and returns its description.
func readForeign(ctx context.Context, folder store.Folder, name string) (c foreignContent, err error) {
	f, err := folder.Open(ctx, name)
	if err != nil {
		return c, err
	}
	defer f.Close()
	sum := sha256.New()
	in := io.TeeReader(store.NewReader(f, 0), sum)
	r := tfrecord.NewReader(in, tfrecord.ReaderOptions{})
	for ; ; c.records++ {
		payload, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil && c.records == 0 {
			c.made, err = lengthsOf(payload)
		}
		if err == nil && c.records%1024 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return c, fmt.Errorf("record %d: %w", c.records, err)
		}
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return c, err
	}
	c.bytes, c.sha256 = f.Size(), hex.EncodeToString(sum.Sum(nil))
	return c, nil
}

// lengthsOf returns options for records with the same form and lengths as payload.
func lengthsOf(payload []byte) (o sharding.ExamplesOptions, err error) {
	form, err := records.FormOf(payload)
	if err != nil {
		return o, err
	}
	var e records.Example
	if err := e.DecodeForm(form, payload); err != nil {
		return o, err
	}
	o.Recipe = pretrain.RecipeOf(form).Name
	o.MaxPredictionsPerSeq = len(e.MaskedLMPositions)
	if !form.Documents() {
		o.MaxSeqLength = len(e.InputIDs)
	}
	return o, nil
}

// options returns the options of the conversion of s to t.
func (c Config) options(ctx context.Context, s *source, t target) (o sharding.ConvertOptions, err error) {
	o = sharding.ConvertOptions{Format: c.Format, Consumer: c.For, Compression: c.Compression, Int: c.Int, Split: c.Split, MaxSeqLength: s.made.MaxSeqLength, MaxPredictionsPerSeq: s.made.MaxPredictionsPerSeq}
	if form := s.made.Form(); !form.Pairs() {
		o.Form = form
	}
	if s.shards != nil {
		o.Examples = s.shards.Options
	}
	if c.For != "" {
		facts, err := s.facts(ctx, c.Split)
		if err == nil {
			err = t.consumer.Check(facts)
		}
		if err != nil {
			return o, fmt.Errorf("%s: %w", c.Shards, err)
		}
	}
	if err := Check(c.Format, s.made, s.made.Tokenizer != nil); err != nil {
		return o, failure.Usage(fmt.Errorf("%s: %w", c.Shards, err))
	}
	if t.about.NeedsIDs {
		o.VocabSize, err = s.vocabSize(ctx)
	}
	if kind, _ := columns.IntNamed(c.Int); err == nil && kind == columns.Uint16 {
		n, err := s.vocabSize(ctx)
		if err == nil && n > math.MaxUint16+1 {
			err = failure.Usagef("%s: the vocabulary has %d ids, and %s holds %d: give a wider type of integers", c.Shards, n, c.Int, math.MaxUint16+1)
		}
		return o, err
	}
	return o, err
}

// facts returns what decides whether a consumer can read the examples of a split ("" for
// all).
func (s *source) facts(ctx context.Context, split string) (f consumers.Facts, err error) {
	f = consumers.Facts{Recipe: s.made.Recipe, Tokenizer: s.made.Tokenizer != nil}
	if f.Vocabulary, err = s.vocabSize(ctx); err != nil {
		return f, err
	}
	v, err := s.vocabulary(ctx)
	if err != nil {
		return f, err
	}
	if t := s.made.Tokenizer; t != nil {
		f.Specials(t.Pad, t.Mask)
	} else if v != nil && v.Vocab != nil {
		f.Specials(v.PAD(), v.MASK())
	}
	if split != "" && split != sharding.Train {
		return f, nil
	}
	if s.shards == nil {
		f.Files = len(s.files)
		return f, nil
	}
	for _, file := range s.shards.RecordFiles() {
		if name, _ := sharding.ParseShardName(file.Name); name.Split == sharding.Train {
			f.Files++
		}
	}
	return f, nil
}

// get returns the format with the given name. An unknown name is a usage error.
func get(name string) (columns.Format, error) {
	if f, ok := formats.Get(name); ok {
		return f, nil
	}
	return nil, failure.Usagef("format %q: must be one of %s", name, strings.Join(formats.Names(), ", "))
}

// CheckFor returns a usage error if the consumer's loader would misread examples made with
// the options o and the vocabulary in file: a vocab.txt, or a tokenizer.json if tokenizer is
// set; "" is one that the run trains. It runs before the examples are made, so it does not
// find every problem.
func CheckFor(consumer string, o sharding.ExamplesOptions, file string, tokenizer bool) error {
	c, err := consumers.Get(consumer)
	if err != nil {
		return err
	}
	facts := consumers.Facts{Recipe: o.Recipe, Tokenizer: tokenizer, Files: o.Shards, Gzip: o.Compression == sharding.CompressionGzip, Bins: len(o.LengthBins) > 0}
	if file != "" {
		if t, err := sharding.LoadTokenizer(file, o); err == nil { // else the stage reports it
			pad := t.Vocab.Pad
			if t.Options.Tokenizer == nil {
				pad = t.WordPiece.Vocab().PAD() // of a vocab.txt the recipes take 0, whatever it is
			}
			facts.Vocabulary = t.Vocab.Size
			facts.Specials(pad, t.Vocab.Mask)
		}
	}
	if err := c.Check(facts); err != nil || c.Format == "" {
		return err
	}
	return Check(c.Format, o, tokenizer)
}

// Check returns a usage error if the format cannot store examples made with the options o.
// tokenizer reports whether they are made with a tokenizer.json instead of a vocab.txt.
func Check(format string, o sharding.ExamplesOptions, tokenizer bool) error {
	f, err := get(format)
	if err != nil {
		return err
	}
	form := o.Form()
	if !columns.Holds(f, form) {
		return failure.Usagef("the format %s cannot hold examples of the recipe %s: these can: %s", format, o.Recipe, strings.Join(holding(form), ", "))
	}
	if len(o.LengthBins) > 0 {
		return failure.Usagef("the format %s cannot hold examples with length bins %v: only TFRecord files can have them; make the shards without --length-bins", format, o.LengthBins)
	}
	if f.About().NeedsVocab && tokenizer {
		return failure.Usagef("the format %s has the words of a %s, but the examples are made with a %s: other formats have ids", format, sharding.VocabName, sharding.TokenizerName)
	}
	return nil
}

// holding returns the names of the formats that can store examples of the form.
func holding(form records.Form) (names []string) {
	for _, name := range formats.Names() {
		if f, _ := formats.Get(name); columns.Holds(f, form) {
			names = append(names, name)
		}
	}
	return names
}

// A vocabulary is the vocab.txt or the tokenizer.json of examples.
type vocabulary struct {
	*tokenize.Vocab // nil: a tokenizer.json
	raw             []byte
}

// readVocab reads the vocabulary file with the given name beside the examples. sum is the
// required SHA-256, or "". If the file does not exist, the error matches
// [fs.ErrNotExist].
func readVocab(ctx context.Context, path, name, sum string) (*vocabulary, error) {
	folder, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	v := &vocabulary{}
	if v.raw, err = store.ReadFile(ctx, folder, name); err != nil {
		return nil, err
	}
	if sum != "" && sum != sharding.Hash(v.raw) {
		return nil, fmt.Errorf("%s: %w: not the vocabulary that the examples were made with (SHA-256)", store.Join(path, name), sharding.ErrDamaged)
	}
	if name == sharding.TokenizerName {
		return v, nil
	}
	if v.Vocab, err = tokenize.ReadVocabWith(store.Join(path, name), v.raw, tokenize.UnkToken); err != nil {
		return nil, fmt.Errorf("%w vocabulary: %w", sharding.ErrDamaged, err)
	}
	return v, nil
}

// vocabulary returns the vocabulary beside the examples, or nil if there is none beside
// files without a manifest.
func (s *source) vocabulary(ctx context.Context) (*vocabulary, error) {
	name, sum := s.made.TokenFile(), ""
	if s.shards != nil {
		for _, e := range s.shards.Files {
			if e.Name == name {
				sum = e.SHA256
			}
		}
	}
	v, err := readVocab(ctx, s.path, name, sum)
	if err == nil && v.Vocab != nil {
		if _, err := s.made.ReadVocab(store.Join(s.path, name), v.raw); err != nil {
			return nil, fmt.Errorf("%w vocabulary: %w", sharding.ErrDamaged, err)
		}
	}
	if errors.Is(err, fs.ErrNotExist) && s.shards == nil {
		return nil, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, failure.Usagef("%s: its %s is missing: put the %s of these examples there", s.path, name, name)
	}
	return v, err
}

// vocabSize returns the number of ids in the vocabulary, or 0 if there is no vocabulary
// beside the files.
func (s *source) vocabSize(ctx context.Context) (int, error) {
	if s.made.Tokenizer != nil {
		return s.made.Tokenizer.VocabSize, nil
	}
	v, err := s.vocabulary(ctx)
	if v == nil || err != nil {
		return 0, err
	}
	return v.Len(), nil
}

// vocabInput returns the vocabulary as an input of the stage, or nil if there is none.
func (s *source) vocabInput(ctx context.Context, format string) (*sharding.Input, error) {
	v, err := s.vocabulary(ctx)
	if err != nil {
		return nil, err
	}
	f, _ := formats.Get(format)
	if v == nil && f.About().NeedsVocab {
		return nil, failure.Usagef("%s: the format %s needs the words of the vocabulary: put the %s of these examples there", s.path, format, sharding.VocabName)
	}
	if v == nil {
		return nil, nil
	}
	return &sharding.Input{Name: s.made.TokenFile(), Bytes: int64(len(v.raw)), SHA256: sharding.Hash(v.raw)}, nil
}
