package learn

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"pretext/extract/wiki/rendering"
)

// maxArgument is the highest positional argument for which rules are tried, and
// maxKeys the maximum number of named arguments.
const (
	maxArgument = 9
	maxKeys     = 200
)

// operations are the rules without texts that are tried for every template, the
// simplest first. Rules that show one argument are in fixedRules.
var operations = []rendering.Rule{
	{Op: rendering.OpLast}, {Op: rendering.OpLastOf, N: 2}, {Op: rendering.OpLastOf, N: 3}, {Op: rendering.OpNumber, N: 1}, {Op: rendering.OpNumber, N: 2},
	{Op: rendering.OpLang}, {Op: rendering.OpCountry}, {Op: rendering.OpTranslit}, {Op: rendering.OpLink, N: 1}, {Op: rendering.OpLink, N: 2},
	{Op: rendering.OpDate, N: 1}, {Op: rendering.OpDate, N: 2}, {Op: rendering.OpFreeDate}, {Op: rendering.OpDates}, {Op: rendering.OpOldStyle}, {Op: rendering.OpAsOf},
	{Op: rendering.OpCirca}, {Op: rendering.OpAge}, {Op: rendering.OpCentury}, {Op: rendering.OpEra}, {Op: rendering.OpConvert}, {Op: rendering.OpValue}, {Op: rendering.OpFraction},
	{Op: rendering.OpMeasure}, {Op: rendering.OpHeight}, {Op: rendering.OpZh}, {Op: rendering.OpJapanese, N: 1}, {Op: rendering.OpJapanese, N: 3}, {Op: rendering.OpKorean},
	{Op: rendering.OpShip}, {Op: rendering.OpShipClass}, {Op: rendering.OpHarvard}, {Op: rendering.OpMusic}, {Op: rendering.OpScience}, {Op: rendering.OpSic},
	{Op: rendering.OpAbsolute}, {Op: rendering.OpAthlete}, {Op: rendering.OpVerse}, {Op: rendering.OpNuclide}, {Op: rendering.OpStacked}, {Op: rendering.OpBraKet},
	{Op: rendering.OpSterling}, {Op: rendering.OpGauge}, {Op: rendering.OpIncise}, {Op: rendering.OpListing},
}

// A fixture renders uses of templates by candidate rules. For each rule that is tried
// for all templates, it defines an artificial template.
type fixture struct {
	*shower
	operations []rendering.Rule
	names      map[rendering.Rule]string
}

// newFixture returns a fixture for a wiki. keys are the named arguments for which it
// has rules.
func newFixture(lang, wiki string, keys []string, files []*rendering.File) *fixture {
	f := &fixture{names: map[rendering.Rule]string{}, operations: operations}
	made := &rendering.File{Name: "candidates"}
	add := func(r rendering.Rule) {
		name := fmt.Sprintf("pretext candidate %d", len(f.names))
		f.names[r] = name
		made.Entries = append(made.Entries, rendering.Entry{Scope: rendering.ScopeAll, Kind: rendering.Template, Name: name, Value: r.String(), Rule: r})
	}
	for n := 1; n <= maxArgument; n++ {
		add(rendering.Rule{Op: rendering.OpArg, N: n})
	}
	for _, r := range operations {
		add(r)
	}
	for _, k := range keys {
		add(rendering.Rule{Op: rendering.OpAlt, N: 1, Text: k})
	}
	f.shower = newShower(lang, wiki, append(slices.Clone(files), made)...)
	return f
}

// by renders call, a use of the template name, by one of the fixture's rules.
func (f *fixture) by(r rendering.Rule, name, call string) (string, bool) {
	return f.show("{{" + f.names[r] + strings.TrimPrefix(call, "{{"+name))
}

// argument returns the text of positional argument n, or "" if the use has no such
// argument.
func (f *fixture) argument(n int, name, call string) string {
	text, _ := f.by(rendering.Rule{Op: rendering.OpArg, N: n}, name, call)
	return text
}

