package learn

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pretext/extract/wiki/rendering"
)

// Options configures [Table.Propose]. Start from [DefaultOptions].
type Options struct {
	MinUses      int64   `json:"min_uses"`      // minimum number of uses of a template in sentences
	MinExplained float64 `json:"min_explained"` // minimum fraction of these uses that a rule must explain, above 0.5, at most 1

	Known []*rendering.File `json:"-"` // rendering data in addition to the compiled-in data
}

// DefaultOptions returns the default limits.
func DefaultOptions() Options { return Options{MinUses: 3, MinExplained: 0.9} }

// Validate reports every field whose value is invalid, in one error.
func (o Options) Validate() error {
	var errs []error
	if o.MinUses < 1 {
		errs = append(errs, fmt.Errorf("min_uses %d: must be at least 1", o.MinUses))
	}
	if !(o.MinExplained > 0.5 && o.MinExplained <= 1) {
		errs = append(errs, fmt.Errorf("min_explained %g: must be above 0.5 and at most 1", o.MinExplained))
	}
	return errors.Join(errs...)
}

// accepts reports whether a rule explains a large enough fraction of enough uses.
func (o Options) accepts(uses, explained int64) bool {
	return uses >= o.MinUses && o.enough(uses, explained)
}

// enough reports whether a rule explains a large enough fraction of the uses.
func (o Options) enough(uses, explained int64) bool {
	return float64(explained) >= o.MinExplained*float64(uses)
}

// A Proposal is a line for a file of rendering data, with the number of uses that
// support it.
type Proposal struct {
	Scope     string         `json:"scope"` // name of the wiki; its language if the name cannot be a scope
	Kind      rendering.Kind `json:"kind"`
	Name      string         `json:"name"`
	Value     string         `json:"value"` // text of the line; for a template its rule
	Uses      int64          `json:"uses"`
	Explained int64          `json:"explained"`
	Calls     int            `json:"calls"` // number of different uses
	Example   Pair           `json:"example"`

	// Known is the line that the data already have, and KnownExplained the number of
	// uses that it explains. They are set only if the proposal contradicts that line.
	Known          string `json:"known,omitempty"`
	KnownExplained int64  `json:"known_explained,omitempty"`
}

// Line returns the proposal as a line of a file of rendering data.
func (p Proposal) Line() string {
	value := p.Value
	if p.Kind != rendering.Template {
		value = fmt.Sprintf("%q", value)
	}
	return fmt.Sprintf("%s %s | %s", p.Kind, p.Name, value)
}

// A Result holds the proposals, and counts the templates of a table.
type Result struct {
	Options Options `json:"options"`

	Templates int64 `json:"templates"` // sum of the next five
	Known     int64 `json:"known"`     // templates explained by existing data
	Proposed  int64 `json:"proposed"`
	Disputed  int64 `json:"disputed"` // templates whose uses contradict existing data
	Rare      int64 `json:"rare"`     // templates with too few uses, or too few different ones
	Open      int64 `json:"open"`     // templates that no rule explains

	Uses      int64 `json:"uses"`      // uses of all templates
	Unsampled int64 `json:"unsampled"` // uses that are not in the table's sample
	Withdrawn int64 `json:"withdrawn"` // lines dropped because they explain too little together with the other lines, or because a file cannot hold them

	Proposals      []Proposal `json:"proposals"`
	Contradictions []Proposal `json:"contradictions"`
	OpenTemplates  []Proposal `json:"open_templates"` // most used templates without an explanation, at most 200
}

// maxOpen is the maximum length of Result.OpenTemplates.
const maxOpen = 200

