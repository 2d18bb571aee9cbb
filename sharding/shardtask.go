package sharding

import (
	"context"
	"fmt"
	"iter"

	"pretext/extract"
)

// A ShardTask is the plan of a shard: the blocks of documents from which it is
// made. With a mix, blocks may be read more than once, and not all documents of a
// block are used: see [ShardTask.Documents].
type ShardTask struct {
	Blocks  BlockList `json:"blocks"`            // read in the first pass
	Repeats []Repeat  `json:"repeats,omitempty"` // those of further passes, in order

	// Negatives is what random segments are taken from; nil for the shard's own
	// documents, without [pretrain.NegativesCorpus].
	Negatives *Negatives `json:"negatives,omitempty"`
}

// A Repeat is the blocks that a shard reads in a later pass over the documents.
type Repeat struct {
	Pass   int       `json:"pass"` // from 1
	Blocks BlockList `json:"blocks"`
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
// then those that only random segments are of. Corpora are in the order of
// [ExamplesOptions.Splits]. After each block of the shard it calls read with the size
// of that block's text in bytes.
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
		split := e.options.split(doc.ID)
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

// Documents yields the documents of a shard with the options o, those of the train
// and those of the eval split: with a mix, the chosen ones, as often as they are
// chosen. It yields at most one error. After each block it calls read with the size
// of that block's text in bytes.
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
	return r.chosen(c.options.RandomSeed, pass, idHash(doc.ID), c.options.HeldOut(doc.ID)), nil
}
