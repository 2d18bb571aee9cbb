package rendering

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// A Set is a number of files. Lines of later files take precedence over those
// of earlier ones with the same scope.
type Set struct{ files []*File }

// NewSet returns the files that are compiled in, followed by the given ones.
func NewSet(more ...*File) Set { return Set{append(slices.Clip(builtin()), more...)} }

// A Table holds what the templates of one wiki show. It must not be changed;
// any number of goroutines may use it.
type Table struct {
	Languages map[string]string // code → name
	Countries map[string]string // code → name
	Units     map[string]string // code → symbol

	templates map[string]Rule // exact names
	affixes   []affix         // the longest first
}

// An affix is a rule for all names with a prefix and a suffix.
type affix struct {
	prefix, suffix string // one may be empty
	rule           Rule
}

// Table returns the table of a wiki in the given language (BCP 47, "" if
// unknown) with the given name ("dewiki", "" if unknown).
func (s Set) Table(lang, wiki string) *Table {
	t := &Table{Languages: map[string]string{}, Countries: map[string]string{}, Units: map[string]string{}, templates: map[string]Rule{}}
	affixes := map[string]affix{}
	for _, scope := range scopes(lang, wiki) {
		for _, f := range s.files {
			for _, e := range f.Entries {
				if e.Scope == scope {
					t.add(e, affixes)
				}
			}
		}
	}
	for _, a := range affixes {
		t.affixes = append(t.affixes, a)
	}
	slices.SortFunc(t.affixes, func(a, b affix) int {
		return cmp.Or(cmp.Compare(len(b.prefix+b.suffix), len(a.prefix+a.suffix)), cmp.Compare(a.prefix, b.prefix), cmp.Compare(a.suffix, b.suffix))
	})
	return t
}

// scopes returns the scopes of a wiki, the widest first.
func scopes(lang, wiki string) []string {
	list := []string{ScopeAll}
	lang = strings.ToLower(lang)
	base, _, _ := strings.Cut(lang, "-")
	for _, scope := range []string{base, lang, strings.ToLower(wiki)} {
		if scope != "" && !slices.Contains(list, scope) {
			list = append(list, scope)
		}
	}
	return list
}

// add adds an entry, which replaces an earlier one with its name.
func (t *Table) add(e Entry, affixes map[string]affix) {
	switch e.Kind {
	case Language:
		put(t.Languages, e)
	case Country:
		put(t.Countries, e)
	case Unit:
		put(t.Units, e)
	case Template:
		prefix, suffix, isPattern := strings.Cut(e.Name, "*")
		switch {
		case !isPattern || prefix+suffix == "": // {{*}} is a template
			if t.templates[e.Name] = e.Rule; e.Value == "" {
				delete(t.templates, e.Name)
			}
		case e.Value == "":
			delete(affixes, e.Name)
		default:
			affixes[e.Name] = affix{prefix, suffix, e.Rule}
		}
	}
}

func put(m map[string]string, e Entry) {
	if m[e.Name] = e.Value; e.Value == "" {
		delete(m, e.Name)
	}
}

// Template returns the rule for a template. name is in lower case, without its
// namespace.
func (t *Table) Template(name []byte) (Rule, bool) {
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

// Entries yields the lines of all files.
func (s Set) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for _, f := range s.files {
			for _, e := range f.Entries {
				if !yield(e) {
					return
				}
			}
		}
	}
}
