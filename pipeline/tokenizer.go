package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"pretext/records/pretrain"
	"pretext/sharding"
	"pretext/tokenize"
	"pretext/tokenize/hf"
)

// A TokenizerInfo is what a reader of records must know of the tokenizer.json
// that they were made with. It says it in the manifest.
type TokenizerInfo struct {
	Model     string `json:"model"`      // wordpiece or byte-level-bpe
	VocabSize int    `json:"vocab_size"` // ids are below it
	hf.Specials
}

// Models of a tokenizer.json.
const (
	modelWordPiece = "wordpiece"
	modelByteLevel = "byte-level-bpe"
)

// A tokenFile names the file that says how text becomes ids: a vocab.txt or a
// tokenizer.json. One of the two is set.
type tokenFile struct{ vocab, tokenizer string }

// name returns the name of the stages' own copies.
func (f tokenFile) name() string {
	if f.tokenizer != "" {
		return sharding.TokenizerName
	}
	return sharding.VocabName
}

// given reports whether a file is named.
func (f tokenFile) given() bool { return f.vocab != "" || f.tokenizer != "" }

func (f tokenFile) path() string {
	if f.tokenizer != "" {
		return f.tokenizer
	}
	return f.vocab
}

// tokens is a tokenFile that was read.
type tokens struct {
	raw       []byte
	tokenizer *tokenizer
	options   ExamplesOptions // in force
}

// read reads the file from the local disk, under the options asked for.
func (f tokenFile) read(o ExamplesOptions) (*tokens, error) {
	if f.vocab != "" && f.tokenizer != "" {
		return nil, &ConfigError{errors.New("a vocabulary and a tokenizer are given: which of them?")}
	}
	raw, err := os.ReadFile(f.path())
	if err != nil {
		return nil, err
	}
	o.Tokenizer = nil
	if f.tokenizer != "" {
		if o, err = fileOptions(f.tokenizer, raw, o); err != nil {
			return nil, err
		}
	}
	t, err := newTokenizer(f.path(), raw, o)
	return &tokens{raw, t, o}, err
}

// fileOptions returns the options with what a tokenizer.json decides.
func fileOptions(path string, raw []byte, o ExamplesOptions) (ExamplesOptions, error) {
	file, err := hf.Load(path, raw)
	if err != nil {
		return o, fmt.Errorf("%w tokenizer, or one that is not supported: %w", ErrDamaged, err)
	}
	specials, err := file.Specials()
	if err != nil {
		return o, &ConfigError{err}
	}
	o.Tokenizer = &TokenizerInfo{Model: modelByteLevel, VocabSize: file.Len(), Specials: specials}
	o.DoLowerCase, o.TokenizerProfile = false, ""
	if wp := file.WordPiece(); wp != nil {
		o.Tokenizer.Model = modelWordPiece
		o.DoLowerCase, o.TokenizerProfile = wp.Options().DoLowerCase, wp.Options().Profile
	}
	return o, nil
}

// A tokenizer is what the examples stage knows of the file. It may be shared.
type tokenizer struct {
	wordPiece *tokenize.Tokenizer
	byteLevel *hf.Tokenizer // where it is not WordPiece
	vocab     pretrain.Vocab
	unknown   int32 // -1 where nothing is unknown
	warning   string
}

// newTokenizer makes sense of the bytes of a file under options in force.
func newTokenizer(name string, raw []byte, o ExamplesOptions) (*tokenizer, error) {
	if o.Tokenizer == nil {
		return newVocabTokenizer(name, raw, o)
	}
	file, err := hf.Load(name, raw)
	if err != nil {
		return nil, fmt.Errorf("%w tokenizer: %w", ErrDamaged, err)
	}
	info := o.Tokenizer
	t := &tokenizer{wordPiece: file.WordPiece(), unknown: info.Unk, warning: file.Warning(),
		vocab: pretrain.Vocab{Size: info.VocabSize, CLS: info.CLS, SEP: info.SEP, Mask: info.Mask, Pad: info.Pad}}
	if t.wordPiece != nil {
		t.vocab.IsSubword = t.wordPiece.Vocab().IsSubword
		return t, nil
	}
	t.byteLevel = file
	t.vocab.Marked = o.DoWholeWordMask
	return t, nil
}

// newVocabTokenizer makes a tokenizer of a vocab.txt.
func newVocabTokenizer(name string, raw []byte, o ExamplesOptions) (*tokenizer, error) {
	v, err := tokenize.ReadVocab(name, raw)
	if err != nil {
		return nil, fmt.Errorf("%w vocabulary: %w", ErrDamaged, err)
	}
	opts := tokenize.DefaultOptions()
	opts.DoLowerCase, opts.Profile = o.DoLowerCase, o.TokenizerProfile
	wp, err := tokenize.New(v, opts)
	if err != nil {
		return nil, err
	}
	// The original pads with 0, wherever [PAD] is.
	return &tokenizer{wordPiece: wp, unknown: v.UNK(),
		vocab: pretrain.Vocab{Size: v.Len(), CLS: v.CLS(), SEP: v.SEP(), Mask: v.MASK(), IsSubword: v.IsSubword}}, nil
}

// newCorpus returns an empty corpus for the tokenizer's ids.
func (t *tokenizer) newCorpus() *pretrain.Corpus {
	if t.vocab.Marked {
		return pretrain.NewMarkedCorpus(t.vocab.Size)
	}
	return pretrain.NewCorpus(t.vocab.Size)
}

// wide reports whether an id in a corpus takes four bytes.
func (t *tokenizer) wide() bool { return t.vocab.Marked || t.vocab.Size > 1<<16 }

// A sentenceEncoder turns sentences into ids. It is for one goroutine.
type sentenceEncoder interface {
	AppendIDsBytes(dst []int32, sentence []byte) []int32
}

func (t *tokenizer) newEncoder() sentenceEncoder {
	if t.byteLevel == nil {
		return t.wordPiece.NewEncoder()
	}
	return &byteLevelEncoder{encoder: t.byteLevel.NewEncoder(), marked: t.vocab.Marked}
}

// A byteLevelEncoder marks the ids that continue a word where that is asked for.
type byteLevelEncoder struct {
	encoder *hf.Encoder
	marked  bool
	starts  []bool
}

// AppendIDsBytes appends the ids of a sentence.
func (e *byteLevelEncoder) AppendIDsBytes(dst []int32, sentence []byte) []int32 {
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

// checkTokens reads a vocabulary or tokenizer, which must be what the manifest
// says of it.
func (c *folderCheck) checkTokens(name string, raw []byte) error {
	if name == sharding.VocabName {
		_, err := tokenize.ReadVocab(name, raw)
		return err
	}
	o, err := fileOptions(name, raw, ExamplesOptions{})
	if err != nil || c.m.Stage != "examples" {
		return err
	}
	var said ExamplesOptions
	if err := json.Unmarshal(c.m.Options, &said); err != nil {
		return err
	}
	if said.Tokenizer == nil || *said.Tokenizer != *o.Tokenizer {
		return fmt.Errorf("it is not what the manifest's options say of it")
	}
	return nil
}
