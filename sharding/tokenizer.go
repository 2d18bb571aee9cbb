package sharding

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/records/pretrain"
	"pretext/tokenize"
	"pretext/tokenize/hf"
)

// A TokenizerInfo describes a tokenizer.json in the manifest of a folder of shards. It
// contains only what is needed to read the records.
type TokenizerInfo struct {
	Model     string `json:"model"`      // wordpiece, byte-level-bpe, bpe, unigram or wordlevel
	VocabSize int    `json:"vocab_size"` // all ids are below VocabSize
	hf.Specials
}

// TokenizerOptions returns o, completed with the options that the tokenizer.json
// determines. raw is the content of the file, and path is its name for error messages.
func TokenizerOptions(path string, raw []byte, o ExamplesOptions) (ExamplesOptions, error) {
	file, err := loadFile(path, raw)
	if err != nil {
		return o, err
	}
	specials, err := file.Specials()
	if err != nil && !o.needsOnly(specials) {
		return o, failure.Usage(o.lessNeeded(err, func(o ExamplesOptions) bool { return o.needsOnly(specials) }))
	}
	o.Tokenizer = &TokenizerInfo{Model: file.Model(), VocabSize: file.Len(), Specials: specials}
	o.DoLowerCase, o.TokenizerProfile = false, ""
	if wp := file.WordPiece(); wp != nil {
		o.DoLowerCase, o.TokenizerProfile = wp.Options().DoLowerCase, wp.Options().Profile
	}
	return o, nil
}

// loadFile parses a tokenizer.json.
func loadFile(name string, raw []byte) (*hf.Tokenizer, error) {
	file, err := hf.Load(name, raw)
	switch {
	case errors.Is(err, hf.ErrUnsupported):
		return nil, failure.Usage(err)
	case err != nil:
		return nil, fmt.Errorf("%w tokenizer: %w", ErrDamaged, err)
	}
	return file, nil
}

// lessNeeded adds a hint to the error about a tokenizer without special tokens: the
// recipes that do not need these tokens. fits reports whether options are valid for the
// tokenizer.
func (o ExamplesOptions) lessNeeded(err error, fits func(ExamplesOptions) bool) error {
	var needed []string // special tokens that the fitting recipes need
	names := pretrain.RecipeNames(func(r pretrain.Recipe) bool {
		other := o
		if other.Recipe = r.Name; !fits(other) {
			return false
		}
		needed = append(needed, r.Specials...)
		return true
	})
	anyOf := strings.Join(names, " or ")
	switch {
	case len(names) == 0:
		return err
	case len(needed) == 0:
		return fmt.Errorf("%w; --recipe %s needs no special tokens", err, anyOf)
	}
	return fmt.Errorf("%w; --recipe %s makes no masks and needs no [MASK]", err, anyOf)
}

// ReadVocab reads a vocab.txt. It must contain the special tokens that the recipe needs;
// all recipes need [UNK]. name is for error messages.
func (o ExamplesOptions) ReadVocab(name string, raw []byte) (*tokenize.Vocab, error) {
	needed := slices.DeleteFunc(tokenize.SpecialTokens(), func(token string) bool {
		return token != tokenize.UnkToken && !slices.Contains(o.How().Specials, token)
	})
	return tokenize.ReadVocabWith(name, raw, needed...)
}

// TokenizerFiles returns the files that make the folder of a vocab.txt or tokenizer.json
// one that AutoTokenizer of the library transformers loads. raw is the content of
// [ExamplesOptions.TokenFile].
func (o ExamplesOptions) TokenizerFiles(raw []byte) ([]hf.File, error) {
	if o.Tokenizer != nil {
		file, err := loadFile(TokenizerName, raw)
		if err != nil {
			return nil, err
		}
		return file.Transformers(raw), nil
	}
	made := &lastBERTFiles
	made.Lock()
	defer made.Unlock()
	if options := o.wordPiece(); made.files == nil || made.options != options || !bytes.Equal(made.raw, raw) {
		v, err := tokenize.ReadVocabWith(VocabName, raw, tokenize.UnkToken)
		if err != nil {
			return nil, fmt.Errorf("%w vocabulary: %w", ErrDamaged, err)
		}
		made.raw, made.options, made.files = slices.Clone(raw), options, hf.BERTFiles(v, options)
	}
	return slices.Clone(made.files), nil
}

// lastBERTFiles holds what TokenizerFiles returned last for a vocab.txt: each stage of a run
// asks for the same files.
var lastBERTFiles struct {
	sync.Mutex
	raw     []byte
	options tokenize.Options
	files   []hf.File
}

// wordPiece returns the options of the tokenizer of a vocab.txt.
func (o ExamplesOptions) wordPiece() tokenize.Options {
	w := tokenize.DefaultOptions()
	w.DoLowerCase, w.Profile = o.DoLowerCase, o.TokenizerProfile
	return w
}

