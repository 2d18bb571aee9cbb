package wiki

import (
	"errors"
	"fmt"
	"slices"

	"pretext/extract/wiki/wikitext"
)

// Options selects the pages of a dump that become documents, and the parts of a
// page that become text. Start from [DefaultOptions] and change fields;
// [Options.Validate] reports every problem at once.
type Options struct {
	Namespaces          []int            `json:"namespaces"`           // keys of the namespaces kept; default 0, the articles
	KeepDisambiguations bool             `json:"keep_disambiguations"` // keep disambiguation pages; default false
	MinCharacters       int              `json:"min_characters"`       // minimum length of a text in Unicode characters; default 0
	Language            string           `json:"language"`             // BCP 47 code of all documents; default "": the language of the dump
	Wikitext            wikitext.Options `json:"wikitext"`             // what parts of a page become text
}

// DefaultOptions returns the options that keep the articles of a wiki.
func DefaultOptions() Options {
	return Options{Namespaces: []int{0}, Wikitext: wikitext.DefaultOptions()}
}

// Validate reports every field whose value is invalid, in one error.
func (o Options) Validate() error {
	var errs []error
	if len(o.Namespaces) == 0 {
		errs = append(errs, errors.New("namespaces: none given, want at least one"))
	}
	for i, ns := range o.Namespaces {
		if slices.Contains(o.Namespaces[:i], ns) {
			errs = append(errs, fmt.Errorf("namespaces: %d is given twice", ns))
		}
	}
	if o.MinCharacters < 0 {
		errs = append(errs, fmt.Errorf("min_characters %d: must not be negative", o.MinCharacters))
	}
	if err := o.Wikitext.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("wikitext: %w", err))
	}
	return errors.Join(errs...)
}
