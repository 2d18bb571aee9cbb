package sharding

import (
	"errors"
	"fmt"
	"slices"

	"pretext/records"
	"pretext/records/pretrain"
	"pretext/tokenize"
	"pretext/tokenize/sentence"
)

// How returns the recipe named by o.Recipe, or the default recipe if that name is
// unknown.
func (o ExamplesOptions) How() pretrain.Recipe {
	r, _ := pretrain.RecipeByName(o.Recipe)
	return r
}

// Form returns the form of the records.
func (o ExamplesOptions) Form() records.Form { return o.How().Form }

// Compressions of TFRecord files.
const (
	CompressionNone = "none"
	CompressionGzip = "gzip"
)

// ExamplesOptions are the options that determine the records, together with the documents
// and the vocabulary. The JSON names are those of Google's flags. Start from
// [DefaultExamplesOptions].
type ExamplesOptions struct {
	pretrain.Options
	RandomSeed  int64 `json:"random_seed"`   // seed of shard 0; see [ShardName.Seed]
	DoLowerCase bool  `json:"do_lower_case"` // must match the vocabulary: true if uncased

	// TokenizerProfile selects the tokenization rules for a vocab.txt. A
	// tokenizer.json has its own rules.
	TokenizerProfile tokenize.Profile `json:"tokenizer_profile,omitempty"`

	// Tokenizer describes the tokenizer.json, nil for a vocab.txt. See
	// [TokenizerOptions].
	Tokenizer *TokenizerInfo `json:"tokenizer,omitempty"`

	Recipe           string `json:"recipe"`            // name of one of [pretrain.Recipes]
	SentenceSplitter string `json:"sentence_splitter"` // auto, punkt or newline
	Shards           int    `json:"shards"`            // 0: [DefaultShards] for the size of the text
	Split
	Compression string `json:"compression"` // [CompressionNone] or [CompressionGzip]

	// LostMarks is set if the vocabulary is uncased and too many words of the documents
	// would lose marks. It does not change the records.
	LostMarks *LostMarks `json:"lost_marks,omitempty"`

	// Mix configures how often each source is read; nil: every source once.
	Mix *Mix `json:"mix,omitempty"`
}

// DefaultExamplesOptions returns Google's defaults.
func DefaultExamplesOptions() ExamplesOptions { return RecipeOptions(pretrain.Recipes()[0].Name) }

// RecipeOptions returns the defaults of a recipe.
func RecipeOptions(name string) ExamplesOptions {
	recipe, _ := pretrain.RecipeByName(name)
	return ExamplesOptions{Options: recipe.Defaults, RandomSeed: 12345, DoLowerCase: true,
		TokenizerProfile: tokenize.ProfileGoogle, Recipe: name, SentenceSplitter: sentence.Auto, Compression: CompressionNone}
}

// Validate reports every invalid option.
func (o ExamplesOptions) Validate() error {
	recipe, known := pretrain.RecipeByName(o.Recipe)
	errs := []error{recipe.Validate(o.Options)}
	if p := o.TokenizerProfile; p != "" && !slices.Contains(tokenize.Profiles(), p) {
		errs = append(errs, fmt.Errorf("tokenizer_profile %q: unknown, want one of %q", p, tokenize.Profiles()))
	}
	if !known {
		errs = append(errs, fmt.Errorf("recipe %q: unknown, want one of %q", o.Recipe, pretrain.RecipeNames(nil)))
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

// TokenFile returns the name of the vocabulary or tokenizer file in the folder of
// shards.
func (o ExamplesOptions) TokenFile() string {
	if o.Tokenizer != nil {
		return TokenizerName
	}
	return VocabName
}

// ShardFiles returns the names of the records files of a shard: one for each split,
// or for each split and length bin.
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
