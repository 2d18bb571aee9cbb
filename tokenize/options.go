package tokenize

import (
	"errors"
	"fmt"
)

// A Profile names whose rules are followed where implementations of BERT's
// tokenizer differ. It is written to manifests.
type Profile string

// ProfileGoogle follows tokenization.py of google-research/bert: words over 200
// characters are unknown, control and format characters (Cc, Cf) are deleted, a
// capital sigma at the end of a word becomes ς, and special tokens in the text
// are split like any other text.
const ProfileGoogle Profile = "google"

// Limits of [Options.MaxCharsPerWord].
const (
	defaultMaxChars = 200     // FullTokenizer of google-research/bert
	maxMaxChars     = 1 << 16 // keeps an encoder's buffers small
)

// Options says how text becomes tokens. Start from [DefaultOptions] and change
// fields; [Options.Validate] reports every problem at once.
type Options struct {
	// DoLowerCase lower-cases and removes accents, as the uncased
	// vocabularies need it.
	DoLowerCase bool `json:"do_lower_case"`

	// Profile selects the rules. Empty means [ProfileGoogle].
	Profile Profile `json:"profile,omitempty"`

	// MaxCharsPerWord is the number of characters, after lower-casing and
	// removing accents, above which a word becomes [UNK] as a whole. 0 means
	// that of the profile: 200. At most 65,536.
	MaxCharsPerWord int `json:"max_chars_per_word,omitempty"`
}

// DefaultOptions returns the options of bert-base-uncased, which are the
// defaults of google-research/bert.
func DefaultOptions() Options {
	return Options{DoLowerCase: true, Profile: ProfileGoogle, MaxCharsPerWord: defaultMaxChars}
}

// Validate reports every problem of o.
func (o Options) Validate() error {
	var errs []error
	if o.Profile != "" && o.Profile != ProfileGoogle {
		errs = append(errs, fmt.Errorf("profile %q: not known, must be %q", o.Profile, ProfileGoogle))
	}
	if o.MaxCharsPerWord < 0 || o.MaxCharsPerWord > maxMaxChars {
		errs = append(errs, fmt.Errorf("max_chars_per_word %d: must be between 0 and %d", o.MaxCharsPerWord, maxMaxChars))
	}
	return errors.Join(errs...)
}

// maxChars returns the effective MaxCharsPerWord.
func (o Options) maxChars() int {
	if o.MaxCharsPerWord == 0 {
		return defaultMaxChars
	}
	return o.MaxCharsPerWord
}
