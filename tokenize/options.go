package tokenize

import (
	"errors"
	"fmt"
	"slices"
)

// Limits of [Options.MaxCharsPerWord].
const (
	defaultMaxChars = 200     // FullTokenizer of google-research/bert
	peersMaxChars   = 100     // BertTokenizer of NVIDIA and of Hugging Face
	maxMaxChars     = 1 << 16 // keeps an encoder's buffers small
)

// Options configures how text becomes tokens. Start from [DefaultOptions] and change
// fields; [Options.Validate] reports all problems at once.
type Options struct {
	// DoLowerCase lower-cases text and removes accents, unless StripAccents is set. Uncased
	// vocabularies need it.
	DoLowerCase bool `json:"do_lower_case"`

	// StripAccents removes accents (general category Mn, after canonical
	// decomposition) if true and keeps them if false. Nil means the value of
	// DoLowerCase, as in google-research/bert.
	StripAccents *bool `json:"strip_accents,omitempty"`

	// TokenizeChineseChars makes every ideograph a word of its own. Nil means
	// true, as in google-research/bert.
	TokenizeChineseChars *bool `json:"tokenize_chinese_chars,omitempty"`

	// Profile selects the rules. Empty means [ProfileGoogle].
	Profile Profile `json:"profile,omitempty"`

	// MaxCharsPerWord is the maximum length of a word in characters, after
	// lower-casing and removing accents. A longer word becomes a single [UNK].
	// 0 means the profile's value: 200 for google, 100 for nvidia-pt and hf. At
	// most 65,536.
	MaxCharsPerWord int `json:"max_chars_per_word,omitempty"`
}

// DefaultOptions returns the defaults of google-research/bert, which fit
// bert-base-uncased.
func DefaultOptions() Options {
	return Options{DoLowerCase: true, Profile: ProfileGoogle}
}

// Validate returns all problems of o, joined by [errors.Join].
func (o Options) Validate() error {
	var errs []error
	if o.Profile != "" && !slices.Contains(Profiles(), o.Profile) {
		errs = append(errs, fmt.Errorf("profile %q: unknown, want one of %q", o.Profile, Profiles()))
	}
	if o.MaxCharsPerWord < 0 || o.MaxCharsPerWord > maxMaxChars {
		errs = append(errs, fmt.Errorf("max_chars_per_word %d: must be between 0 and %d", o.MaxCharsPerWord, maxMaxChars))
	}
	return errors.Join(errs...)
}

// StripsAccents returns the value of StripAccents, or its default if it is nil.
func (o Options) StripsAccents() bool {
	if o.StripAccents != nil {
		return *o.StripAccents
	}
	return o.DoLowerCase
}

// ideographsAlone returns the value of TokenizeChineseChars, or its default if
// it is nil.
func (o Options) ideographsAlone() bool {
	return o.TokenizeChineseChars == nil || *o.TokenizeChineseChars
}

// MaxChars returns the value of MaxCharsPerWord, or the profile's default if it
// is 0.
func (o Options) MaxChars() int {
	switch {
	case o.MaxCharsPerWord != 0:
		return o.MaxCharsPerWord
	case o.Profile == ProfileNVIDIA || o.Profile == ProfileHF:
		return peersMaxChars
	}
	return defaultMaxChars
}
