package sharding

import (
	"context"
	"fmt"
	"iter"

	"pretext/extract"
)

// A ShardTask is the plan of a shard. It lists the blocks of documents from which the
// shard is made. With a mix, blocks may be read more than once, and some documents of a
// block may be skipped: see [ShardTask.Documents].
type ShardTask struct {
	Blocks  BlockList `json:"blocks"`            // blocks for the first pass
	Repeats []Repeat  `json:"repeats,omitempty"` // blocks for further passes, in order

	// Negatives select the documents for random segments. Without
	// [pretrain.NegativesCorpus] it is nil, and random segments come from the shard's own
	// documents.
	Negatives *Negatives `json:"negatives,omitempty"`
}

// A Repeat lists the blocks that a shard reads in a later pass over the documents.
type Repeat struct {
	Pass   int       `json:"pass"` // from 1
	Blocks BlockList `json:"blocks"`
}

// plain reports whether the task has only blocks.
func (t ShardTask) plain() bool { return t.Repeats == nil && t.Negatives == nil }

// line returns the line of JSON of a plain task as package json writes it, which takes
// twice as long. A plan may have millions of blocks.
func (t ShardTask) line() []byte {
	blocks := t.Blocks.appendJSON(append(make([]byte, 0, 64+48*len(t.Blocks)), `{"blocks":`...))
	return append(blocks, "}\n"...)
}

// passes returns the blocks of all passes.
func (t ShardTask) passes() []Repeat { return append([]Repeat{{0, t.Blocks}}, t.Repeats...) }

// TextBytes returns the bytes of text in the blocks of all passes.
func (t ShardTask) TextBytes() (n int64) {
	for _, r := range t.passes() {
		n += r.Blocks.TextBytes()
	}
	return n
}

// CountDocuments returns the number of documents in the blocks of all passes. With
// a mix, the shard may have fewer.
func (t ShardTask) CountDocuments() (n int64) {
	for _, r := range t.passes() {
		n += r.Blocks.CountDocuments()
	}
	return n
}

// Tokenize tokenizes the documents of a shard, each into the corpus of its split, and
// then the documents that are used only for random segments. corpora is in the order of
// [ExamplesOptions.Splits]. After each block of the shard, Tokenize calls read with the
// size of the block's text in bytes.
func (t ShardTask) Tokenize(ctx context.Context, e *Encoder, locations []string, corpora []*Corpus, read func(textBytes int64)) error {
	var negatives rangeCursor
	if t.Negatives != nil {
		negatives = t.Negatives.Own
	}
	number := int64(0)
	for doc, err := range t.Documents(ctx, e.options, locations, read) {
		if err != nil {
			return err
		}
		split := e.options.split(doc.SplitID())
		c := corpora[split]
		before := c.Documents()
		if err := e.Add(c, doc); err != nil {
			return err
		}
		if t.Negatives != nil && c.Documents() > before {
			if negatives.has(number) {
				c.MarkNegative()
			}
			t.Negatives.follow(c, split, doc.ID)
		}
		number++
	}
	if t.Negatives == nil {
		return nil
	}
	return t.Negatives.addNegatives(ctx, e, e.options, locations, corpora)
}

// Documents yields the documents of a shard with the options o, in all splits. With a
// mix, it yields only the chosen documents, as often as they are chosen. It yields at
// most one error. After each block it calls read with the size of the block's text in
// bytes.
func (t ShardTask) Documents(ctx context.Context, o ExamplesOptions, locations []string, read func(textBytes int64)) iter.Seq2[*extract.Document, error] {
	if o.Mix == nil {
		return t.Blocks.Documents(ctx, locations, read)
	}
	return func(yield func(*extract.Document, error) bool) {
		choice := newMixChoice(o)
		for _, r := range t.passes() {
			source := MixPart{}
			begin := func(f *FileBlocks) { source = MixPart{f.Folder, SourceOf(f.Name)} }
			for doc, err := range r.Blocks.documents(ctx, locations, read, begin) {
				chosen := false
				if err == nil {
					chosen, err = choice.chosen(source, r.Pass, doc)
				}
				if err != nil {
					yield(nil, err)
					return
				}
				if chosen && !yield(doc, nil) {
					return
				}
			}
		}
	}
}

// A mixChoice chooses documents by the table of a mix.
type mixChoice struct {
	options ExamplesOptions
	rows    map[partLanguage]*MixRow
}

type partLanguage struct {
	MixPart
	language string // "" if languages do not matter
}

func newMixChoice(o ExamplesOptions) *mixChoice {
	c := &mixChoice{o, map[partLanguage]*MixRow{}}
	for i := range o.Mix.Table {
		r := &o.Mix.Table[i]
		for _, part := range r.parts() {
			c.rows[partLanguage{part, r.Language}] = r
		}
	}
	return c
}

// chosen reports whether a document of a source is read in a pass.
func (c *mixChoice) chosen(source MixPart, pass int, doc *extract.Document) (bool, error) {
	language := ""
	if c.options.Mix.LanguageAlpha != nil {
		language = doc.Lang
	}
	r, ok := c.rows[partLanguage{source, language}]
	if !ok {
		return false, fmt.Errorf("%w: the table of the mix has no row for language %q of source %s", ErrFormat, language, source.Source)
	}
	return r.chosen(c.options.RandomSeed, pass, idHash(doc.ID), c.options.HeldOut(doc.SplitID())), nil
}
