package sharding

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"sync"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/records/pretrain"
	"pretext/tokenize/hf"
)

// A Writer writes a folder of shards in the form of the examples stage, for
// programs that make their own examples. It is safe for concurrent use; a
// [Shard] is not.
//
//	tokenizer, err := sharding.LoadTokenizer("vocab.txt", sharding.DefaultExamplesOptions())
//	w, err := sharding.Create(ctx, "shards", tokenizer)
//	shard, err := w.Shard(ctx, sharding.Train, 0)
//	err = shard.Build(ctx, builder, corpus) // or call Write for each example
//	err = shard.Close(ctx)
//	manifest, err := w.Close(ctx)
type Writer struct {
	folder  store.Folder
	options ExamplesOptions
	plan    StagePlan

	mu     sync.Mutex
	files  []FileEntry
	shards int // number of closed shards
}

// Create starts a folder of shards in dir, which must not already contain shards. It
// copies the vocabulary or tokenizer to dir. The number of shards in each split is
// [ExamplesOptions.Shards] in the tokenizer's options, at least one. inputs are the
// sources of the examples, see [SourceInput]. Invalid options are a usage error. So is a
// [Mix], because it chooses documents and Create reads none.
func Create(ctx context.Context, dir string, t *Tokenizer, inputs ...Input) (*Writer, error) {
	folder, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{ManifestName, PlanName} {
		if _, err := folder.Stat(ctx, name); err == nil {
			return nil, failure.Usagef("create shards in %s: the directory already has a %s: give another directory", dir, name)
		}
	}
	if err := t.Options.Validate(); err != nil {
		return nil, failure.Usage(fmt.Errorf("create shards in %s: %w", dir, err))
	}
	if t.Options.Mix.Enabled() {
		return nil, failure.Usagef("create shards in %s: the options have a mix, which chooses documents, but the caller makes the examples: leave Mix nil and repeat or leave out documents yourself", dir)
	}
	w := &Writer{folder: folder, options: t.Options}
	w.options.Shards = max(1, w.options.Shards)
	options, err := json.Marshal(w.options)
	if err != nil {
		return nil, err
	}
	vocab := entry(w.options.TokenFile(), t.raw)
	recipe := Recipe{FormatVersion: FormatVersion, Stage: StageExamples, Algorithm: 1, Options: options,
		Inputs: append(slices.Clone(inputs), Input{vocab.Name, vocab.Bytes, vocab.SHA256})}
	tasks := TaskList{w.options.Shards, func(int) any { return ShardTask{} }} // without blocks of documents
	sum, err := createTasks(ctx, folder, tasks)
	if err != nil {
		return nil, err
	}
	w.plan = NewPlan(recipe, tasks, sum)
	if err := store.WriteFile(ctx, folder, PlanName, Marshal(w.plan)); err != nil {
		return nil, err
	}
	files, err := w.options.TokenizerFiles(t.raw)
	if err != nil {
		return nil, err
	}
	for _, f := range append(files, hf.File{Name: vocab.Name, Data: t.raw}, hf.File{Name: ReaderName, Data: RecordsReader(w.options.Splits(), false)}) {
		if err := store.WriteFile(ctx, folder, f.Name, f.Data); err != nil {
			return nil, err
		}
		if f.Name != ReaderName {
			w.files = append(w.files, entry(f.Name, f.Data))
		}
	}
	return w, nil
}

// Shard starts a shard of a split. index must be in [0, [ExamplesOptions.Shards]).
func (w *Writer) Shard(ctx context.Context, split string, index int) (*Shard, error) {
	name := ShardName{Split: split, Index: index, Count: w.plan.Tasks}
	if !slices.Contains(w.options.Splits(), split) || index < 0 || index >= name.Count {
		return nil, failure.Usagef("shard %s: want an index below %d and one of the splits %q", name, name.Count, w.options.Splits())
	}
	s := &Shard{Seed: name.Seed(w.options.RandomSeed), name: name, w: w, records: NewShardWriter(w.options)}
	s.file.Name = name.Records(w.options.Compression == CompressionGzip)
	var err error
	if s.out, err = w.folder.Create(ctx, s.file.Name); err != nil {
		return nil, err
	}
	s.sum = sha256.New()
	s.records.Reset(io.MultiWriter(s.out, s.sum, (*byteCounter)(&s.file.Bytes)), name, s.Seed)
	return s, nil
}

// Close writes the manifest, which makes the folder valid, and returns it. All
// shards must be closed.
func (w *Writer) Close(ctx context.Context) (*Manifest, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if want := w.plan.Tasks * len(w.options.Splits()); w.shards != want {
		return nil, fmt.Errorf("finish shards in %s: %d of %d shards were written", w.folder, w.shards, want)
	}
	m := &Manifest{Recipe: w.plan.Recipe, Fingerprint: w.plan.Fingerprint, Counts: Counts{}, Files: w.files}
	for _, e := range m.Files {
		m.Counts.Add(e.Counts)
	}
	slices.SortFunc(m.Files, func(a, b FileEntry) int { return strings.Compare(a.Name, b.Name) })
	var err error
	if m.Warnings, err = DeriveWarnings(ctx, w.folder, m); err != nil {
		return nil, err
	}
	return m, m.Write(func(name string, data []byte) error { return store.WriteFile(ctx, w.folder, name, data) })
}

// A Shard is a records file of a [Writer] under construction, with its index and
// side-car.
type Shard struct {
	Seed int64 // seed for the random choices of the shard's examples

	name    ShardName
	w       *Writer
	records *ShardWriter
	out     store.Writer
	sum     hash.Hash
	file    FileEntry
}

// Write appends an example to the shard.
func (s *Shard) Write(r pretrain.Record) error { return s.records.Write(r) }

// Build appends the examples that b makes from c.
func (s *Shard) Build(ctx context.Context, b pretrain.Maker, c *Corpus) error {
	return s.records.Build(ctx, b, c)
}

// Abort discards the shard. It does nothing after [Shard.Close].
func (s *Shard) Abort() { s.out.Abort() }

// Close completes the records file and writes the index and the side-car.
func (s *Shard) Close(ctx context.Context) error {
	defer s.Abort()
	if err := s.records.Flush(); err != nil {
		return err
	}
	if err := s.out.Commit(); err != nil {
		return err
	}
	s.file.SHA256 = hex.EncodeToString(s.sum.Sum(nil))
	index := entry(s.name.IndexFile(), s.records.Index())
	car := s.records.SideCar(s.file, index)
	car.FormatVersion, car.Stage, car.Fingerprint = FormatVersion, StageExamples, s.w.plan.Fingerprint
	raw := car.Compact()
	proof := entry(s.name.SideCar(), raw)
	proof.Task = car.Task
	for name, data := range map[string][]byte{index.Name: s.records.Index(), proof.Name: raw} {
		if err := store.WriteFile(ctx, s.w.folder, name, data); err != nil {
			return err
		}
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.files = append(s.w.files, car.File, car.Index, proof)
	s.w.shards++
	return nil
}

func entry(name string, data []byte) FileEntry {
	return FileEntry{Name: name, Bytes: int64(len(data)), SHA256: Hash(data)}
}

// A byteCounter counts the bytes written to it.
type byteCounter int64

func (n *byteCounter) Write(p []byte) (int, error) {
	*n += byteCounter(len(p))
	return len(p), nil
}
