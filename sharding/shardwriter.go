package sharding

import (
	"context"
	"io"
	"slices"

	"pretext/counts"
	"pretext/records"
	"pretext/records/pretrain"
	"pretext/records/tfrecord"
)

// Counts of records.
var (
	Records      = counts.Declare("records", counts.About{Label: "examples", In: counts.Summary, Meaning: "examples"})
	RecordTokens = counts.Declare("record_tokens", counts.About{Meaning: "their tokens without padding: tokens in the form tokens, tokens + 2 pieces in the form packed, tokens + 2 records in the form pieces"})
	Masked       = counts.Declare("masked", counts.About{Label: "masked positions", In: counts.Summary, Meaning: "predictions"})
	RandomNext   = counts.Declare("random_next", counts.About{Label: "random next sentences", In: counts.Summary, Meaning: "labels 1"})
	Pieces       = counts.Declare("pieces", counts.About{Label: "pieces in rows", In: counts.Summary, Meaning: "pieces of packed rows"})
	CutDocuments = counts.Declare("cut_documents", counts.About{Label: "documents cut", In: counts.Summary,
		Meaning: "documents that are in several records or rows as they fit none"})
	WithoutPredictions = counts.Declare("without_predictions", counts.About{Meaning: "examples without a prediction (whole words only)"})
)

// A ShardWriter writes the records of one shard after another, and collects the
// content of their indexes and side-cars. It does not create files; a [Writer]
// does. It must not be used by several goroutines at once.
type ShardWriter struct {
	options ExamplesOptions
	form    records.Form
	name    ShardName
	frames  *tfrecord.Writer
	body    ShardBody
	made    pretrain.Counts

	sources Counts // counts of the input documents
}

// NewShardWriter returns a ShardWriter. Call [ShardWriter.Reset] before writing.
func NewShardWriter(o ExamplesOptions) *ShardWriter {
	return &ShardWriter{options: o, form: o.Form(), frames: tfrecord.NewWriter(nil, tfrecord.WriterOptions{Gzip: o.Compression == CompressionGzip, Index: true})}
}

// Reset starts the shard with this name. Its records will be written to out.
// seed is the result of [ShardName.Seed].
func (s *ShardWriter) Reset(out io.Writer, name ShardName, seed int64) {
	s.frames.Reset(out)
	s.name, s.made, s.sources = name, pretrain.Counts{}, Counts{}
	s.body = ShardBody{RandomSeed: seed, Split: name.Split, Shard: name.Index, Shards: name.Count, Tokens: s.body.Tokens[:0], Masked: s.body.Masked[:0], Pieces: s.body.Pieces[:0]}
}

// Write appends an example. It can be the callback of a [pretrain.Maker].
func (s *ShardWriter) Write(r pretrain.Record) error {
	s.body.Tokens = append(s.body.Tokens, uint32(r.Tokens))
	if s.form.Masks() {
		s.body.Masked = append(s.body.Masked, uint16(r.Predictions))
	}
	if s.form.Rows() {
		s.body.Pieces = append(s.body.Pieces, uint32(r.Pieces))
	}
	s.made.Examples++
	s.made.Pieces += int64(r.Pieces)
	s.made.Tokens += int64(r.Tokens)
	s.made.Predictions += int64(r.Predictions)
	if r.RandomNext {
		s.made.RandomNext++
	}
	if r.Predictions == 0 {
		s.made.NoPredictions++
	}
	return s.frames.Write(r.Payload)
}

// Build appends the examples that b makes from c.
func (s *ShardWriter) Build(ctx context.Context, b pretrain.Maker, c *Corpus) error {
	return BuildShard(ctx, b, c, []*ShardWriter{s})
}

// BuildShard writes the examples that b makes from c to the files of a shard: each
// example to the file for its length bin. files is in the order of
// [ExamplesOptions.ShardFiles]. The counts of the documents are stored with the first
// file.
func BuildShard(ctx context.Context, b pretrain.Maker, c *Corpus, files []*ShardWriter) error {
	first := files[0]
	first.sources.Add(c.Counts)
	first.body.WithoutPunkt = c.WithoutPunkt
	write := first.Write
	memory := func(_, n int) []byte { return first.frames.Space(n) }
	if len(files) > 1 {
		byBin := map[int]*ShardWriter{}
		for _, f := range files {
			byBin[f.name.Bin] = f
		}
		write = func(r pretrain.Record) error { return byBin[r.Bin].Write(r) }
		memory = func(bin, n int) []byte { return byBin[bin].frames.Space(n) }
	}
	if m, ok := b.(interface {
		MakeIn(memory func(bin, n int) []byte)
	}); ok {
		m.MakeIn(memory)
	}
	made, err := b.Build(ctx, c.Corpus, first.body.RandomSeed, write)
	first.made.CutDocuments += made.CutDocuments
	if m, ok := b.(interface{ Followed() []pretrain.Followed }); ok {
		first.body.Followed = slices.Clone(m.Followed())
	}
	return err
}

// Flush writes the end of the records file. It does not close it.
func (s *ShardWriter) Flush() error { return s.frames.Close() }

// Index returns the content of the index file, valid until the next Reset.
func (s *ShardWriter) Index() []byte { return s.frames.Index() }

// SideCar returns the side-car of the shard. file and index are the manifest entries of
// its records file and index. The caller must set the stage and the fingerprint.
func (s *ShardWriter) SideCar(file, index FileEntry) SideCar {
	raw := s.body.compact()
	file.Counts = s.counts()
	file.Counts.Add(s.sources)
	keepSpelled(file.Counts)
	file.Task, index.Task = s.name.Index, s.name.Index
	return SideCar{Task: s.name.Index, File: file, Index: index, Body: raw, Facts: s.body.Facts(s.options)}
}

// counts returns the record counts that exist for this form of records.
func (s *ShardWriter) counts() Counts {
	c := Counts{Records.Key: s.made.Examples, RecordTokens.Key: s.made.Tokens}
	if s.form.Masks() {
		Masked.Add(c, s.made.Predictions)
		WithoutPredictions.Add(c, s.made.NoPredictions)
	} else {
		CutDocuments.Add(c, s.made.CutDocuments)
	}
	if s.form.Pairs() {
		RandomNext.Add(c, s.made.RandomNext)
	}
	if s.form.Rows() {
		Pieces.Add(c, s.made.Pieces)
	}
	return c
}
