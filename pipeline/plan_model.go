package pipeline

import (
	"cmp"

	"pretext/extract"
	"pretext/pipeline/filter"
	"pretext/pipeline/stage"
	"pretext/records/columns/consumers"
	"pretext/records/columns/formats"
	"pretext/sharding"
)

// Constants for predictions that cannot be measured before the run. Each comment states
// the origin of the value. "Measured" means measured with this program on
// bert-base-uncased and the dumps and books in the tests' shared data.
const (
	// Bytes of text per byte of a bzip2 dump. English Wikipedia's dump of 2020-01-01 has
	// 17.75 GB, and MLPerf's reference extracts 13.3 GB of text. Local dumps are sampled
	// instead.
	textPerDumpByte = 0.75
	// Documents per MB of Wikipedia text: 6 million articles in 13.3 GB.
	wikiDocuments = 450
	// Bytes of text per byte of books packed with gzip: 9.16 MB in 3.48 MB, measured.
	textPerPackedByte = 2.6
	// Books per MB of text: a book has about 400 kB.
	bookDocuments = 2.5
	// Tokens per MB of text: 209,000 to 244,000, measured.
	tokensPerMB = 230_000
	// Bytes of a documents directory per byte of text: 0.40 to 0.45, measured.
	documentsPerTextByte = 0.45
	storedPerTextByte    = 1.05 // without compression: JSON, IDs, titles
	// Bytes of word counts for training a vocabulary, per byte of text: 3 to 4 MB for the
	// 32 MB of a task.
	countsPerTextByte = 0.11
	// Size of records after gzip, relative to the size before: 1/2.47, measured.
	gzipOfRecords = 0.41
	// Average bytes of an id in a record: 2.1, measured.
	idBytes = 2.1
	// Bytes per token of an example in the temporary file for the shuffle: 290 bytes at
	// 128 tokens.
	scratchPerToken = 2.3
	// Bytes per second from Wikimedia's servers: their configuration allows 5 MB per
	// second for each of two connections. The user's network may be slower.
	wikimediaSpeed = 10e6
	// Memory of a task of the extract stage: a range's buffers, the largest page
	// and the block being written.
	extractTaskMemory = 48 << 20
)

// converted returns the expected size of the shards in the additional formats and for the
// consumers.
// records is the size of the records before compression.
func (c PlanConfig) converted(records float64) (bytes int64) {
	for _, name := range c.Formats {
		format, ok := formats.Get(name)
		if !ok {
			continue
		}
		share := format.About().IDsShare
		if c.Run.Examples.Form().Masks() {
			share = format.About().MaskedShare
		}
		bytes += int64(records * share)
	}
	for _, name := range c.For {
		consumer, err := consumers.Get(name)
		if err == nil && consumer.Share > 0 {
			bytes += int64(records * consumer.Share)
		} else if err == nil && consumer.Format != "" {
			bytes += PlanConfig{Run: c.Run, Formats: []string{consumer.Format}}.converted(records)
		}
	}
	return bytes
}

// recordBytes returns the approximate disk space of an example, including its index entry
// and its part of the side-car. Measured: 530 bytes at 64 tokens and 10 predictions, 850
// at 128 and 20, 1,500 at 256 and 40, 2,800 at 512 and 76. Without masks, the size
// depends only on the number of tokens.
func recordBytes(o sharding.ExamplesOptions, tokens float64) float64 {
	if !o.Form().Masks() {
		return 100 + idBytes*tokens
	}
	return 200 + 4.0*float64(o.MaxSeqLength) + 7.5*float64(o.MaxPredictionsPerSeq)
}

// A forecast is the predicted output and resources of a run.
type forecast struct {
	Records float64
	Shards  int
	Disk    PlannedDisk
	Memory  PlannedMemory
}

// documentsPerText returns the size of a documents file at this compression level,
// relative to the size of its text.
func documentsPerText(l extract.Level) float64 {
	if l == extract.Stored {
		return storedPerTextByte
	}
	return documentsPerTextByte
}

