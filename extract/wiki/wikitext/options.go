package wikitext

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"pretext/extract/wiki/rendering"
)

// Options selects what parts of a page become text. Start from [DefaultOptions]
// and change fields; [Options.Validate] reports every problem at once.
//
// Tables, files and their captions, galleries, footnotes, categories,
// navigation and maintenance templates are never text.
type Options struct {
	// Headings keeps headings, each on its own line. The heading of a section
	// without text is always dropped.
	Headings bool `json:"headings"`

	// BackMatter keeps the sections without prose at the end of an article:
	// references, external links, see also, further reading, notes.
	BackMatter bool `json:"back_matter"`

	// Lists keeps list items, each on its own line, without markers.
	Lists bool `json:"lists"`

	// Code keeps blocks of source code (<syntaxhighlight>, <source>). Code
	// inside a sentence (<code>, <kbd>) is kept in any case.
	Code bool `json:"code"`

	// Math is the placeholder that replaces each formula (<math>, <chem>). If it is "",
	// formulas are dropped without a trace. At most 32 bytes, one line.
	Math string `json:"math"`

	// Rendering adds rules for templates to those of package rendering, or overrides
	// them. It is not part of the JSON form: to use the options on another machine,
	// send these files separately.
	Rendering []*rendering.File `json:"-"`
}

// DefaultOptions returns the options for prose: headings and lists are kept;
// back matter, code blocks and formulas are dropped.
func DefaultOptions() Options {
	return Options{Headings: true, Lists: true}
}

// maxMathBytes is the maximum length of Options.Math in bytes. With this limit, the
// length of the text is at most a constant factor of the source length.
const maxMathBytes = 32

// Validate reports every field whose value is invalid, in one error.
func (o Options) Validate() error {
	var errs []error
	if len(o.Math) > maxMathBytes {
		errs = append(errs, fmt.Errorf("math: the placeholder has %d bytes, want at most %d", len(o.Math), maxMathBytes))
	}
	if !utf8.ValidString(o.Math) || strings.ContainsAny(o.Math, "\r\n") {
		errs = append(errs, fmt.Errorf("math: placeholder %q must be one line of valid UTF-8", o.Math))
	}
	return errors.Join(errs...)
}
