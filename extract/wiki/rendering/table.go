package rendering

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// A Set is the compiled-in rendering data together with the user's files. If two files
// have a line for the same scope and name, the line of the later file is used.
type Set struct{ more []*File }

// NewSet returns the data that are compiled in, followed by the given files.
func NewSet(more ...*File) Set { return Set{more} }

// A Table holds the rendering data of one wiki. It must not be changed; any number of
// goroutines may use it.
type Table struct {
	texts     map[Kind]map[string]string
	templates map[string]Rule // rules by exact name
	affixes   []affix         // rules by prefix and suffix, longest first
	wrong     map[string]bool // templates whose rule is not used, because of its evidence
	english   bool
	tag       language.Tag  // language of the wiki
	languages display.Namer // names of languages in the wiki's language; nil if CLDR lacks it
	regions   display.Namer

	ownCountries func() map[string]bool // names of all countries, in the wiki's language
}

// An affix is a rule for all template names with a prefix and a suffix.
type affix struct {
	prefix, suffix string // one of them may be empty
	rule           Rule
}

// Table returns the table of a wiki, given its language (BCP 47) and its name, such as
// "dewiki"; "" means unknown. An unknown language is treated as English, except for
// names of units.
func (s Set) Table(lang, wiki string) *Table {
	t := &Table{texts: map[Kind]map[string]string{}, templates: map[string]Rule{}, wrong: map[string]bool{}}
	for _, k := range kinds {
		t.texts[k] = map[string]string{}
	}
	affixes := map[string]affix{}
	for _, scope := range scopes(lang, wiki) {
		for e := range s.scope(scope) {
			t.add(e, affixes)
		}
	}
	for _, a := range affixes {
		t.affixes = append(t.affixes, a)
	}
	slices.SortFunc(t.affixes, func(a, b affix) int {
		return cmp.Or(cmp.Compare(len(b.prefix+b.suffix), len(a.prefix+a.suffix)), cmp.Compare(a.prefix, b.prefix), cmp.Compare(a.suffix, b.suffix))
	})
	base, _, _ := strings.Cut(strings.ToLower(lang), "-")
	t.english = base == "en" || base == ""
	if base == "" {
		clear(t.texts[UnitName]) // symbols are the same in most languages
	}
	if tag, err := language.Parse(cmp.Or(sameLanguage[base], lang)); err == nil {
		t.tag = tag
		t.languages, t.regions = namers(tag)
	}
	t.ownCountries = sync.OnceValue(t.countryNames)
	t.judge()
	return t
}

// Known returns the lines that apply to a wiki, sorted by kind and name. If several
// lines have the same kind and name, it returns only the one in effect.
func (s Set) Known(lang, wiki string) []Entry {
	type key struct {
		kind Kind
		name string
	}
	last := map[key]Entry{}
	for _, scope := range scopes(lang, wiki) {
		for e := range s.scope(scope) {
			last[key{e.Kind, e.Name}] = e
		}
	}
	var known []Entry
	for _, e := range last {
		if e.Value != "" {
			known = append(known, e)
		}
	}
	slices.SortFunc(known, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return known
}

// scope yields the lines of a scope.
func (s Set) scope(scope string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for _, e := range builtin(scope) {
			if !yield(e) {
				return
			}
		}
		for _, f := range s.more {
			for _, e := range f.Entries {
				e.Rule.User = true
				if e.Scope == scope && !yield(e) {
					return
				}
			}
		}
	}
}

