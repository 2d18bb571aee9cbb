package wiki

import (
	"cmp"
	"maps"
	"slices"

	"pretext/extract"
)

// Stats counts what became of the pages of a range. Stats of several ranges
// add up to those of the whole dump, however it is cut: Pages is always Kept
// plus all Rejects.
type Stats struct {
	Pages   int64                    `json:"pages"`             // pages that begin in the range
	Kept    int64                    `json:"kept"`              // pages that became documents
	Rejects map[extract.Reject]int64 `json:"rejects,omitempty"` // pages that did not, by reason

	Bytes     int64 `json:"bytes"`      // of the file, in the range
	XMLBytes  int64 `json:"xml_bytes"`  // decoded bytes that the range owns
	TextBytes int64 `json:"text_bytes"` // of the documents

	InvalidUTF8   int64   `json:"invalid_utf8"`             // bytes dropped because they are not UTF-8
	InvalidPlaces []Place `json:"invalid_places,omitempty"` // the first of each title or text that had some, at most 8

	// Footers counts </mediawiki> tags. A dump that has none in all of its
	// ranges may be a download that stopped between two pages.
	Footers int64 `json:"footers"`

	// Templates counts the uses of templates that package wikitext does not know
	// and dropped, by name: what to look at when text is missing. Only the most
	// frequent 500 are named.
	Templates map[string]int64 `json:"templates,omitempty"`

	// TemplatesSlack is the most that a count in Templates can be too small by,
	// taking the count of a name that is missing as 0. It is 0, and all counts
	// are exact, while there are no more names than Templates holds.
	TemplatesSlack int64 `json:"templates_slack,omitempty"`
}

// A Place points at something in a page.
type Place struct {
	Page   string `json:"page"`   // ID of the document it would be: "enwiki:12"
	Offset int64  `json:"offset"` // in the file: of the page's tag, or of the compressed block that it begins in
	Byte   int    `json:"byte"`   // in the page's title or wikitext
}

// What Stats hold at most.
const (
	maxPlaces    = 8
	maxTemplates = 500
)

// Add adds the counts of a range that follows in the same dump, or of another
// dump.
func (s *Stats) Add(t Stats) {
	s.Pages += t.Pages
	s.Kept += t.Kept
	for reason, n := range t.Rejects {
		s.reject(reason, n)
	}
	s.Bytes += t.Bytes
	s.XMLBytes += t.XMLBytes
	s.TextBytes += t.TextBytes
	s.InvalidUTF8 += t.InvalidUTF8
	s.InvalidPlaces = append(s.InvalidPlaces, t.InvalidPlaces[:min(len(t.InvalidPlaces), maxPlaces-len(s.InvalidPlaces))]...)
	s.Footers += t.Footers
	for name, n := range t.Templates {
		s.template(name, n)
	}
	s.TemplatesSlack += t.TemplatesSlack
	s.trimTemplates()
}

func (s *Stats) template(name string, n int64) {
	if s.Templates == nil {
		s.Templates = map[string]int64{}
	}
	s.Templates[name] += n
}

// trimTemplates keeps the most frequent templates, by name where counts are
// equal.
func (s *Stats) trimTemplates() {
	if len(s.Templates) <= maxTemplates {
		return
	}
	names := slices.SortedFunc(maps.Keys(s.Templates), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Templates[b], s.Templates[a]), cmp.Compare(a, b))
	})
	s.TemplatesSlack += s.Templates[names[maxTemplates]]
	for _, name := range names[maxTemplates:] {
		delete(s.Templates, name)
	}
}

func (s *Stats) reject(reason extract.Reject, n int64) {
	if s.Rejects == nil {
		s.Rejects = map[extract.Reject]int64{}
	}
	s.Rejects[reason] += n
}

// clone returns a copy that shares nothing with s.
func (s *Stats) clone() Stats {
	c := *s
	c.Rejects = maps.Clone(s.Rejects)
	c.InvalidPlaces = append([]Place(nil), s.InvalidPlaces...)
	return c
}