// needsOnly reports whether s contains all special tokens that the recipe needs, even if
// the tokenizer.json has no [MASK].
func (o ExamplesOptions) needsOnly(s hf.Specials) bool {
	has := map[string]bool{tokenize.PadToken: s.Pad >= 0, tokenize.ClsToken: s.CLS >= 0, tokenize.SepToken: s.SEP >= 0}
	return !slices.ContainsFunc(o.How().Specials, func(token string) bool { return !has[token] })
}

// CheckTokenFile checks the vocab.txt or tokenizer.json beside records. o are the options
// of the records, nil if unknown; a tokenizer.json must match their description of it.
func (o *ExamplesOptions) CheckTokenFile(name string, raw []byte) error {
	switch {
	case name == VocabName && o == nil:
		_, err := tokenize.ReadVocabWith(name, raw, tokenize.UnkToken)
		return err
	case name == VocabName:
		_, err := o.ReadVocab(name, raw)
		return err
	case o == nil, o.Tokenizer == nil: // made from vocab.txt
		_, err := loadFile(name, raw)
		return err
	}
	is, err := TokenizerOptions(name, raw, ExamplesOptions{Recipe: o.Recipe})
	if err == nil && *o.Tokenizer != *is.Tokenizer {
		err = errors.New("it differs from the description of the tokenizer in the manifest's options")
	}
	return err
}

// A Tokenizer is the tokenizer of a folder of shards. It is safe for concurrent
// use.
type Tokenizer struct {
	WordPiece *tokenize.Tokenizer // nil for a tokenizer.json that is not BERT's
	Vocab     pretrain.Vocab
	Unknown   int32 // ID of [UNK]; -1 if the tokenizer can encode any text

	// Options are the given options, completed from the tokenizer.json.
	Options ExamplesOptions

	spelled func() []bool // list by id, see [Tokenizer.spelling]

	raw  []byte        // content of the file
	file *hf.Tokenizer // nil if WordPiece is set
}

// LoadTokenizer reads a vocab.txt, or a tokenizer.json if its name ends in .json.
func LoadTokenizer(path string, o ExamplesOptions) (*Tokenizer, error) {
	raw, err := store.ReadSmall(context.Background(), path, store.Tokens)
	if err != nil {
		return nil, err
	}
	o.Tokenizer = nil
	if filepath.Ext(path) == ".json" {
		if o, err = TokenizerOptions(path, raw, o); err != nil {
			return nil, err
		}
	}
	return NewTokenizer(path, raw, o)
}

// NewTokenizer returns a tokenizer. raw is the content of a vocab.txt or, if
// o.Tokenizer is set, of a tokenizer.json. name is for error messages.
func NewTokenizer(name string, raw []byte, o ExamplesOptions) (*Tokenizer, error) {
	if o.Tokenizer == nil {
		return newVocabTokenizer(name, raw, o)
	}
	file, err := hf.Load(name, raw)
	if err != nil {
		return nil, fmt.Errorf("%w tokenizer: %w", ErrDamaged, err)
	}
	info := o.Tokenizer
	t := &Tokenizer{Options: o, raw: raw, WordPiece: file.WordPiece(), Unknown: info.Unk,
		Vocab: pretrain.Vocab{Size: info.VocabSize, CLS: info.CLS, SEP: info.SEP, Mask: info.Mask, Pad: info.Pad}}
	t.spelled = sync.OnceValue(t.spelling)
	if t.WordPiece != nil {
		t.Vocab.IsSubword = t.WordPiece.Vocab().IsSubword
		return t, nil
	}
	t.file = file
	t.Vocab.Marked = o.WholeWords()
	return t, nil
}

// newVocabTokenizer returns the tokenizer for a vocab.txt with the content raw.
func newVocabTokenizer(name string, raw []byte, o ExamplesOptions) (*Tokenizer, error) {
	v, err := o.ReadVocab(name, raw)
	if err != nil {
		fits := func(o ExamplesOptions) bool {
			_, err := o.ReadVocab(name, raw)
			return err == nil
		}
		return nil, fmt.Errorf("%w vocabulary: %w", ErrDamaged, o.lessNeeded(err, fits))
	}
	wp, err := tokenize.New(v, o.wordPiece())
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{Options: o, raw: raw, WordPiece: wp, Unknown: v.UNK(), Vocab: pretrain.NewVocab(v)}
	t.spelled = sync.OnceValue(t.spelling)
	return t, nil
}

// For returns t with the options o, if t was made from the same file content and with the
// same tokenizer options. Otherwise it returns nil, and the caller must load the file
// again.
func (t *Tokenizer) For(raw []byte, o ExamplesOptions) *Tokenizer {
	if t == nil || !bytes.Equal(raw, t.raw) {
		return nil
	}
	have := t.Options
	if have.DoLowerCase != o.DoLowerCase || have.TokenizerProfile != o.TokenizerProfile || have.WholeWords() != o.WholeWords() || !reflect.DeepEqual(have.Tokenizer, o.Tokenizer) {
		return nil
	}
	same := *t
	same.Options = o
	return &same
}

// Wide reports whether ids in a corpus take four bytes; otherwise they take two.
func (t *Tokenizer) Wide() bool { return t.Vocab.Marked || t.Vocab.Size > 1<<16 }
