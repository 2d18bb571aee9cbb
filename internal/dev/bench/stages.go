package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"pretext/extract"
	"pretext/extract/wiki"
	"pretext/extract/wiki/wikitext"
	"pretext/records"
	"pretext/records/pretrain"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/tokenize/sentence"
)

const (
	dupeFactor = 5                          // dupe factor of the examples
	shardBytes = sharding.DefaultShardBytes // text of a shard, the default of prepare-data
	seed       = 12345                      // of the first shard in prepare-data, so that the number of records is the same
	maxRecords = 100_000                    // kept in memory for the works on records
)

// stages returns the works on the corpus, in the order of the data path.
func (c *corpus) stages() []*work {
	works := []*work{
		c.decode(),
		c.splitPages(),
		c.scan(),
		work{name: "dump to text", of: "XML", bytes: c.xmlBytes}.inside(func() (int64, error) {
			stats, err := c.dump.documents(wiki.DefaultOptions(), func(*extract.Document) {})
			return stats.Pages, err
		}),
		work{name: "books to text", of: "text", bytes: c.textBytes - c.wikiBytes()}.inside(func() (n int64, err error) {
			return n, c.fromBooks(func(*extract.Document) { n++ })
		}),
	}
	works = append(works, c.documentsFile()...)
	works = append(append(works, c.splitSentences(), c.wordPiece()), c.buildExamples()...)
	return append(works, c.recordFile()...)
}

func (c *corpus) wikiBytes() (n int64) {
	for _, d := range c.documents[:c.wiki] {
		n += int64(len(d.Text))
	}
	return n
}

func (c *corpus) decode() *work {
	return work{name: "bzip2 decoding", of: "XML", bytes: c.xmlBytes}.inside(func() (int64, error) {
		n, err := io.Copy(io.Discard, c.dump.decode())
		if err == nil && n != c.xmlBytes {
			err = fmt.Errorf("decoded %d bytes, want %d", n, c.xmlBytes)
		}
		return 0, err
	})
}

// splitPages returns the work of finding the pages and parsing their headers.
// No page is kept, so none is unescaped or scanned.
func (c *corpus) splitPages() *work {
	o := wiki.DefaultOptions()
	o.Namespaces = []int{-1} // media pages: a dump has none
	return work{name: "XML to pages", of: "XML", bytes: c.xmlBytes}.inside(func() (int64, error) {
		stats, err := c.xml.documents(o, func(*extract.Document) {})
		return stats.Pages, err
	})
}

func (c *corpus) scan() *work {
	size := int64(0)
	for _, p := range c.pages {
		size += int64(len(p.text))
	}
	s := wikitext.NewScanner(wikitext.DefaultOptions())
	var text []byte
	return work{name: "wikitext to text", of: "wikitext", bytes: size}.inside(func() (int64, error) {
		for _, p := range c.pages {
			text = s.AppendText(text[:0], p.text, wikitext.Page{Title: p.title, Lang: c.dump.head.Lang})
		}
		return int64(len(c.pages)), nil
	})
}

func (c *corpus) documentsFile() []*work {
	var file bytes.Buffer
	var blocks []extract.Block
	write := work{name: "documents file, writing", of: "text", bytes: c.textBytes}.inside(func() (int64, error) {
		file.Reset()
		w, err := extract.NewWriter(&file, extract.BlockBytes(int64(len(c.dump.data))), extract.DefaultLevel)
		if err != nil {
			return 0, err
		}
		for _, d := range c.documents {
			if err := w.Write(d); err != nil {
				return 0, err
			}
		}
		blocks, err = w.Close()
		return int64(len(c.documents)), err
	})
	read := work{name: "documents file, reading", of: "text", bytes: c.textBytes}.inside(func() (n int64, err error) {
		r, err := extract.NewBlockReader()
		if err != nil {
			return 0, err
		}
		defer r.Close()
		src := bytes.NewReader(file.Bytes())
		for _, b := range blocks {
			for _, err := range r.Documents(src, b) {
				if err != nil {
					return 0, err
				}
				n++
			}
		}
		return n, nil
	})
	return []*work{write, read} // in this order: read reads the output of write
}