// Entries yields all lines: first the compiled-in lines, ordered by scope, then the
// lines of the other files.
func (s Set) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for _, scope := range builtinScopes() {
			for _, e := range builtin(scope) {
				if !yield(e) {
					return
				}
			}
		}
		for _, f := range s.more {
			for _, e := range f.Entries {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// sameLanguage maps language codes of wikis to the codes of CLDR.
var sameLanguage = map[string]string{"no": "nb"}

// scopes returns the scopes that apply to a wiki, the widest first.
func scopes(lang, wiki string) []string {
	list := []string{ScopeAll}
	lang = cmp.Or(strings.ToLower(lang), "en")
	base, _, _ := strings.Cut(lang, "-")
	for _, scope := range []string{sameLanguage[base], base, lang, strings.ToLower(wiki)} {
		if scope != "" && !slices.Contains(list, scope) {
			list = append(list, scope)
		}
	}
	return list
}

// Scopes returns the scopes of the file's lines, sorted.
func (f *File) Scopes() []string {
	var list []string
	for _, e := range f.Entries {
		list = append(list, e.Scope)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// HoldsFor reports whether any line of the file applies to a wiki, given its language
// and name as for [Set.Table].
func (f *File) HoldsFor(lang, wiki string) bool {
	list := scopes(lang, wiki)
	return slices.ContainsFunc(f.Entries, func(e Entry) bool { return slices.Contains(list, e.Scope) })
}

// PluralCategory returns the plural category of a number ("one", "few" and so on) in
// the wiki's language. whole and fraction are the digits before and after the decimal
// point; decimals is the number of digits in fraction.
func (t *Table) PluralCategory(whole, decimals, fraction int) string {
	w, f := decimals, fraction // digits after the point without trailing zeros
	for w > 0 && f%10 == 0 {
		w, f = w-1, f/10
	}
	return pluralCategories[plural.Cardinal.MatchPlural(t.tag, whole, decimals, w, fraction, f)]
}

var pluralCategories = map[plural.Form]string{plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many", plural.Other: "other"}

// namers returns the names of languages and countries in the given language. They are
// nil if CLDR does not have exactly this language, because names in a related language
// would be wrong.
func namers(tag language.Tag) (languages, regions display.Namer) {
	want, _ := tag.Base()
	for _, have := range display.Supported.Tags() {
		switch b, _ := have.Base(); {
		case b == want && b.String() == "fil":
			return nil, display.Regions(tag) // for Filipino, CLDR has English names of languages
		case b.String() == "no" && want.String() == "nb":
			return display.Languages(have), display.Regions(have) // for nb, the library takes Danish
		case b == want:
			return display.Languages(tag), display.Regions(tag)
		}
	}
	return nil, nil
}

// add adds an entry. It replaces an earlier entry with the same name.
func (t *Table) add(e Entry, affixes map[string]affix) {
	if e.Kind != Template {
		if t.texts[e.Kind][e.Name] = e.Value; e.Value == "" {
			delete(t.texts[e.Kind], e.Name)
		}
		return
	}
	prefix, suffix, isPattern := strings.Cut(e.Name, "*")
	switch {
	case !isPattern || prefix+suffix == "": // {{*}} is itself a template
		if t.templates[e.Name] = e.Rule; e.Value == "" {
			delete(t.templates, e.Name)
		}
	case e.Value == "":
		delete(affixes, e.Name)
	default:
		affixes[e.Name] = affix{prefix, suffix, e.Rule}
	}
}

// Template returns the rule for a template. name is in lower case, without its
// namespace.
func (t *Table) Template(name []byte) (Rule, bool) {
	if len(t.wrong) > 0 && t.wrong[string(name)] {
		return Rule{}, false
	}
	if r, ok := t.templates[string(name)]; ok {
		return r, true
	}
	for _, a := range t.affixes {
		if n := len(name); n >= len(a.prefix)+len(a.suffix) && string(name[:len(a.prefix)]) == a.prefix && string(name[n-len(a.suffix):]) == a.suffix {
			return a.rule, true
		}
	}
	return Rule{}, false
}

// Text returns the value of the line with the given kind, except Template, and name; ""
// if there is none.
func (t *Table) Text(kind Kind, name string) string { return t.texts[kind][name] }

// TextOf is like [Table.Text] for a name in bytes. It does not retain name.
func (t *Table) TextOf(kind Kind, name []byte) string { return t.texts[kind][string(name)] }

// HasDefinitions reports whether the table has definitions of templates.
func (t *Table) HasDefinitions() bool { return len(t.texts[Definition]) > 0 }

// English reports whether the language of the wiki is English.
func (t *Table) English() bool { return t.english }

// LanguageName returns the name of a language in the wiki's language; "" if it is
// unknown. code is an ISO 639 code, optionally with a script or country (sr-Latn).
func (t *Table) LanguageName(code []byte) string {
	if name := t.texts[Language][string(code)]; name != "" {
		return name
	}
	base, _, more := strings.Cut(string(code), "-")
	var tag language.Tag
	if more { // a script or country; Wiktionary's "gem-pro" is neither, nor the language "pro"
		raw, err := language.Raw.Parse(string(code))
		if err != nil || !hasBase(raw, base) {
			return ""
		}
		tag = language.Make(string(code))
	}
	if name := t.texts[Language][base]; name != "" {
		return name
	}
	if t.languages == nil || len(base) > 3 {
		return ""
	}
	if more {
		if name := t.languages.Name(tag); name != "" {
			return name
		}
	}
	b, err := language.ParseBase(base)
	if err != nil {
		return ""
	}
	return t.languages.Name(b)
}

// hasBase reports whether the language of a tag is that of the code base.
func hasBase(tag language.Tag, base string) bool {
	own, _ := tag.Base()
	want, err := language.ParseBase(base)
	return err == nil && own == want
}

// ForeignLabel returns what the wiki writes before a text in a language; "" if no line
// of kind [Foreign] says so. code is as for [Table.LanguageName].
func (t *Table) ForeignLabel(code []byte) string {
	if label := t.texts[Foreign][string(code)]; label != "" {
		return label
	}
	base, _, _ := strings.Cut(string(code), "-")
	if label := t.texts[Foreign][base]; label != "" || len(base) != 3 {
		return label
	}
	b, err := language.ParseBase(base) // "deu" is the language with the code "de"
	if err != nil {
		return ""
	}
	return t.texts[Foreign][b.String()]
}

// CountryName returns the name of a country in the wiki's language; "" if it is
// unknown. code is an ISO 3166 or IOC code, or the country's English name.
func (t *Table) CountryName(code []byte) string {
	if name := t.texts[Country][string(code)]; name != "" {
		return name
	}
	name := string(code)
	if english := codeOfCountry()[name]; english != "" && !t.english {
		name = english
		if own := t.texts[Country][name]; own != "" {
			return own
		}
	}
	if region := t.texts[Region][name]; region != "" {
		name = region
	}
	if t.regions == nil || len(name) < 2 || len(name) > 3 || strings.ToUpper(name) != name {
		return ""
	}
	r, err := language.ParseRegion(name)
	if err != nil || !r.IsCountry() {
		return ""
	}
	return t.regions.Name(r)
}

// countryNames returns the names of countries in the language of the wiki.
func (t *Table) countryNames() map[string]bool {
	names := map[string]bool{}
	for code := range countryNames() {
		names[t.CountryName([]byte(code))] = true
	}
	delete(names, "")
	return names
}

// IsOwnCountry reports whether name is the name of a country in the language of the
// wiki.
func (t *Table) IsOwnCountry(name []byte) bool { return t.ownCountries()[string(name)] }

// IsLanguage reports whether b is the code of a language that wikis use in
// templates.
func IsLanguage(b []byte) bool {
	base, _, _ := strings.Cut(string(b), "-")
	return languageNames()[string(b)] != "" || languageNames()[base] != ""
}

// LanguageCode returns b as a string. If [IsLanguage] is true for b, it does not
// allocate.
func LanguageCode(b []byte) string {
	if code, ok := languageCodes()[string(b)]; ok {
		return code
	}
	return string(b)
}

// IsCountry reports whether b is the code of a country that wikis use in
// templates.
func IsCountry(b []byte) bool { return countryNames()[string(b)] != "" }