// foresee predicts the output, disk space and memory of a run. corpus is the
// expected size of the documents of all sources; download is the number of
// bytes to download.
func (c PlanConfig) foresee(corpus filter.Corpus, download int64) forecast {
	o := c.Run.Examples
	text, documents := float64(corpus.TextBytes), float64(corpus.Documents)
	passes := cmp.Or(c.passes, 1)
	f := forecast{Shards: o.Shards}
	if f.Shards == 0 {
		f.Shards = max(1, sharding.DefaultShards(int64(text*passes)))
	}
	perPass := o.How().Expect(o.Options, text*passes/1e6*tokensPerMB, documents*passes)
	f.Records = perPass * float64(o.DupeFactor)
	shards := f.Records * recordBytes(o, text*passes/1e6*tokensPerMB/max(1, perPass))
	converted := c.converted(shards)
	if o.Compression == "gzip" {
		shards *= gzipOfRecords
	}
	workers := min(max(1, c.Workers), f.Shards)
	scratch := f.Records / float64(f.Shards) * scratchPerToken * float64(o.MaxSeqLength) * float64(workers)
	if !o.Form().Masks() {
		scratch = 0 // texts are shuffled instead of examples
	}
	f.Disk = PlannedDisk{Sources: download, Documents: int64(text * documentsPerText(c.Run.Extract.DocumentsLevel())), Shards: int64(shards), Converted: converted, Scratch: int64(scratch)}
	if o := c.Run.Filter.WithDefaults(); o.Enabled() {
		f.Disk.Filtered = f.Disk.Documents + o.Disk(corpus) // assuming that all documents are kept
	}
	if c.Run.Vocab == "" && c.Run.Tokenizer == "" {
		f.Disk.Vocab = int64(text*countsPerTextByte) + 1e6
	}
	f.Disk.Peak = f.Disk.Sources + f.Disk.Documents + f.Disk.Filtered + f.Disk.Vocab + f.Disk.Shards + f.Disk.Converted + f.Disk.Scratch
	f.Memory = c.foreseeMemory(corpus, f.Shards)
	return f
}

// foreseeMemory predicts the memory of a run. It uses the same formulas as the checks at
// the start of each stage, and returns the values of the stage that needs most.
func (c PlanConfig) foreseeMemory(corpus filter.Corpus, shards int) PlannedMemory {
	workers := max(1, c.Workers)
	perByte := int64(textPerByte)
	if c.Run.Tokenizer != "" || c.Run.training().TokenizerFile() {
		perByte *= 2 // assume that ids take four bytes
	}
	const largest = 1 << 20 // size of the largest document in nearly all corpora
	shard := int64(float64(corpus.TextBytes)*cmp.Or(c.passes, 1)) / int64(shards)
	if c.Run.Examples.NSPNegatives != "" && shards > 1 {
		shard += max(sharding.NegativesBytes, shard) // text of other shards
	}
	examples := taskMemory + minScratch + shard*perByte + 3*largest
	makers := int64(min(workers, shards))
	m := PlannedMemory{Allowed: c.Run.Memory, Needed: stage.BaseMemory + max(makers*examples, int64(workers)*extractTaskMemory)}
	var filterPeak int64
	if o := c.Run.Filter.WithDefaults(); o.Enabled() {
		var needed int64
		needed, filterPeak = o.Memory(corpus, workers, c.Run.Memory)
		m.Needed = max(m.Needed, needed)
	}
	spare := max(0, m.Allowed-m.Needed) / 2
	blocks := float64(corpus.TextBytes) * cmp.Or(c.passes, 1) / float64(extract.BlockBytes(corpus.TextBytes))
	m.Driver = DriverMemory(int64(blocks), shards)
	m.Peak = max(m.Needed+min(spare, makers*(maxScratch-minScratch)), filterPeak, m.Driver)
	return m
}

// DriverMemory returns the memory of the process that plans the stage examples and writes
// its manifest, in bytes, without tasks in this process. Measured by
// internal/dev/bench/scale, which compares, to a fifth.
func DriverMemory(blocks int64, shards int) int64 {
	const base, perBlock, perShard = 36e6, 45, 4700
	return base + blocks*perBlock + int64(shards)*perShard
}