// keyPattern matches the named arguments of a use. It may also match those of a
// template inside the use.
var keyPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\|\s*([^|={}\[\]<>\s][^|={}\[\]<>]{0,30}?)\s*=`) })

// keysOf returns the names of the most frequent named arguments in uses, at most
// maxKeys.
func keysOf(templates []Template) []string {
	uses := map[string]int64{}
	for _, t := range templates {
		for _, p := range t.Pairs {
			for _, m := range keyPattern().FindAllStringSubmatch(p.Call, -1) {
				uses[m[1]] += p.Uses
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(uses), func(a, b string) int { return cmp.Or(cmp.Compare(uses[b], uses[a]), strings.Compare(a, b)) })
	return keys[:min(len(keys), maxKeys)]
}

// A candidate is a rule that may explain a template, with a function that renders a
// use by it.
type candidate struct {
	rule rendering.Rule
	show func(call string) (string, bool)
}

// candidates returns the rules that may explain the uses of a template, the
// simplest first.
func (f *fixture) candidates(t Template) []candidate {
	list := []candidate{{rendering.Rule{Op: rendering.OpDrop}, func(string) (string, bool) { return "", true }}}
	uses := map[string]int64{}
	for _, p := range t.Pairs {
		uses[p.Text] += p.Uses
	}
	if text := first(uses); text != "" { // the text of most uses
		list = append(list, candidate{rendering.Rule{Op: rendering.OpText, Text: text}, func(string) (string, bool) { return plain(text), true }})
	}
	list = append(list, f.affixed(t)...)
	for _, k := range keysOf([]Template{t}) {
		if r := (rendering.Rule{Op: rendering.OpAlt, N: 1, Text: k}); f.names[r] != "" {
			list = append(list, f.fixed(r, t.Name))
		}
	}
	list = append(list, f.joined(t)...)
	for _, r := range f.operations {
		list = append(list, f.fixed(r, t.Name))
	}
	return list
}

func (f *fixture) fixed(r rendering.Rule, name string) candidate {
	return candidate{r, func(call string) (string, bool) { return f.by(r, name, call) }}
}

// first returns the key with the highest value. If several keys have the highest value,
// it returns the smallest key.
func first[K cmp.Ordered](uses map[K]int64) (best K) {
	most := int64(0)
	for k, n := range uses {
		if n > most || n == most && k < best {
			best, most = k, n
		}
	}
	return best
}

// maxAffixed is the maximum number of rules tried that show an argument between texts.
const maxAffixed = 12

// affixed returns rules that show one argument between two fixed texts. It uses the
// texts that occur most often around the argument.
func (f *fixture) affixed(t Template) (list []candidate) {
	votes := map[rendering.Rule]int64{}
	for _, p := range t.Pairs {
		text := plain(p.Text)
		for n := 1; n <= min(maxArgument, strings.Count(p.Call, "|")); n++ {
			value := f.argument(n, t.Name, p.Call)
			prefix, suffix, ok := strings.Cut(text, value)
			if value == "" || !ok {
				continue
			}
			r := rendering.Rule{Op: rendering.OpQuoted, N: n, Text: prefix + "|" + suffix}
			switch {
			case suffix == "":
				r.Op, r.Text = rendering.OpArg, prefix
			case prefix == "":
				r.Op, r.Text = rendering.OpArgAfter, suffix
			}
			votes[r] += p.Uses
		}
	}
	rules := slices.SortedFunc(maps.Keys(votes), func(a, b rendering.Rule) int {
		return cmp.Or(cmp.Compare(votes[b], votes[a]), compareRules(a, b))
	})
	for _, r := range rules[:min(len(rules), maxAffixed)] {
		if !valid(r) {
			continue
		}
		list = append(list, candidate{r, func(call string) (string, bool) {
			value := f.argument(r.N, t.Name, call)
			if value == "" {
				return "", true
			}
			switch r.Op {
			case rendering.OpArg:
				return plain(r.Text + value), true
			case rendering.OpArgAfter:
				return plain(value + r.Text), true
			}
			prefix, suffix, _ := strings.Cut(r.Text, "|")
			return plain(prefix + value + suffix), true
		}})
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return compareRules(a.rule, b.rule) })
	return list
}

// compareRules orders rules that show one argument by their number of fixed texts.
func compareRules(a, b rendering.Rule) int {
	return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(len(a.Text), len(b.Text)), cmp.Compare(a.N, b.N), strings.Compare(a.Text, b.Text))
}

// valid reports whether a file of rendering data can express the rule.
func valid(r rendering.Rule) bool {
	bars := 0
	if r.Op == rendering.OpQuoted || r.Op == rendering.OpPair {
		bars = 1
	}
	_, err := rendering.ParseRule(r.String())
	return err == nil && strings.Count(r.Text, "|") == bars
}

// joined returns rules that show several arguments with a separator. It uses the
// separator that occurs most often between the first two arguments.
func (f *fixture) joined(t Template) (list []candidate) {
	votes := map[string]int64{}
	for _, p := range t.Pairs {
		one, two := f.argument(1, t.Name, p.Call), f.argument(2, t.Name, p.Call)
		rest, ok := strings.CutPrefix(plain(p.Text), one)
		if between, _, found := strings.Cut(rest, two); ok && found && one != "" && two != "" && between != "" {
			votes[between] += p.Uses
		}
	}
	text := first(votes)
	if text == "" || strings.Contains(text, "|") {
		return nil
	}
	join := rendering.Rule{Op: rendering.OpJoin, N: 1, Text: text}
	list = append(list, candidate{join, func(call string) (string, bool) {
		var shown []string
		for n := 1; n <= maxArgument; n++ {
			if value := f.argument(n, t.Name, call); value != "" {
				shown = append(shown, value)
			}
		}
		return plain(strings.Join(shown, text)), true
	}})
	pair := rendering.Rule{Op: rendering.OpPair, N: 1, Text: "|" + text}
	return append(list, candidate{pair, func(call string) (string, bool) {
		one, two := f.argument(1, t.Name, call), f.argument(2, t.Name, call)
		if two != "" {
			two = text + two
		}
		return plain(one + two), true
	}})
}
