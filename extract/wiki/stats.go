package wiki

import (
	"cmp"
	"maps"
	"slices"

	"pretext/counts"
	"pretext/extract"
	"pretext/extract/wiki/facts"
)

// Stats counts the pages of a range of a dump. The sum over all ranges does not
// depend on how the dump is divided. Pages equals Kept plus the sum of Rejects.
type Stats struct {
	Pages   int64                    `json:"pages"`             // pages that begin in the range
	Kept    int64                    `json:"kept"`              // pages that became documents
	Rejects map[extract.Reject]int64 `json:"rejects,omitempty"` // rejected pages, by reason

	Bytes     int64 `json:"bytes"`      // bytes of the file in the range
	XMLBytes  int64 `json:"xml_bytes"`  // decoded bytes in the range
	TextBytes int64 `json:"text_bytes"` // bytes of text in the documents

	InvalidUTF8   int64   `json:"invalid_utf8"`             // bytes dropped because they are not UTF-8
	InvalidPlaces []Place `json:"invalid_places,omitempty"` // first dropped byte of each title or text with dropped bytes, at most 8

	// Footers counts </mediawiki> tags. If all ranges together have none, the
	// dump may be an incomplete download.
	Footers int64 `json:"footers"`

	// Templates counts the uses of unknown templates, which package wikitext
	// dropped, by name. They may explain missing text. Only the 500 most frequent
	// are included.
	Templates map[string]int64 `json:"templates,omitempty"`

	// TemplatesSlack is the maximum error of the counts in Templates: a count may be
	// too low by up to TemplatesSlack, and is never too high. A missing name has the
	// count 0. If Templates has room for all names, TemplatesSlack is 0 and all counts
	// are exact.
	TemplatesSlack int64 `json:"templates_slack,omitempty"`

	// Holes is the number of templates that were dropped from sentences, list items and
	// definitions of documents. HoleUses has the most frequent of these templates by
	// name, counted over all pages. Sentences is the number of sentences of the
	// documents, estimated from the marks that end them.
	Holes     int64                 `json:"holes,omitempty"`
	HoleUses  map[string]facts.Hole `json:"hole_uses,omitempty"`
	Sentences int64                 `json:"sentences,omitempty"`

	// Expanded is the number of times that one of the wiki's own templates was expanded
	// in a sentence of a document.
	Expanded int64 `json:"expanded,omitempty"`

	// ModuleCalls is the number of calls of modules in Lua, in all pages, and
	// ModuleFailures the number of those without a result, by reason.
	ModuleCalls    int64                   `json:"module_calls,omitempty"`
	ModuleFailures map[ModuleFailure]int64 `json:"module_failures,omitempty"`

	// ModuleAssumptions counts what modules asked of the wiki that is not in the dump, and
	// that got the usual answer.
	ModuleAssumptions map[ModuleAssumption]int64 `json:"module_assumptions,omitempty"`

	// UseCount counts the uses of templates in documents, by what decided about their text.
	// Uses has the most used templates by name, counted over all pages.
	UseCount facts.Sources            `json:"use_count,omitempty"`
	Uses     map[string]facts.Sources `json:"uses,omitempty"`
}

// A ModuleFailure is the reason why a call of a module had no result.
type ModuleFailure string

// A ModuleAssumption is an assumption about the wiki.
type ModuleAssumption string

// Counts of a dump, besides those of package facts.
var (
	XMLBytes = counts.Declare("xml_bytes", counts.About{Unit: counts.Bytes, Meaning: "decoded XML"})
	Expanded = counts.Declare("expanded_templates", counts.About{Label: "templates expanded", In: counts.Summary,
		Meaning: "templates of the wiki itself that were expanded in documents, if the dump has definitions"})
	ModuleCalls = counts.Declare("module_calls", counts.About{Label: "calls of modules", In: counts.Summary,
		Meaning: "calls of modules in Lua; absent if 0"})
	ModuleFailures = counts.DeclareFamily[ModuleFailure]("module_failures", counts.About{
		Meaning: "calls of modules that had no result, by REASON: no_module, no_function, wikidata, clock, wiki, error, shown_error, syntax, steps, memory, depth"})
	ModuleAssumptions = counts.DeclareFamily[ModuleAssumption]("module_assumptions", counts.About{
		Meaning: "what modules asked of the wiki that is not in the dump, and got the usual answer to, by REASON: exists (a page does), not_redirect (it is none), no_message (the software has no message)"})
	Trailing = counts.Declare("trailing_garbage", counts.About{Meaning: "dumps with bytes after their last bzip2 stream, which were ignored"})
)