// Propose returns lines of rendering data that explain the uses in the table. The
// options must be valid.
func (t *Table) Propose(o Options) *Result {
	res := &Result{Options: o, Uses: t.unkept, Unsampled: t.unkept, Proposals: []Proposal{}, Contradictions: []Proposal{}, OpenTemplates: []Proposal{}}
	byWiki := map[string][]Template{}
	for _, template := range t.Templates() {
		byWiki[template.Wiki] = append(byWiki[template.Wiki], template)
		res.Uses += template.Uses
		res.Unsampled += template.Uses - template.sampled()
	}
	for _, wiki := range slices.Sorted(maps.Keys(byWiki)) {
		w := &wikiLearner{options: o, lang: t.langs[wiki], wiki: wiki, scope: scopeOf(wiki, t.langs[wiki]), templates: byWiki[wiki], res: res}
		w.learn()
	}
	// Two wikis of the same language may propose the same line. Contradictions that a
	// file cannot hold are dropped.
	res.Contradictions = slices.DeleteFunc(res.Contradictions, func(p Proposal) bool { return !p.writable() })
	slices.SortStableFunc(res.Proposals, compareProposals)
	slices.SortStableFunc(res.Contradictions, compareProposals)
	before := len(res.Proposals)
	res.Proposals = slices.CompactFunc(res.Proposals, func(a, b Proposal) bool { return compareProposals(a, b) == 0 })
	res.Withdrawn += int64(before - len(res.Proposals))
	slices.SortStableFunc(res.OpenTemplates, func(a, b Proposal) int { return cmp.Compare(b.Uses, a.Uses) })
	res.OpenTemplates = res.OpenTemplates[:min(len(res.OpenTemplates), maxOpen)]
	return res
}

// scopeOf returns the scope of a wiki's lines: its name, or its language if the name
// cannot be a scope.
func scopeOf(wiki, lang string) string {
	for _, scope := range []string{strings.ToLower(wiki), strings.ToLower(lang)} {
		if f, err := rendering.Parse("", []byte("["+scope+"]\nlabel x | y")); err == nil && len(f.Entries) == 1 {
			return scope
		}
	}
	return ""
}

func (t Template) sampled() (n int64) {
	for _, p := range t.Pairs {
		n += p.Uses
	}
	return n
}

// calls returns the number of different uses of the template, and whether any of them
// has arguments.
func (t Template) calls() (n int, arguments bool) {
	seen := map[string]bool{}
	for _, p := range t.Pairs {
		seen[p.Call] = true
		arguments = arguments || strings.Contains(p.Call, "|")
	}
	return len(seen), arguments
}

// A wikiLearner finds the proposals for one wiki.
type wikiLearner struct {
	options    Options
	lang, wiki string
	scope      string // scope of the proposed lines
	templates  []Template
	res        *Result

	table  *rendering.Table // existing rendering data
	shower *shower          // renders with the existing data and the learned names
	fix    *fixture
	named  *shower // like shower, also with learned names that contradict the existing data
}

func (w *wikiLearner) learn() {
	keys := keysOf(w.templates)
	w.table = rendering.NewSet(w.options.Known...).Table(w.lang, w.wiki)
	w.fix = newFixture(w.lang, w.wiki, keys, w.options.Known)
	w.shower = newShower(w.lang, w.wiki, w.options.Known...)
	v := votes{}
	for _, t := range w.templates {
		if r, ok := w.table.Template([]byte(t.Name)); ok && w.explained(w.shower.show, t) < t.sampled() {
			w.fix.namesOf(t, r, w.table, v)
		}
	}
	var proposals []Proposal
	names := w.nameProposals(v)
	for _, p := range names {
		if p.Known == "" {
			proposals = append(proposals, p)
		} else {
			w.res.Contradictions = append(w.res.Contradictions, p)
		}
	}
	w.named = newShower(w.lang, w.wiki, append(slices.Clone(w.options.Known), fileOf(names))...)
	if len(proposals) > 0 { // from here on, they are part of the data
		files := append(slices.Clone(w.options.Known), fileOf(proposals))
		w.fix, w.shower = newFixture(w.lang, w.wiki, keys, files), newShower(w.lang, w.wiki, files...)
	}
	for _, t := range w.templates {
		w.res.Templates++
		if p, ok := w.propose(t); ok {
			proposals = append(proposals, p)
		}
	}
	w.res.Proposals = append(w.res.Proposals, w.confirmed(proposals)...)
}

// explained returns the number of sampled uses of a template for which show returns the
// text on the page. It stops early when the number can no longer be enough.
func (w *wikiLearner) explained(show func(call string) (string, bool), t Template) (n int64) {
	uses, tried := t.sampled(), int64(0)
	for _, p := range t.Pairs {
		if text, ok := show(p.Call); ok && text == plain(p.Text) {
			n += p.Uses
		}
		if tried += p.Uses; !w.options.enough(uses, n+uses-tried) {
			break
		}
	}
	return n
}

