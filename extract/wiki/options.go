package wiki

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"pretext/extract"
	"pretext/extract/wiki/wikitext"
)

// Options selects the pages of a dump that become documents, and the parts of a
// page that become text. Start from [DefaultOptions] and change fields;
// [Options.Validate] reports every problem at once.
type Options struct {
	Namespaces          []int            `json:"namespaces"`           // numbers of the namespaces to keep; default 0, the articles
	KeepDisambiguations bool             `json:"keep_disambiguations"` // keep disambiguation pages; default false
	MinCharacters       int              `json:"min_characters"`       // minimum length of a text in Unicode characters; default 0
	Language            string           `json:"language"`             // BCP 47 code of all documents; default "": the language of the dump
	Wikitext            wikitext.Options `json:"wikitext"`             // what parts of a page become text

	// MaxHoles is the maximum number of holes per sentence of a document. A hole is a
	// place where a template was dropped (Stats.Holes). The default, 1, keeps all
	// documents.
	MaxHoles float64 `json:"max_holes"`

	// Templates names the user's files of rendering data. Their content is in
	// Wikitext.Rendering.
	Templates []TemplateFile `json:"templates,omitempty"`
}

// A TemplateFile names a file of rendering data (package rendering).
type TemplateFile struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// DefaultOptions returns the options that keep the articles of a wiki.
func DefaultOptions() Options {
	return Options{Namespaces: []int{0}, Wikitext: wikitext.DefaultOptions(), MaxHoles: 1}
}

// Keeps reports whether pages of a namespace are kept.
func (o Options) Keeps(namespace int) bool { return slices.Contains(o.Namespaces, namespace) }

// RejectText returns the reason for rejecting a page with this text, and the measured
// length if that is the reason. reason is "" if the text is neither empty, too large
// nor too short.
func (o Options) RejectText(text []byte) (reason extract.Reject, measured *float64) {
	switch {
	case len(text) == 0:
		return extract.RejectEmpty, nil
	case len(text) > extract.MaxDocumentBytes:
		n := float64(len(text))
		return extract.RejectTooLarge, &n
	case o.MinCharacters == 0:
		return "", nil
	}
	if characters := utf8.RuneCount(text); characters < o.MinCharacters {
		n := float64(characters)
		return extract.RejectTooShort, &n
	}
	return "", nil
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
	if !(o.MaxHoles >= 0 && o.MaxHoles <= 1) {
		errs = append(errs, fmt.Errorf("max_holes %g: must be 0 to 1", o.MaxHoles))
	}
	if err := o.Wikitext.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("wikitext: %w", err))
	}
	return errors.Join(errs...)
}