func (c *corpus) splitSentences() *work {
	return work{name: "sentences (Punkt)", of: "text", bytes: c.textBytes}.inside(func() (n int64, err error) {
		sentences, err := c.splitter()
		if err != nil {
			return 0, err
		}
		for _, d := range c.documents {
			for range sentences(d.Text) {
				n++
			}
		}
		return n, nil
	})
}

// splitter returns a function that yields the clean sentences of a text. A
// sentence is valid until the next is yielded.
func (c *corpus) splitter() (func(text string) iter.Seq[[]byte], error) {
	splitter, err := sentence.New(sentence.Auto, c.dump.head.Lang)
	if err != nil {
		return nil, err
	}
	splitter = sentence.ByLine(splitter)
	var spans []sentence.Span
	var line []byte
	return func(text string) iter.Seq[[]byte] {
		return func(yield func([]byte) bool) {
			spans = splitter.AppendSpans(spans[:0], text)
			for _, s := range spans {
				if line = sentence.AppendClean(line[:0], text[s.Start:s.End]); len(line) > 0 && !yield(line) {
					return
				}
			}
		}
	}, nil
}

func (c *corpus) wordPiece() *work {
	enc := c.tok.NewEncoder()
	var ids []int32
	return work{name: "WordPiece", of: "text", bytes: c.lineBytes}.inside(func() (int64, error) {
		for _, s := range c.sentences {
			ids = enc.AppendIDsBytes(ids[:0], s)
		}
		return 0, nil
	})
}

// corpora returns the tokenized documents, divided into corpora of the size of
// a shard.
func (c *corpus) corpora() (all []*pretrain.Corpus, err error) {
	sentences, err := c.splitter()
	if err != nil {
		return nil, err
	}
	enc := c.tok.NewEncoder()
	size := shardBytes
	for _, d := range c.documents {
		if size += len(d.Text); size > shardBytes {
			all, size = append(all, pretrain.NewCorpus(c.tok.Vocab().Len())), 0
		}
		last := all[len(all)-1]
		for line := range sentences(d.Text) {
			if err := last.AddSentence(enc.AppendIDsBytes(nil, line)); err != nil {
				return nil, err
			}
		}
		last.EndDocument()
	}
	return all, nil
}

func (c *corpus) builder() (*pretrain.Builder, error) {
	o := pretrain.DefaultOptions()
	o.DupeFactor = dupeFactor
	return pretrain.NewBuilder(o, c.entries(), pretrain.Scratch{})
}

func (c *corpus) entries() pretrain.Vocab { return pretrain.NewVocab(c.tok.Vocab()) }

// rowsOf128 is the unit of recipes whose records have no fixed number of tokens.
const rowsOf128 = "rows of 128 tokens"

// A maker makes the records of a corpus.
type maker interface {
	Build(ctx context.Context, corpus *pretrain.Corpus, seed int64, yield func(pretrain.Record) error) (pretrain.Counts, error)
}

// buildExamples returns the works of making all records with their payloads, by
// recipe. Their sizes are those of the payloads. Where a record has no fixed number
// of tokens, 128 of them count as one.
func (c *corpus) buildExamples() []*work {
	packed := pretrain.Options{MaxSeqLength: 1024, DupeFactor: 1, PackSlack: 0.01}
	return []*work{
		c.build("examples (128/20, dupe 5)", "records", func() (maker, error) { return c.builder() }),
		c.build("recipe tokens", rowsOf128, func() (maker, error) {
			return pretrain.NewSplitter(pretrain.Options{MaxSeqLength: records.MaxValues, DupeFactor: 1}, c.entries())
		}),
		c.build("recipe packed (1,024)", rowsOf128, func() (maker, error) { return pretrain.NewPacker(packed, c.entries()) }),
	}
}