// all returns, for all sampled uses, the number for which show returns the text on the
// page.
func (w *wikiLearner) all(show func(call string) (string, bool), t Template) int64 {
	patient := wikiLearner{options: Options{MinExplained: 0}}
	return patient.explained(show, t)
}

// propose counts the template and, if it finds a line for it, adds the line to the
// result.
func (w *wikiLearner) propose(t Template) (p Proposal, ok bool) {
	res, uses := w.res, t.sampled()
	p = Proposal{Scope: w.scope, Kind: rendering.Template, Name: t.Name, Uses: uses, Example: t.Pairs[0]}
	p.Calls, _ = t.calls()
	known := w.shower.knows(t.Name, t.Pairs[0].Call)
	have := int64(0)
	if known {
		have = w.explained(w.shower.show, t)
	}
	var best *rendering.Rule
	explained := int64(0)
	if !known || !w.options.enough(uses, have) {
		best, explained = w.best(t)
	}
	switch {
	case known && w.options.enough(uses, have):
		res.Known++
	case known && w.options.enough(uses, w.explained(w.named.show, t)):
		res.Disputed++ // the learned name is listed as a contradiction
	case uses < w.options.MinUses:
		res.Rare++
	case best == nil && w.fewCalls(t):
		res.Rare++
	case best == nil:
		res.Open++
		res.OpenTemplates = append(res.OpenTemplates, p)
	default:
		p.Value, p.Explained = best.String(), explained
		if !known {
			res.Proposed++
			return p, true
		}
		res.Disputed++
		p.Known, p.KnownExplained = w.knownLine(t.Name), w.all(w.shower.show, t)
		res.Contradictions = append(res.Contradictions, p)
	}
	return p, false
}

// fewCalls reports whether all uses of a template have the same arguments. Then a
// rule cannot be distinguished from a fixed text.
func (w *wikiLearner) fewCalls(t Template) bool {
	calls, arguments := t.calls()
	return arguments && calls < 2
}

// best returns the rule that explains the most uses, or nil if none explains enough.
func (w *wikiLearner) best(t Template) (best *rendering.Rule, most int64) {
	uses := t.sampled()
	if uses < w.options.MinUses || w.fewCalls(t) {
		return nil, 0
	}
	for _, c := range w.fix.candidates(t) {
		if n := w.explained(c.show, t); n > most && w.options.accepts(uses, n) && valid(c.rule) {
			best, most = &c.rule, n
		}
		if most == uses {
			break
		}
	}
	return best, most
}

// knownLine returns the line for a template in the existing data.
func (w *wikiLearner) knownLine(name string) string {
	r, ok := w.table.Template([]byte(name))
	if !ok {
		return "template " + name + " (by its form)"
	}
	line := "template " + name + " | " + r.String()
	for _, e := range rendering.NewSet(w.options.Known...).Known(w.lang, w.wiki) {
		if e.Kind == rendering.Template && e.Name == name {
			return fmt.Sprintf("%s (%s:%d)", line, e.File, e.Line)
		}
	}
	return line
}

// confirmed returns the lines that still explain enough uses when all proposed lines
// are in effect together.
func (w *wikiLearner) confirmed(lines []Proposal) (kept []Proposal) {
	pairs := map[string]Template{}
	for _, t := range w.templates {
		pairs[t.Name] = t
	}
	all := newShower(w.lang, w.wiki, append(slices.Clone(w.options.Known), fileOf(lines))...)
	for _, p := range lines {
		if p.Kind != rendering.Template {
			if p.writable() {
				kept = append(kept, p)
			}
			continue
		}
		p.Explained = w.explained(all.show, pairs[p.Name])
		if !w.options.accepts(p.Uses, p.Explained) || !p.writable() {
			w.res.Withdrawn++
			w.res.Proposed--
			w.res.Open++
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

func compareProposals(a, b Proposal) int {
	return cmp.Or(strings.Compare(a.Scope, b.Scope), strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Name, b.Name))
}
