package quality

import (
	"maps"
	"math"
	"slices"
	"strings"

	"pretext/extract"
)

// A Reference measures documents that are known to be good, such as the articles of a
// Wikipedia, to find limits for their languages.
type Reference struct {
	text  profile
	langs map[string]*sample
}

// sample holds the measures of the documents of a language.
type sample struct {
	documents int
	values    map[string][]float64 // by rule
}

// Constants of [Reference].
const (
	minReference = 100    // documents of a language without which its limits are not known
	maxReference = 10_000 // documents measured of a language, the first ones
	tail         = 0.01   // fraction of the documents that a limit may reject
)

// A LanguageLimit is a limit for a language that rejects 1 % of its reference documents,
// where the published limit rejects more.
type LanguageLimit struct {
	Key       string  `json:"key"` // for [Options].Limits: "el:max-short-lines"
	Limit     float64 `json:"limit"`
	Published float64 `json:"published"`
	Documents int     `json:"documents"` // measured
}

// Add measures a document. Documents without a language, or with fewer words than Gopher
// asks for, are ignored.
func (r *Reference) Add(d *extract.Document) {
	r.text.reset(d)
	lang := r.text.baseLang()
	if short, _ := find("min-words"); !isPrefix(lang) || r.text.wordFacts().words < int(short.Limit) {
		return
	}
	if r.langs == nil {
		r.langs = map[string]*sample{}
	}
	s := r.langs[lang]
	if s == nil {
		s = &sample{values: map[string][]float64{}}
		r.langs[lang] = s
	}
	if s.documents >= maxReference {
		return
	}
	s.documents++
	for i := range rules {
		if rule := &rules[i]; rule.varies() {
			if v, ok := rule.measure(&r.text); ok {
				s.values[rule.Name] = append(s.values[rule.Name], v)
			}
		}
	}
}

// varies reports whether a rule measures what differs between languages. Lengths of
// documents and forbidden texts do not.
func (r Rule) varies() bool {
	return r.Set != "" && r.Limit != 0 && !slices.Contains([]string{"min-words", "max-words", "min-sentences", "min-stop-words"}, r.Name)
}

// Limits returns the limits by language and rule, for languages with at least 100
// documents. They are rounded to a thousandth, so that they reject less.
func (r *Reference) Limits() (limits []LanguageLimit) {
	for _, lang := range slices.Sorted(maps.Keys(r.langs)) {
		s := r.langs[lang]
		for i := range rules {
			rule := rules[i].Rule
			v := s.values[rule.Name]
			if len(v) < minReference {
				continue
			}
			slices.Sort(v)
			k := int(tail * float64(len(v))) // so many values are beyond the limit
			limit := math.Floor(v[k]*1000) / 1000
			if strings.HasPrefix(rule.Name, "max-") {
				limit = math.Ceil(v[len(v)-1-k]*1000) / 1000
			}
			if rule.rejects(limit, rule.Limit) {
				limits = append(limits, LanguageLimit{lang + ":" + rule.Name, limit, rule.Limit, len(v)})
			}
		}
	}
	return limits
}
