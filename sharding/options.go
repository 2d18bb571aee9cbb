package sharding

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pretext/records"
	"pretext/records/pretrain"
	"pretext/tokenize"
	"pretext/tokenize/sentence"
)

// Recipes: the algorithms that make records.
const (
	RecipeGoogle = "google" // the examples of google-research/bert's create_pretraining_data.py, value for value
	RecipeMLM    = "mlm"    // consecutive sentences with masks, without pairs
	RecipeTokens = "tokens" // the token ids of documents
	RecipePacked = "packed" // rows of one length, filled with pieces of documents
)

// Form returns the form of the records that the recipe makes.
func (o ExamplesOptions) Form() records.Form {
	switch o.Recipe {
	case RecipeMLM:
		return records.Masked
	case RecipeTokens:
		return records.Tokens
	case RecipePacked:
		return records.Packed
	}
	return records.Pairs
}

// Compressions of TFRecord files.
const (
	CompressionNone = "none"
	CompressionGzip = "gzip"
)

// ExamplesOptions determine the records, together with the documents and the
// vocabulary. Names are those of Google's flags. Start from
// [DefaultExamplesOptions].
type ExamplesOptions struct {
	pretrain.Options
	RandomSeed  int64 `json:"random_seed"`   // seed of shard 0; see [ShardName.Seed]
	DoLowerCase bool  `json:"do_lower_case"` // must fit the vocabulary: true if it is uncased

	// TokenizerProfile selects the tokenization rules for a vocab.txt. A
	// tokenizer.json has its own rules.
	TokenizerProfile tokenize.Profile `json:"tokenizer_profile,omitempty"`

	// Tokenizer describes the tokenizer.json, nil for a vocab.txt. See
	// [TokenizerOptions].
	Tokenizer *TokenizerInfo `json:"tokenizer,omitempty"`

	Recipe           string `json:"recipe"`            // [RecipeGoogle] or another
	SentenceSplitter string `json:"sentence_splitter"` // auto, punkt or newline
	Shards           int    `json:"shards"`            // 0: [DefaultShards] of the text
	Split
	Compression string `json:"compression"` // [CompressionNone] or [CompressionGzip]

	// LostMarks is set if the vocabulary is uncased and the documents would lose more
	// marks than a limit. It does not change the records.
	LostMarks *LostMarks `json:"lost_marks,omitempty"`

	// Mix says how often each source is read; nil: all once.
	Mix *Mix `json:"mix,omitempty"`
}

// Recipes returns the names of all recipes.
func Recipes() []string { return []string{RecipeGoogle, RecipeMLM, RecipeTokens, RecipePacked} }

// Defaults of recipes.
const (
	defaultRow   = 1024 // max_seq_length of RecipePacked
	defaultSlack = 0.01 // pack_slack of RecipePacked
)

// RecipeOptions returns the defaults of a recipe: those of
// [DefaultExamplesOptions] where the recipe has the option.
//
//   - RecipeMLM makes no short examples (short_seq_prob 0), as RoBERTa does.
//   - RecipeTokens cuts documents after 2^20 tokens, the most that a record can
//     have.
//   - RecipePacked fills rows of 1,024 tokens, of which 1 % may stay empty where a
//     document is cut.
func RecipeOptions(recipe string) ExamplesOptions {
	o := DefaultExamplesOptions()
	switch o.Recipe = recipe; recipe {
	case RecipeMLM:
		o.ShortSeqProb = 0
	case RecipeTokens:
		o.Options = pretrain.Options{MaxSeqLength: records.MaxValues, DupeFactor: 1}
	case RecipePacked:
		o.Options = pretrain.Options{MaxSeqLength: defaultRow, DupeFactor: 1, PackSlack: defaultSlack}
	}
	return o
}

// A Maker makes the records of a corpus.
type Maker interface {
	Build(ctx context.Context, corpus *pretrain.Corpus, seed int64, yield func(pretrain.Record) error) (pretrain.Counts, error)
}

// NewMaker returns the Maker of the recipe. Examples wait in scratch where the
// recipe shuffles them.
func (o ExamplesOptions) NewMaker(v pretrain.Vocab, scratch pretrain.Scratch) (Maker, error) {
	switch o.Recipe {
	case RecipeMLM:
		return pretrain.NewMLMBuilder(o.Options, v, scratch)
	case RecipeTokens:
		return pretrain.NewSplitter(o.Options, v)
	case RecipePacked:
		return pretrain.NewPacker(o.Options, v)
	}
	return pretrain.NewBuilder(o.Options, v, scratch)
}

// DefaultExamplesOptions returns Google's defaults.
func DefaultExamplesOptions() ExamplesOptions {
	return ExamplesOptions{Options: pretrain.DefaultOptions(), RandomSeed: 12345, DoLowerCase: true,
		TokenizerProfile: tokenize.ProfileGoogle, Recipe: RecipeGoogle, SentenceSplitter: sentence.Auto, Compression: CompressionNone}
}

// Validate reports every invalid option.
func (o ExamplesOptions) Validate() error {
	errs := []error{o.Options.ValidateForm(o.Form())}
	if p := o.TokenizerProfile; p != "" && !slices.Contains(tokenize.Profiles(), p) {
		errs = append(errs, fmt.Errorf("tokenizer_profile %q: unknown, want one of %q", p, tokenize.Profiles()))
	}
	if !slices.Contains(Recipes(), o.Recipe) {
		errs = append(errs, fmt.Errorf("recipe %q: unknown, want one of %q", o.Recipe, Recipes()))
	}
	if err := sentence.Check(o.SentenceSplitter); err != nil {
		errs = append(errs, err)
	}
	if o.Shards < 0 {
		errs = append(errs, fmt.Errorf("shards %d: must be at least 1, or 0 for the default", o.Shards))
	}
	if !(o.Fraction >= 0 && o.Fraction < 1) {
		errs = append(errs, fmt.Errorf("eval_fraction %g: must be at least 0 and below 1", o.Fraction))
	}
	if o.Compression != CompressionNone && o.Compression != CompressionGzip {
		errs = append(errs, fmt.Errorf("compression %q: must be none or gzip", o.Compression))
	}
	if o.NSPNegatives != "" && o.Mix.Enabled() {
		errs = append(errs, errors.New("nsp_negatives corpus and a mix: a mix reads documents more than once or not at all, so they cannot be drawn equally often: leave out nsp_negatives, or weight, epochs and language_alpha"))
	}
	if o.Mix != nil {
		errs = append(errs, o.Mix.Validate())
	}
	return errors.Join(errs...)
}

// TokenFile returns the name of the vocabulary or tokenizer beside the shards.
func (o ExamplesOptions) TokenFile() string {
	if o.Tokenizer != nil {
		return TokenizerName
	}
	return VocabName
}

// ShardFiles returns the names of the records files of a shard: one a split, or
// one a split and length bin.
func (o ExamplesOptions) ShardFiles(split string, index int) (names []ShardName) {
	bins := o.LengthBins
	if len(bins) == 0 {
		bins = []int{0}
	}
	for _, bin := range bins {
		names = append(names, ShardName{Split: split, Index: index, Count: o.Shards, Bin: bin})
	}
	return names
}

// Splits returns the names of the splits that are written.
func (o ExamplesOptions) Splits() []string {
	if o.Fraction > 0 {
		return []string{Train, Eval}
	}
	return []string{Train}
}