func (c *corpus) build(name, of string, newMaker func() (maker, error)) *work {
	var corpora []*pretrain.Corpus // cached after the first round
	w := &work{name: name, of: of}
	w.run = func(ctx context.Context) (sample, error) {
		if corpora == nil {
			var err error
			if corpora, err = c.corpora(); err != nil {
				return sample{}, err
			}
		}
		builder, err := newMaker()
		if err != nil {
			return sample{}, err
		}
		var size int64
		s, err := work{name: w.name, of: w.of}.inside(func() (n int64, err error) {
			size = 0
			for i, shard := range corpora {
				made, err := builder.Build(ctx, shard, seed+int64(i), func(r pretrain.Record) error {
					size += int64(len(r.Payload))
					return nil
				})
				if err != nil {
					return 0, err
				}
				if of == "records" {
					n += made.Examples
				} else {
					n += made.Tokens / 128
				}
			}
			return n, nil
		}).run(ctx)
		s.Bytes = size
		return s, err
	}
	return w
}

// recordFile returns the works of serializing and framing records.
func (c *corpus) recordFile() []*work {
	var parts []records.Parts
	var file []byte
	var payload, frames []byte
	encoder := records.NewEncoder(pretrain.DefaultOptions().MaxSeqLength, pretrain.DefaultOptions().MaxPredictionsPerSeq, 0)
	encode := func() (int64, error) {
		frames = frames[:0]
		for _, p := range parts {
			payload = encoder.Append(payload[:0], p)
			frames = tfrecord.AppendFrame(frames, payload)
		}
		return int64(len(parts)), nil
	}
	prepare := func(ctx context.Context) (err error) {
		if file != nil {
			return nil
		}
		if parts, file, err = c.records(ctx); err != nil {
			return err
		}
		if _, err = encode(); err == nil && !bytes.Equal(frames, file) { // once now, so that its memory is allocated
			err = errors.New("the encoder's records differ from the builder's")
		}
		return err
	}
	read := func() (n int64, err error) {
		r := tfrecord.NewReader(bytes.NewReader(file), tfrecord.ReaderOptions{})
		for {
			if _, err := r.Next(); err == io.EOF {
				return r.Records(), nil
			} else if err != nil {
				return 0, err
			}
		}
	}
	late := func(name string, do func() (int64, error)) *work {
		return &work{name: name, of: "records", run: func(ctx context.Context) (sample, error) {
			if err := prepare(ctx); err != nil {
				return sample{}, err
			}
			return work{name: name, of: "records", bytes: int64(len(file))}.inside(do).run(ctx)
		}}
	}
	return []*work{late("record encoding and framing", encode), late("TFRecord reading, with CRC", read)}
}

// records returns some records twice: as parts, and as the bytes of a file.
func (c *corpus) records(ctx context.Context) (parts []records.Parts, file []byte, err error) {
	corpora, err := c.corpora()
	if err != nil {
		return nil, nil, err
	}
	builder, err := c.builder()
	if err != nil {
		return nil, nil, err
	}
	enough := errors.New("enough")
	var e records.Example
	_, err = builder.Build(ctx, corpora[0], seed, func(r pretrain.Record) error {
		if len(parts) == maxRecords {
			return enough
		}
		if err := e.Decode(r.Payload); err != nil {
			return err
		}
		parts = append(parts, partsOf(&e, r.RandomNext))
		file = tfrecord.AppendFrame(file, r.Payload)
		return nil
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return parts, file, err
}

func partsOf(e *records.Example, randomNext bool) records.Parts {
	p := records.Parts{Tokens: e.Tokens(), Predictions: e.Predictions(), RandomNext: randomNext}
	p.Second = slices.Index(e.SegmentIDs[:p.Tokens], 1)
	p.IDs = records.AppendPacked(nil, e.InputIDs[:p.Tokens])
	p.Positions = records.AppendPacked(nil, e.MaskedLMPositions[:p.Predictions])
	p.Labels = records.AppendPacked(nil, e.MaskedLMIDs[:p.Predictions])
	return p
}
