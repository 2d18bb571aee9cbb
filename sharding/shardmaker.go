package sharding

import (
	"context"
	"io"

	"pretext/records/pretrain"
)

// A ShardMaker makes shards from their documents, one after another. The examples stage
// uses it to make shards, and verify --remake to check them. It must not be used by
// several goroutines at once.
type ShardMaker struct {
	options ExamplesOptions
	encoder *Encoder
	corpora []*Corpus // one per split
	maker   pretrain.Maker
	writers []*ShardWriter // one per file of a shard in one split
}

// NewShardMaker returns a ShardMaker for shards with the options o. If the recipe
// shuffles examples, scratch stores them until they are written.
func NewShardMaker(t *Tokenizer, o ExamplesOptions, scratch pretrain.Scratch) (*ShardMaker, error) {
	maker, err := o.How().New(o.Options, t.Vocab, scratch)
	if err != nil {
		return nil, err
	}
	m := &ShardMaker{options: o, encoder: t.NewEncoder(), maker: maker}
	for range o.ShardFiles(Train, 0) {
		m.writers = append(m.writers, NewShardWriter(o))
	}
	for range o.Splits() {
		m.corpora = append(m.corpora, t.NewCorpus())
	}
	return m, nil
}

// Read tokenizes the documents of a shard and its negatives, each document into the
// corpus of its split. locations are the paths of the documents folders. After each block
// of the shard's documents, Read calls read with the size of the block's text in bytes.
func (m *ShardMaker) Read(ctx context.Context, t ShardTask, locations []string, read func(textBytes int64)) error {
	for _, c := range m.corpora {
		c.Reset()
	}
	return t.Tokenize(ctx, m.encoder, locations, m.corpora, read)
}

// Make writes the records of one split of the shard that was last given to Read. split is
// an index of [ExamplesOptions.Splits]. names are from [ExamplesOptions.ShardFiles]; Make
// writes the file names[i] to outs[i]. It returns one writer for each file, with its
// counts and checksums. The writers are valid until the next Make.
func (m *ShardMaker) Make(ctx context.Context, split int, names []ShardName, outs []io.Writer) ([]*ShardWriter, error) {
	for i, name := range names {
		m.writers[i].Reset(outs[i], name, name.Seed(m.options.RandomSeed))
	}
	if err := BuildShard(ctx, m.maker, m.corpora[split], m.writers); err != nil {
		return nil, err
	}
	for _, w := range m.writers {
		if err := w.Flush(); err != nil {
			return nil, err
		}
	}
	return m.writers, nil
}

// Memory of a task that makes a shard, measured on real runs and rounded up.
// docs/internals.md describes the limit for peak memory: the sum, over all concurrent
// tasks, of shard + largest document.
const (
	TaskMemory  = 16 << 20 // bytes of a task's word cache, block buffers and output buffers
	MinScratch  = 8 << 20  // minimum bytes of examples that a task may hold in memory
	TextPerByte = 2        // bytes of ids and sentence marks per byte of text, for vocabularies below 65,537 entries
)

// Memory returns the number of bytes needed to make the shard, with [MinScratch]. wide is
// [Tokenizer.Wide].
func (s ShardSize) Memory(wide bool) int64 {
	perByte := int64(TextPerByte)
	if wide {
		perByte *= 2
	}
	// The largest document is in memory three times: as compressed frame, JSON and text.
	return TaskMemory + MinScratch + s.TextBytes*perByte + 3*s.LargestBlock
}

// Size returns the size of the shard.
func (t ShardTask) Size() (s ShardSize) {
	lists := t.passes()
	if t.Negatives != nil {
		lists = append(lists, Repeat{Blocks: t.Negatives.Blocks})
	}
	for _, r := range lists {
		s.TextBytes += r.Blocks.TextBytes()
		s.LargestBlock = max(s.LargestBlock, r.Blocks.LargestBlock())
	}
	return s
}
