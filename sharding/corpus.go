package sharding

import (
	"fmt"

	"pretext/counts"
	"pretext/extract"
	"pretext/records/pretrain"
	"pretext/tokenize"
	"pretext/tokenize/hf"
	"pretext/tokenize/sentence"
)

// Names of the counts that describe the input documents of the examples.
var (
	Sentences     = counts.Declare("sentences", counts.About{Label: "sentences", In: counts.Summary, Meaning: "sentences with at least one token; not counted with the recipe tokens"})
	Tokens        = counts.Declare("tokens", counts.About{Label: "tokens", In: counts.Summary, Meaning: "tokens of the documents"})
	UnknownTokens = counts.Declare("unknown_tokens", counts.About{Label: "unknown tokens", In: counts.Summary, Meaning: "[UNK] among them"})
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

// An Encoder tokenizes documents and splits them into sentences. It must not be used by
// several goroutines at once.
//
// With a WordPiece vocabulary it tokenizes each sentence alone. With another
// tokenizer.json, [pretrain.Recipe] decides whether it tokenizes sentences or whole
// texts.
type Encoder struct {
	options   ExamplesOptions
	recipe    pretrain.Recipe
	whole     bool   // tokenize whole texts, not single sentences
	unknown   int32  // id of [UNK]
	spelling  []bool // by id, see [Tokenizer.spelling]
	sentences *sentence.LanguageSplitter
	tokens    sentenceEncoder
	ids       []int32
	ends      sentenceEnds
}

type textEncoder interface {
	AppendIDs(dst []int32, text string) []int32
}

type sentenceEncoder interface {
	textEncoder
	AppendIDsBytes(dst []int32, sentence []byte) []int32
	Err() error
}

// NewEncoder returns an encoder with the sentence splitter of the tokenizer's
// options.
func (t *Tokenizer) NewEncoder() *Encoder {
	recipe := t.Options.How()
	e := &Encoder{options: t.Options, recipe: recipe, whole: recipe.WholeTexts && t.file != nil, unknown: t.Unknown, spelling: t.spelled(),
		sentences: sentence.NewLanguageSplitter(t.Options.SentenceSplitter)}
	if t.file == nil {
		e.tokens = wordPieces{t.WordPiece.NewEncoder()}
	} else {
		e.tokens = &fileEncoder{encoder: t.file.NewEncoder(), marked: t.Vocab.Marked}
	}
	return e
}

// Add tokenizes a document and appends it to c, which must come from
// [Tokenizer.NewCorpus] of the same tokenizer. It does not retain doc. Documents
// after [pretrain.Corpus.BeginNegatives] are not counted.
func (e *Encoder) Add(c *Corpus, doc *extract.Document) error {
	add := addition{Encoder: e, corpus: c}
	err := add.document(doc)
	if err != nil {
		return err
	}
	if err := e.tokens.Err(); err != nil {
		return fmt.Errorf("document %s: %w", doc.ID, err)
	}
	c.EndDocument()
	if c.HasNegatives() {
		return nil
	}
	extract.Documents.Add(c.Counts, 1)
	if !e.recipe.Unsplit {
		Sentences.Add(c.Counts, add.sentences)
	}
	Tokens.Add(c.Counts, add.tokens)
	UnknownTokens.Add(c.Counts, add.unknown)
	SpelledLetters.Add(c.Counts, add.spelled)
	return nil
}

// An addition is a document being added to a corpus, with its counts.
type addition struct {
	*Encoder
	corpus                              *Corpus
	sentences, tokens, unknown, spelled int64
}

func (a *addition) document(doc *extract.Document) error {
	if a.whole || a.recipe.Unsplit {
		a.ids = a.Encoder.tokens.AppendIDs(a.ids[:0], doc.Text)
		if a.recipe.Unsplit && len(a.ids) <= a.options.MaxSeqLength {
			return a.sentence(a.ids) // no splitting into sentences
		}
	}
	if a.options.SentenceSplitter == sentence.Punkt && doc.Lang != "" && !sentence.HasPunkt(doc.Lang) && !a.corpus.HasNegatives() {
		if a.corpus.WithoutPunkt == nil {
			a.corpus.WithoutPunkt = map[string]int64{}
		}
		a.corpus.WithoutPunkt[doc.Lang]++
	}
	if a.whole {
		return a.wholeText(doc)
	}
	for line, err := range a.Encoder.sentences.Sentences(doc.Text, doc.Lang) {
		if err != nil {
			return err
		}
		a.ids = a.Encoder.tokens.AppendIDsBytes(a.ids[:0], line)
		if err := a.sentence(a.ids); err != nil {
			return err
		}
	}
	return nil
}

// wholeText splits a.ids, the ids of doc's whole text, into sentences and adds them.
func (a *addition) wholeText(doc *extract.Document) error {
	splitter, err := a.Encoder.sentences.For(doc.Lang)
	if err != nil {
		return err
	}
	from := 0
	for _, end := range a.ends.find(a.Encoder.tokens, wholeText{doc.Text, a.ids}, splitter) {
		if err := a.sentence(a.ids[from:end]); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// sentence adds a sentence, unless it has no tokens.
func (a *addition) sentence(ids []int32) error {
	if len(ids) == 0 {
		return nil
	}
	if err := a.corpus.AddSentence(ids); err != nil {
		return err
	}
	a.sentences, a.tokens = a.sentences+1, a.tokens+int64(len(ids))
	for _, id := range ids {
		if id == a.Encoder.unknown {
			a.unknown++
		}
	}
	if a.spelling == nil {
		return nil
	}
	for _, id := range ids {
		if a.spelling[id&^pretrain.Continues] { // remove the mark to get the index
			a.spelled++
		}
	}
	return nil
}

// wordPieces encodes sentences with WordPiece, which can encode any text.
type wordPieces struct{ *tokenize.Encoder }

// Err returns nil.
func (wordPieces) Err() error { return nil }

// A fileEncoder encodes sentences with a tokenizer.json that is not BERT's. For
// whole-word masking it marks the ids that continue a word.
type fileEncoder struct {
	encoder *hf.Encoder
	marked  bool
	starts  []bool
}

// Err returns the error of the [hf.Encoder].
func (e *fileEncoder) Err() error { return e.encoder.Err() }

// AppendIDsBytes appends the ids of a sentence to dst.
func (e *fileEncoder) AppendIDsBytes(dst []int32, sentence []byte) []int32 {
	if !e.marked {
		return e.encoder.AppendIDsBytes(dst, sentence)
	}
	return e.AppendIDs(dst, string(sentence))
}

// AppendIDs appends the ids of a text to dst.
func (e *fileEncoder) AppendIDs(dst []int32, text string) []int32 {
	if !e.marked {
		return e.encoder.AppendIDs(dst, text)
	}
	first := len(dst)
	dst, e.starts = e.encoder.AppendWords(dst, e.starts[:0], text)
	for i, start := range e.starts {
		if !start {
			dst[first+i] |= pretrain.Continues
		}
	}
	return dst
}
