package facts

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"pretext/internal/humanize"
)

// MaxDropped is the maximum number of dropped templates that a manifest lists.
const MaxDropped = 100

// Lost is the part of a side-car about the templates that were dropped from a file's
// pages. The maps are by template name.
type Lost struct {
	Dropped map[string]int64 `json:"dropped_templates,omitempty"`
	Slack   int64            `json:"dropped_slack,omitempty"` // upper bound of the error of each number in Dropped
	// Holes counts templates of the wiki Wiki that were dropped from sentences;
	// HoleCount is their number in documents, which have about Sentences sentences.
	Wiki      string          `json:"wiki,omitempty"`
	Sentences int64           `json:"sentences,omitempty"`
	HoleCount int64           `json:"hole_count,omitempty"`
	Holes     map[string]Hole `json:"holes,omitempty"`
	// UseCount counts the uses of templates in documents; Uses counts those of all pages, by
	// template.
	UseCount Sources            `json:"use_count,omitempty"`
	Uses     map[string]Sources `json:"uses,omitempty"`
}

// Sources counts uses of templates by what decided about their text: user, own, confirmed,
// unconfirmed and function gave a text; dropped, apart and hole gave none.
type Sources map[string]int64

// Add adds other to s and returns the sum, which is a new map if s is nil.
func (s Sources) Add(other Sources) Sources {
	if s == nil && len(other) > 0 {
		s = Sources{}
	}
	for name, n := range other {
		s[name] += n
	}
	return s
}

// sourceOrder is the order of precedence of the names in [Sources].
var sourceOrder = []string{"user", "own", "confirmed", "unconfirmed", "function", "dropped", "apart", "hole"}

// String returns the numbers in order of precedence, such as "own 12, hole 3".
func (s Sources) String() string {
	var parts []string
	for _, name := range sourceOrder {
		if s[name] > 0 {
			parts = append(parts, name+" "+humanize.Count(s[name]))
		}
	}
	return strings.Join(parts, ", ")
}

// Total returns the number of all uses.
func (s Sources) Total() (n int64) {
	for _, uses := range s {
		n += uses
	}
	return n
}

// A Hole counts the uses of a template that were dropped from sentences.
type Hole struct {
	Uses  int64  `json:"uses"`
	First string `json:"first"` // title of the first page with a hole
}

// DroppedTemplates lists wiki templates that the extract stage dropped because
// it cannot render them. The most used templates are the most useful to
// implement next.
type DroppedTemplates struct {
	Templates []TemplateUses `json:"templates"` // at most 100, the most used first, equal counts by name

	// Slack is the maximum error of Uses, which may be too low. It is 0, and all
	// numbers are exact, unless a task found more names than it can count.
	Slack int64 `json:"slack"`

	// Wikis has, for each wiki, the number of holes in its documents and the templates
	// that caused them.
	Wikis []WikiHoles `json:"wikis,omitempty"`
}

// TemplateUses is the number of uses of one template.
type TemplateUses struct {
	Name string `json:"name"` // in lower case, at most 64 bytes
	Uses int64  `json:"uses"`
}

// WikiHoles counts the holes in the sentences of a wiki's documents. A hole is a place
// where a template was dropped.
type WikiHoles struct {
	Wiki        string         `json:"wiki"`
	Sentences   int64          `json:"sentences"`    // estimated
	Holes       int64          `json:"holes"`        // in documents
	PerThousand float64        `json:"per_thousand"` // holes for 1,000 sentences, rounded to 0.01
	Templates   []WikiTemplate `json:"templates"`    // at most 100 templates that caused holes, the most used first

	Uses   Sources          `json:"uses,omitempty"`    // of templates in documents
	ByName []TemplateSource `json:"by_name,omitempty"` // uses in all pages, at most 100 templates, the most used first
}

// A TemplateSource counts the uses of a template by source.
type TemplateSource struct {
	Name string  `json:"name"`
	Uses Sources `json:"uses"`
}

// A WikiTemplate is a template that caused holes.
type WikiTemplate struct {
	Name string `json:"name"`
	Hole
}

// Losses sums the losses of several files. The zero value is empty.
type Losses struct {
	uses  map[string]int64
	slack int64
	wikis map[string]*WikiHoles
	names map[string]map[string]Sources // by wiki and template
}

// Add adds the losses of one file. If a template already has a first page, that page
// stays.
func (s *Losses) Add(l Lost) {
	if s.uses == nil {
		s.uses, s.wikis, s.names = map[string]int64{}, map[string]*WikiHoles{}, map[string]map[string]Sources{}
	}
	for template, n := range l.Dropped {
		s.uses[template] += n
	}
	s.slack += l.Slack
	if l.Wiki == "" {
		return
	}
	w := s.wikis[l.Wiki]
	if w == nil {
		w = &WikiHoles{Wiki: l.Wiki, Templates: []WikiTemplate{}}
		s.wikis[l.Wiki] = w
	}
	w.Sentences += l.Sentences
	w.Holes += l.HoleCount
	w.Uses = w.Uses.Add(l.UseCount)
	for name, uses := range l.Uses {
		if s.names[l.Wiki] == nil {
			s.names[l.Wiki] = map[string]Sources{}
		}
		s.names[l.Wiki][name] = s.names[l.Wiki][name].Add(uses)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Holes)) {
		hole := l.Holes[name]
		if k := slices.IndexFunc(w.Templates, func(t WikiTemplate) bool { return t.Name == name }); k >= 0 {
			w.Templates[k].Uses += hole.Uses
		} else {
			w.Templates = append(w.Templates, WikiTemplate{name, hole})
		}
	}
}

// byName returns the MaxDropped most used templates.
func byName(names map[string]Sources) (list []TemplateSource) {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		list = append(list, TemplateSource{name, names[name]})
	}
	slices.SortStableFunc(list, func(a, b TemplateSource) int { return cmp.Compare(b.Uses.Total(), a.Uses.Total()) })
	return append([]TemplateSource(nil), list[:min(len(list), MaxDropped)]...)
}

// Sum returns the sums for a manifest; nil if no template was used.
func (s *Losses) Sum() *DroppedTemplates {
	d := &DroppedTemplates{Templates: []TemplateUses{}, Slack: s.slack}
	for name, n := range s.uses {
		d.Templates = append(d.Templates, TemplateUses{Name: name, Uses: n})
	}
	slices.SortFunc(d.Templates, func(a, b TemplateUses) int {
		return cmp.Or(cmp.Compare(b.Uses, a.Uses), cmp.Compare(a.Name, b.Name))
	})
	d.Templates = append([]TemplateUses{}, d.Templates[:min(len(d.Templates), MaxDropped)]...)
	holes := false
	for _, name := range slices.Sorted(maps.Keys(s.wikis)) {
		w := s.wikis[name]
		slices.SortFunc(w.Templates, func(a, b WikiTemplate) int {
			return cmp.Or(cmp.Compare(b.Uses, a.Uses), cmp.Compare(a.Name, b.Name))
		})
		w.Templates = append([]WikiTemplate{}, w.Templates[:min(len(w.Templates), MaxDropped)]...)
		if w.Sentences > 0 {
			w.PerThousand = math.Round(1e5*float64(w.Holes)/float64(w.Sentences)) / 100
		}
		w.ByName = byName(s.names[name])
		holes = holes || w.Holes > 0 || len(w.Templates) > 0 || len(w.Uses) > 0
		d.Wikis = append(d.Wikis, *w)
	}
	if len(s.uses) == 0 && !holes {
		return nil
	}
	return d
}