// Counts returns the counts for a side-car. expanded reports whether expansion of
// templates was requested.
func (s *Stats) Counts(expanded bool) counts.Counts {
	c := counts.Counts{facts.Pages.Key: s.Pages, extract.Documents.Key: s.Kept, XMLBytes.Key: s.XMLBytes,
		extract.InvalidUTF8.Key: s.InvalidUTF8, facts.Footers.Key: s.Footers}
	if expanded {
		Expanded.Add(c, s.Expanded)
		if s.ModuleCalls > 0 {
			ModuleCalls.Add(c, s.ModuleCalls)
		}
		ModuleFailures.AddAll(c, s.ModuleFailures)
		ModuleAssumptions.AddAll(c, s.ModuleAssumptions)
	}
	extract.Rejects.AddAll(c, s.Rejects)
	return c
}

// A Place locates a byte in the title or wikitext of a page.
type Place struct {
	Page   string `json:"page"`   // ID of the page's document: "enwiki:12"
	Offset int64  `json:"offset"` // file offset of <page>, or of the compressed block that contains it
	Byte   int    `json:"byte"`   // offset in the page's title or wikitext
}

// Maximum number of entries in Stats.
const (
	maxPlaces    = 8
	maxTemplates = 500
	maxHoles     = 500
	maxUses      = 500
)

// Add adds the counts t of another range, which is either the next range of the
// same dump or from another dump.
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
	s.Holes += t.Holes
	s.Expanded += t.Expanded
	s.ModuleCalls += t.ModuleCalls
	for reason, n := range t.ModuleFailures {
		s.moduleFailure(reason, n)
	}
	for what, n := range t.ModuleAssumptions {
		s.moduleAssumption(what, n)
	}
	s.Sentences += t.Sentences
	for name, h := range t.HoleUses {
		s.hole(name, h)
	}
	s.UseCount = s.UseCount.Add(t.UseCount)
	for name, uses := range t.Uses {
		s.use(name, uses)
	}
	s.trimUses()
	s.trimHoles()
	s.trimTemplates()
}

func (s *Stats) template(name string, n int64) {
	if s.Templates == nil {
		s.Templates = map[string]int64{}
	}
	s.Templates[name] += n
}

func (s *Stats) moduleFailure(reason ModuleFailure, n int64) {
	if s.ModuleFailures == nil {
		s.ModuleFailures = map[ModuleFailure]int64{}
	}
	s.ModuleFailures[reason] += n
}

func (s *Stats) moduleAssumption(what ModuleAssumption, n int64) {
	if s.ModuleAssumptions == nil {
		s.ModuleAssumptions = map[ModuleAssumption]int64{}
	}
	s.ModuleAssumptions[what] += n
}

// hole adds uses of a template that left holes. h.First, the first page with a hole, is
// used only if the template has no first page yet.
func (s *Stats) hole(name string, h facts.Hole) {
	if s.HoleUses == nil {
		s.HoleUses = map[string]facts.Hole{}
	}
	if old, ok := s.HoleUses[name]; ok {
		h = facts.Hole{Uses: old.Uses + h.Uses, First: old.First}
	}
	s.HoleUses[name] = h
}

// use adds uses of a template.
func (s *Stats) use(name string, uses facts.Sources) {
	if s.Uses == nil {
		s.Uses = map[string]facts.Sources{}
	}
	s.Uses[name] = s.Uses[name].Add(uses)
}

// trimUses keeps the maxUses most used templates.
func (s *Stats) trimUses() {
	for _, name := range beyond(maxUses, s.Uses, facts.Sources.Total) {
		delete(s.Uses, name)
	}
}

// trimHoles keeps the maxHoles templates that left the most holes.
func (s *Stats) trimHoles() {
	for _, name := range beyond(maxHoles, s.HoleUses, func(h facts.Hole) int64 { return h.Uses }) {
		delete(s.HoleUses, name)
	}
}

// trimTemplates keeps the maxTemplates most frequent templates.
func (s *Stats) trimTemplates() {
	for i, name := range beyond(maxTemplates, s.Templates, func(n int64) int64 { return n }) {
		if i == 0 {
			s.TemplatesSlack += s.Templates[name]
		}
		delete(s.Templates, name)
	}
}

// beyond returns the names that do not belong to the most with the highest counts, the
// highest first. If counts are equal, names that sort first belong to them.
func beyond[V any](most int, values map[string]V, count func(V) int64) []string {
	if len(values) <= most {
		return nil
	}
	return slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(count(values[b]), count(values[a])), cmp.Compare(a, b))
	})[most:]
}

func (s *Stats) reject(reason extract.Reject, n int64) {
	if s.Rejects == nil {
		s.Rejects = map[extract.Reject]int64{}
	}
	s.Rejects[reason] += n
}

// clone returns a copy that shares no memory with s.
func (s *Stats) clone() Stats {
	c := *s
	c.Rejects = maps.Clone(s.Rejects)
	c.ModuleFailures = maps.Clone(s.ModuleFailures)
	c.ModuleAssumptions = maps.Clone(s.ModuleAssumptions)
	c.HoleUses = maps.Clone(s.HoleUses)
	c.UseCount = maps.Clone(s.UseCount)
	c.Uses = nil
	for name, uses := range s.Uses {
		c.use(name, uses)
	}
	c.InvalidPlaces = append([]Place(nil), s.InvalidPlaces...)
	return c
}
