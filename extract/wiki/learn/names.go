package learn

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"pretext/extract/wiki/rendering"
)

// A named identifies a line for the name of a language or country: the kind of line,
// and the code.
type named struct {
	kind rendering.Kind
	code string
}

// A vote counts the names that pages show for one language or country.
type vote struct {
	names map[string]int64
	uses  int64
	pair  map[string]Pair // by name: a use that shows it
	calls map[string]bool // the different uses that were counted
}

// votes collects the names that pages show for languages and countries.
type votes map[named]*vote

func (v votes) add(n named, name string, p Pair) {
	have := v[n]
	if have == nil {
		have = &vote{names: map[string]int64{}, pair: map[string]Pair{}, calls: map[string]bool{}}
		v[n] = have
	}
	have.uses += p.Uses
	have.names[name] += p.Uses
	have.calls[p.Call] = true
	if _, ok := have.pair[name]; !ok {
		have.pair[name] = p
	}
}

// maxName is the maximum length of the name of a language or country, in bytes.
const maxName = 64

// languageCode and countryCode match codes as wikis use them.
var (
	languageCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]{2,3}(-[a-z0-9]{2,8})*$`) })
	countryCode  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z]{2,3}$`) })
)

// namesOf adds votes for the names of languages or countries that a template's uses
// show. It does nothing if the template's rule does not show such a name.
func (f *fixture) namesOf(t Template, r rendering.Rule, table *rendering.Table, to votes) {
	for _, p := range t.Pairs {
		switch code, text := firstArgument(p.Call), plain(p.Text); r.Op {
		case rendering.OpCountry:
			if countryCode().MatchString(code) && isName(text) && text != code {
				to.add(named{rendering.Country, code}, text, p)
			}
		case rendering.OpLang:
			n := 2
			if _, inName, ok := strings.Cut(t.Name, "-"); r.N == 1 && ok {
				n, code = 1, inName
			}
			name, ok := labelOf(text, f.argument(n, t.Name, p.Call), table.Text(rendering.Label, "language"))
			if ok && languageCode().MatchString(code) {
				to.add(named{rendering.Language, code}, name, p)
			}
		}
	}
}

// firstArgument returns the first argument of a use, as wikitext.
func firstArgument(call string) string {
	_, rest, _ := strings.Cut(strings.TrimSuffix(call, "}}"), "|")
	code, _, _ := strings.Cut(rest, "|")
	return strings.TrimSpace(code)
}

// labelOf returns the name of the language at the start of text. body is the text after
// the name. form is the way in which a template writes the name: "{name}: " or "{lower}
// ". ok is false if text does not have this form.
func labelOf(text, body, form string) (name string, ok bool) {
	before, after, _ := strings.Cut(strings.Replace(form, "{lower}", "{name}", 1), "{name}")
	text, ok = strings.CutPrefix(text, strings.TrimLeft(before, " "))
	if name, _, found := strings.Cut(text, after+body); ok && found && body != "" && after != "" && isName(name) {
		return name, true
	}
	return "", false
}

func isName(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsAny(name, ":;()[]{}|,") && strings.TrimSpace(name) == name
}

// nameProposals returns lines for the names of languages and countries for which the
// uses agree.
func (w *wikiLearner) nameProposals(v votes) (list []Proposal) {
	for _, n := range slices.SortedFunc(maps.Keys(v), func(a, b named) int {
		return cmp.Or(strings.Compare(string(a.kind), string(b.kind)), strings.Compare(a.code, b.code))
	}) {
		have := v[n]
		name := first(have.names)
		p := Proposal{Scope: w.scope, Kind: n.kind, Name: n.code, Value: name, Uses: have.uses, Explained: have.names[name], Calls: len(have.calls), Example: have.pair[name]}
		known := w.table.LanguageName([]byte(n.code))
		if n.kind == rendering.Country {
			known = w.table.CountryName([]byte(n.code))
		}
		lower := n.kind == rendering.Language && strings.Contains(w.table.Text(rendering.Label, "language"), "{lower}")
		if known == name || lower && strings.EqualFold(known, name) || !w.options.accepts(p.Uses, p.Explained) {
			continue
		}
		if known != "" {
			p.Known, p.KnownExplained = string(n.kind)+" "+n.code+" | "+known, have.names[known]
		}
		list = append(list, p)
	}
	return list
}
