package wiki

import (
	"errors"
	"fmt"
	"slices"

	"pretext/extract/wiki/wikitext"
)

// Options configures what becomes of the pages of a dump. Start from
// [DefaultOptions] and change fields; [Options.Validate] reports every problem
// at once.
type Options struct {
	Namespaces          []int            `json:"namespaces"`           // keys of the namespaces kept; default 0, the articles
	KeepDisambiguations bool             `json:"keep_disambiguations"` // keep pages that list the meanings of a word; default no
	MinCharacters       int              `json:"min_characters"`       // shortest text kept, in Unicode characters; default 0: all that is not empty
	Language            string           `json:"language"`             // BCP 47 code for all documents, in place of what the dump says; default ""
	Wikitext            wikitext.Options `json:"wikitext"`             // what stays of a page's text
}

// DefaultOptions returns the options for encyclopedia articles.
func DefaultOptions() Options {
	return Options{Namespaces: []int{0}, Wikitext: wikitext.DefaultOptions()}
}

// Validate returns what is wrong with the options, all of it.
func (o Options) Validate() error {
	var errs []error
	if len(o.Namespaces) == 0 {
		errs = append(errs, errors.New("namespaces: none is kept, so no page would be"))
	}
	for i, ns := range o.Namespaces {
		if slices.Contains(o.Namespaces[:i], ns) {
			errs = append(errs, fmt.Errorf("namespaces: %d is named twice", ns))
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
