package sharding

import (
	"pretext/extract"
	"pretext/records/pretrain"
	"pretext/tokenize/hf"
	"pretext/tokenize/sentence"
)

// A Corpus holds the tokenized documents of one split of a shard. Examples are
// made from the embedded [pretrain.Corpus].
type Corpus struct {
	*pretrain.Corpus
	Counts       Counts           // documents, sentences, tokens, unknown_tokens, spelled_letters
	WithoutPunkt map[string]int64 // documents by language; see [ShardBody]
}

// NewCorpus returns an empty corpus for the tokenizer's ids.
func (t *Tokenizer) NewCorpus() *Corpus {
	c := pretrain.NewCorpus
	if t.Vocab.Marked {
		c = pretrain.NewMarkedCorpus
	}
	return &Corpus{Corpus: c(t.Vocab.Size), Counts: Counts{}}
}

// Reset empties the corpus and keeps its memory for reuse.
func (c *Corpus) Reset() {
	c.Corpus.Reset()
	c.Counts, c.WithoutPunkt = Counts{}, nil
}

// An Encoder splits documents into sentences and tokenizes them. It must not be
// used by several goroutines at once.
type Encoder struct {
	splitter  string
	unknown   int32  // id of [UNK]
	spelling  []bool // by id, see [Tokenizer.spelling]
	sentences *sentence.LanguageSplitter
	tokens    sentenceEncoder
	ids       []int32
}

type sentenceEncoder interface {
	AppendIDsBytes(dst []int32, sentence []byte) []int32
}

// NewEncoder returns an encoder with the sentence splitter of the tokenizer's
// options.
func (t *Tokenizer) NewEncoder() *Encoder {
	e := &Encoder{splitter: t.Options.SentenceSplitter, unknown: t.Unknown, spelling: t.spelled(), sentences: sentence.NewLanguageSplitter(t.Options.SentenceSplitter)}
	if t.file == nil {
		e.tokens = t.WordPiece.NewEncoder()
	} else {
		e.tokens = &fileEncoder{encoder: t.file.NewEncoder(), marked: t.Vocab.Marked}
	}
	return e
}

// Add tokenizes a document and appends it to c, which must come from
// [Tokenizer.NewCorpus] of the same tokenizer. It does not retain doc.
func (e *Encoder) Add(c *Corpus, doc *extract.Document) error {
	var sentences, tokens, unknown, spelled int64
	for line, err := range e.sentences.Sentences(doc.Text, doc.Lang) {
		if err != nil {
			return err
		}
		e.ids = e.tokens.AppendIDsBytes(e.ids[:0], line)
		if len(e.ids) == 0 {
			continue
		}
		if err := c.AddSentence(e.ids); err != nil {
			return err
		}
		sentences, tokens = sentences+1, tokens+int64(len(e.ids))
		for _, id := range e.ids {
			if id == e.unknown {
				unknown++
			}
			if e.spelling != nil && e.spelling[id&^pretrain.Continues] { // a marked id has the flag
				spelled++
			}
		}
	}
	c.EndDocument()
	if e.splitter == sentence.Punkt && doc.Lang != "" && !sentence.HasPunkt(doc.Lang) {
		if c.WithoutPunkt == nil {
			c.WithoutPunkt = map[string]int64{}
		}
		c.WithoutPunkt[doc.Lang]++
	}
	c.Counts.Add(Counts{"documents": 1, "sentences": sentences, "tokens": tokens, "unknown_tokens": unknown, countSpelled: spelled})
	return nil
}

// A fileEncoder encodes sentences with a tokenizer.json that is not BERT's. For
// whole-word masking it marks the ids that continue a word.
type fileEncoder struct {
	encoder *hf.Encoder
	marked  bool
	starts  []bool
}

// AppendIDsBytes appends the ids of a sentence to dst.
func (e *fileEncoder) AppendIDsBytes(dst []int32, sentence []byte) []int32 {
	if !e.marked {
		return e.encoder.AppendIDsBytes(dst, sentence)
	}
	first := len(dst)
	dst, e.starts = e.encoder.AppendWords(dst, e.starts[:0], string(sentence))
	for i, start := range e.starts {
		if !start {
			dst[first+i] |= pretrain.Continues
		}
	}
	return dst
}
