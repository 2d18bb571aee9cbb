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

// Options are the limits of proposals. Start from [DefaultOptions].
type Options struct {
	MinUses      int64   `json:"min_uses"`      // uses in sentences that a template must have
	MinExplained float64 `json:"min_explained"` // fraction of them that a rule must explain, over 0.5 to 1

	Known []*rendering.File `json:"-"` // data beside those that are compiled in
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
		errs = append(errs, fmt.Errorf("min_explained %g: must be over 0.5, and at most 1", o.MinExplained))
	}
	return errors.Join(errs...)
}

// accepts reports whether a rule explains enough of enough uses.
func (o Options) accepts(uses, explained int64) bool {
	return uses >= o.MinUses && o.enough(uses, explained)
}

// enough reports whether a rule explains enough of the uses.
func (o Options) enough(uses, explained int64) bool {
	return float64(explained) >= o.MinExplained*float64(uses)
}

// A Proposal is a line for a file of rendering data. Uses are those of the pairs
// that the table keeps.
type Proposal struct {
	Scope     string         `json:"scope"` // the wiki; its language if its name is no scope
	Kind      rendering.Kind `json:"kind"`
	Name      string         `json:"name"`
	Value     string         `json:"value"` // of a template a rule, as files hold it
	Uses      int64          `json:"uses"`
	Explained int64          `json:"explained"`
	Calls     int            `json:"calls"` // different uses
	Example   Pair           `json:"example"`

	// Known is the line that the data have, and KnownExplained how many of the uses
	// it explains. They are set in contradictions.
	Known          string `json:"known,omitempty"`
	KnownExplained int64  `json:"known_explained,omitempty"`
}

// Line returns the proposal as files hold it.
func (p Proposal) Line() string {
	value := p.Value
	if p.Kind != rendering.Template {
		value = fmt.Sprintf("%q", value)
	}
	return fmt.Sprintf("%s %s | %s", p.Kind, p.Name, value)
}

// A Result is what the uses in a table show.
type Result struct {
	Options Options `json:"options"`

	Templates int64 `json:"templates"` // sum of the next five
	Known     int64 `json:"known"`     // the data show what pages show
	Proposed  int64 `json:"proposed"`
	Disputed  int64 `json:"disputed"` // the data show something else
	Rare      int64 `json:"rare"`     // too few uses, or different uses
	Open      int64 `json:"open"`     // no rule explains them

	Uses      int64 `json:"uses"`      // of all templates
	Unsampled int64 `json:"unsampled"` // uses in pairs or templates that the table did not keep
	Withdrawn int64 `json:"withdrawn"` // lines that explained too little together with the others, or that no file can hold

	Proposals      []Proposal `json:"proposals"`
	Contradictions []Proposal `json:"contradictions"`
	OpenTemplates  []Proposal `json:"open_templates"` // without value, the most used, at most 200
}

// maxOpen is the maximum length of Result.OpenTemplates.
const maxOpen = 200

// Propose returns the lines that explain the uses in the table. The options must
// be valid.
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
	res.unique()
	slices.SortStableFunc(res.OpenTemplates, func(a, b Proposal) int { return cmp.Compare(b.Uses, a.Uses) })
	res.OpenTemplates = res.OpenTemplates[:min(len(res.OpenTemplates), maxOpen)]
	return res
}

// scopeOf returns the scope of lines for a wiki: its name, else its language.
func scopeOf(wiki, lang string) string {
	for _, scope := range []string{strings.ToLower(wiki), strings.ToLower(lang)} {
		if f, err := rendering.Parse("", []byte("["+scope+"]\nlabel x | y")); err == nil && len(f.Entries) == 1 {
			return scope
		}
	}
	return ""
}

// unique keeps the first of lines with one scope, kind and name, which two wikis
// of a language may have, and sorts the lines. It drops contradictions that no
// file can hold.
func (r *Result) unique() {
	r.Contradictions = slices.DeleteFunc(r.Contradictions, func(p Proposal) bool { return !p.writable() })
	slices.SortStableFunc(r.Proposals, compareProposals)
	slices.SortStableFunc(r.Contradictions, compareProposals)
	before := len(r.Proposals)
	r.Proposals = slices.CompactFunc(r.Proposals, func(a, b Proposal) bool { return compareProposals(a, b) == 0 })
	r.Withdrawn += int64(before - len(r.Proposals))
}

func (t Template) sampled() (n int64) {
	for _, p := range t.Pairs {
		n += p.Uses
	}
	return n
}

// calls returns how many different uses the template has, and whether one has
// arguments.
func (t Template) calls() (n int, arguments bool) {
	seen := map[string]bool{}
	for _, p := range t.Pairs {
		seen[p.Call] = true
		arguments = arguments || strings.Contains(p.Call, "|")
	}
	return len(seen), arguments
}

// A wikiLearner makes the proposals for one wiki.
type wikiLearner struct {
	options    Options
	lang, wiki string
	scope      string // of its lines
	templates  []Template
	res        *Result

	table  *rendering.Table // the data
	shower *shower          // with the names that were learned, as fix
	fix    *fixture
	named  *shower // with those that contradict the data too
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
	if len(proposals) > 0 { // they count as data from here on
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

// explained returns how many of the sampled uses of a template show what show
// returns; too few, without trying the others, if they cannot be enough.
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

// all is explained for all sampled uses.
func (w *wikiLearner) all(show func(call string) (string, bool), t Template) int64 {
	patient := wikiLearner{options: Options{MinExplained: 0}}
	return patient.explained(show, t)
}

// propose returns the line for a template, if there is one that is not disputed,
// and counts the template.
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
		res.Disputed++ // the name is listed
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

// fewCalls reports whether the uses of a template have arguments, always the same
// ones: no rule can be told from a text.
func (w *wikiLearner) fewCalls(t Template) bool {
	calls, arguments := t.calls()
	return arguments && calls < 2
}

// best returns the rule that explains most uses, nil if none explains enough.
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

// knownLine returns the line of the data that a template has.
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

// confirmed returns the lines that explain enough when all of them are data.
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
