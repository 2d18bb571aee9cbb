package learn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pretext/extract/wiki/rendering"
)

// A Check is what pages show for the uses of a template that has a rule.
type Check struct {
	Scope   string `json:"scope"` // name of the wiki; its language if the name cannot be a scope
	Name    string `json:"name"`  // of the template
	Rule    string `json:"rule"`  // the line in use, with its file
	Uses    int64  `json:"uses"`  // those in the sample of the table
	Equal   int64  `json:"equal"` // uses for which the rule gives the text on the page
	Example Pair   `json:"example"`
	Gives   string `json:"gives"` // what the rule gives for the example

	// Verdict is what a line of kind evidence with these numbers does to a compiled-in rule.
	Verdict rendering.Verdict `json:"verdict"`
}

// Check compares each rule of the data, compiled-in or in files, with the uses in the table.
// Lines of kind evidence have no effect on it. The example is a use that the rule does not
// explain, if there is one. The result is sorted by scope and name.
func (t *Table) Check(files []*rendering.File) []Check {
	byWiki := map[string][]Template{}
	for _, template := range t.Templates() {
		byWiki[template.Wiki] = append(byWiki[template.Wiki], template)
	}
	var checks []Check
	for _, wiki := range slices.Sorted(maps.Keys(byWiki)) {
		lang := t.langs[wiki]
		known := append(slices.Clone(files), unjudged(scopeOf(wiki, lang), byWiki[wiki]))
		w := &wikiLearner{options: Options{Known: known}, lang: lang, wiki: wiki, scope: scopeOf(wiki, lang)}
		w.table = rendering.NewSet(known...).Table(lang, wiki)
		w.shower = newShower(lang, wiki, known...)
		for _, template := range byWiki[wiki] {
			if len(template.Pairs) > 0 && w.shower.knows(template.Name, template.Pairs[0].Call) {
				checks = append(checks, w.check(template))
			}
		}
	}
	slices.SortStableFunc(checks, func(a, b Check) int {
		return compareProposals(Proposal{Scope: a.Scope, Name: a.Name}, Proposal{Scope: b.Scope, Name: b.Name})
	})
	return checks
}

// unjudged returns lines that take the effect from all other evidence about the templates.
func unjudged(scope string, templates []Template) *rendering.File {
	f := &rendering.File{Name: "check"}
	for _, t := range templates {
		f.Entries = append(f.Entries, rendering.Entry{Scope: scope, Kind: rendering.Evidence, Name: t.Name, Value: rendering.EvidenceValue(0, 0), File: f.Name})
	}
	return f
}

func (w *wikiLearner) check(t Template) Check {
	c := Check{Scope: w.scope, Name: t.Name, Rule: w.knownLine(t.Name), Uses: t.sampled()}
	found := false
	for _, p := range t.Pairs {
		text, ok := w.shower.show(p.Call)
		equal := ok && text == plain(p.Text)
		if equal {
			c.Equal += p.Uses
		}
		if !found && !equal || c.Example.Call == "" {
			found = !equal
			c.Example, c.Gives = p, text
		}
	}
	c.Verdict = rendering.Judge(c.Equal, c.Uses)
	return c
}

// AppendEvidence appends checks as a file of rendering data with lines of kind evidence.
// Checks of too few uses are left out. source is the name of the input, for the first
// comment.
func AppendEvidence(dst []byte, source string, checks []Check) []byte {
	dst = fmt.Appendf(dst, "# Source: checked with %s.\n", comment(source))
	scope := ""
	for _, c := range checks {
		line := fmt.Sprintf("evidence %s | %s", c.Name, rendering.EvidenceValue(c.Equal, c.Uses))
		if c.Verdict == rendering.TooFew || strings.ContainsAny(c.Name, "|*\n\r") {
			continue
		}
		if c.Scope != scope {
			scope = c.Scope
			dst = fmt.Appendf(dst, "\n[%s]\n", scope)
		}
		if c.Verdict == rendering.Wrong {
			dst = fmt.Appendf(dst, "# %s; %s: %s → %q, the rule gives %q\n", comment(c.Rule), comment(c.Example.Page), comment(c.Example.Call), c.Example.Text, c.Gives)
		}
		dst = append(append(dst, line...), '\n')
	}
	return dst
}
