package vocab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"unicode/utf8"

	"pretext/tokenize"
	"pretext/tokenize/hf"
)

// Models that can be trained.
const (
	WordPiece = "wordpiece" // vocab.txt
	BPE       = "bpe"       // byte-level BPE; tokenizer.json
	Unigram   = "unigram"   // as sentencepiece; tokenizer.json
)

// models returns the names of the models that can be trained.
func models() []string { return []string{WordPiece, BPE, Unigram} }

// TokenizerFile reports whether the model is written as a tokenizer.json instead
// of a vocab.txt.
func (o Options) TokenizerFile() bool { return o.Model == BPE || o.Model == Unigram }

// frames holds the parts of a tokenizer.json around the model: how text is normalized and
// split into words. For BPE these are the parts of ModernBERT. For Unigram they are those
// of the library's SentencePieceUnigramTokenizer, which replaces white space by one space
// and begins every word with "▁".
var frames = map[string]frame{
	BPE: {
		normalizer:   `{"type":"NFC"}`,
		preTokenizer: `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}`,
		decoder:      `{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}`,
	},
	Unigram: {
		normalizer:   `{"type":"Sequence","normalizers":[{"type":"Nmt"},{"type":"NFKC"},{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]}`,
		preTokenizer: `{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}`,
		decoder:      `{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}`,
	},
}

type frame struct{ normalizer, preTokenizer, decoder string }

// file returns a tokenizer.json with the given model and added tokens.
func (f frame) file(model []byte, added []string) []byte {
	var b bytes.Buffer
	b.WriteString(`{"version":"1.0","truncation":null,"padding":null,"added_tokens":[`)
	for id, token := range added {
		if id > 0 {
			b.WriteByte(',')
		}
		lstrip := token == tokenize.MaskToken
		fmt.Fprintf(&b, `{"id":%d,"content":%q,"single_word":false,"lstrip":%t,"rstrip":false,"normalized":false,"special":true}`, id, token, lstrip)
	}
	template := `{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}}],` +
		`"pair":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}},{"Sequence":{"id":"B","type_id":1}},{"SpecialToken":{"id":"[SEP]","type_id":1}}],` +
		`"special_tokens":{"[CLS]":{"id":"[CLS]","ids":[%d],"tokens":["[CLS]"]},"[SEP]":{"id":"[SEP]","ids":[%d],"tokens":["[SEP]"]}}}`
	fmt.Fprintf(&b, `],"normalizer":%s,"pre_tokenizer":%s,"post_processor":`, f.normalizer, f.preTokenizer)
	fmt.Fprintf(&b, template, clsID, sepID)
	fmt.Fprintf(&b, `,"decoder":%s,"model":%s}`, f.decoder, model)
	b.WriteByte('\n')
	return b.Bytes()
}

// Ids of special tokens: their indexes in tokenize.SpecialTokens.
const (
	unkID = 1
	clsID = 2
	sepID = 3
)

// splitter returns an encoder that splits text into the same words as the model. As in the
// library's trainers, it treats special tokens in the text as ordinary text.
func (f frame) splitter() *hf.Encoder {
	vocab := map[string]int{}
	for id, token := range tokenize.SpecialTokens() {
		vocab[token] = id
	}
	tokens, err := json.Marshal(vocab)
	if err != nil {
		panic("BUG: vocabulary: " + err.Error())
	}
	file := f.file(fmt.Appendf(nil, `{"type":"WordLevel","unk_token":%q,"vocab":%s}`, tokenize.UnkToken, tokens), nil)
	t, err := hf.Load("frame", file)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return t.NewEncoder()
}

// Tokenizer learns a model other than WordPiece from words and returns the content of a
// tokenizer.json and its number of tokens. The words must come from [Counts] with the same
// options, merged with [Merge]. See [Trainer.Vocabulary] for the order of words and for
// errors.
func (t Trainer) Tokenizer(ctx context.Context, words iter.Seq2[WordCount, error]) (file []byte, tokens int, err error) {
	model, tokens, err := t.model(ctx, words)
	if err != nil {
		return nil, 0, fmt.Errorf("train vocabulary: %w", err)
	}
	return frames[t.Model].file(model, tokenize.SpecialTokens()), tokens, nil
}

func (t Trainer) model(ctx context.Context, words iter.Seq2[WordCount, error]) (model []byte, tokens int, err error) {
	c, err := t.corpus(ctx, words)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, c.list.close()) }()
	switch t.Model {
	case BPE:
		return t.trainBPE(ctx, c)
	case Unigram:
		return t.trainUnigram(ctx, c)
	}
	return nil, 0, fmt.Errorf("model %q: not a tokenizer.json", t.Model)
}

// trainBPE returns the model of byte-level BPE. Its tokens are the special tokens, the 256
// characters that represent bytes, and the results of merges.
func (t Trainer) trainBPE(ctx context.Context, c *corpus) (model []byte, tokens int, err error) {
	v := newVocabulary(tokenize.SpecialTokens())
	v.plain = true
	s := newSpelling()
	for _, r := range hf.ByteAlphabet() {
		id := v.add(string(r))
		s[first][r], s[later][r] = id, id
	}
	for r, n := range c.letters {
		if n > 0 && s[first][r] == noToken {
			return nil, 0, fmt.Errorf("character %q: not of byte-level BPE", rune(r))
		}
	}
	if err := t.learn(ctx, c, v, s); err != nil {
		return nil, 0, err
	}
	b := []byte(`{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{`)
	for id, token := range v.tokens {
		if id > 0 {
			b = append(b, ',')
		}
		b = append(quote(b, token), ':')
		b = strconv.AppendInt(b, int64(id), 10)
	}
	b = append(b, `},"merges":[`...)
	for i, m := range v.merges {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(quote(append(b, '['), v.tokens[m[0]]), ',')
		b = append(quote(b, v.tokens[m[1]]), ']')
	}
	return append(b, `]}`...), len(v.tokens), nil
}

// quote appends s, which must be valid UTF-8, as a JSON string.
func quote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ':
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
