package scribunto

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"pretext/extract/wiki/internal/locale"
	"pretext/extract/wiki/internal/lua"
	"pretext/extract/wiki/internal/namespace"
)

// namespaceNumber returns the number of the namespace with a name or number.
func (v *invocation) namespaceNumber(name string) (number int, ok bool) {
	if number, ok = namespace.Number(v.page.Namespaces, name); ok || strings.TrimSpace(name) == "" {
		return number, true // articles have no name
	}
	number, err := strconv.Atoi(strings.TrimSpace(name))
	return number, err == nil
}

// hostTable returns what the libraries in Lua know about the wiki.
func (v *invocation) hostTable() *lua.Table {
	names, english := lua.NewTable(), lua.NewTable()
	for _, n := range append([]namespace.Namespace{{}}, namespace.English...) {
		if english.Get(float64(n.Number)) == nil {
			english.Set(float64(n.Number), n.Name)
			if len(v.page.Namespaces) == 0 {
				names.Set(float64(n.Number), n.Name)
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(v.page.Namespaces)) {
		names.Set(float64(n), v.page.Namespaces[n])
	}
	t := lua.NewTable()
	for _, field := range []struct {
		name  string
		value lua.Value
	}{{"title", v.page.Title}, {"wiki", v.page.Wiki}, {"lang", v.page.Lang}, {"caseSensitive", v.page.CaseSensitive}, {"server", "//" + v.page.Wiki}, {"namespaces", names}, {"canonicalNames", english}} {
		t.Set(field.name, field.value)
	}
	register(t, map[string]lua.Native{
		"absent": func(m *lua.Machine, args []lua.Value) []lua.Value {
			m.Fail(failWiki, lua.NewArgs(m, args).String(0))
			return nil
		},
		"namespaceNumber": func(m *lua.Machine, args []lua.Value) []lua.Value {
			if n, ok := v.namespaceNumber(lua.NewArgs(m, args).String(0)); ok {
				return []lua.Value{float64(n)}
			}
			return []lua.Value{nil}
		},
		"interwiki": func(m *lua.Machine, args []lua.Value) []lua.Value {
			return []lua.Value{v.host.Interwiki(lua.NewArgs(m, args).String(0))}
		},
		"subpages": func(m *lua.Machine, args []lua.Value) []lua.Value {
			n := lua.NewArgs(m, args).Int(0, 0)
			return []lua.Value{n != 0 && n != 6 && n != 14 && n > 0}
		},
		"languageName": func(m *lua.Machine, args []lua.Value) []lua.Value {
			if name := v.host.LanguageName(strings.ToLower(lua.NewArgs(m, args).String(0))); name != "" {
				return []lua.Value{m.String(name)}
			}
			return []lua.Value{nil}
		},
		"formatNumber": func(m *lua.Machine, args []lua.Value) []lua.Value {
			number := lua.NewArgs(m, args).String(0)
			return []lua.Value{m.String(v.host.Expand("{{formatnum:"+number+"}}", nil))}
		},
		"parseNumber": func(m *lua.Machine, args []lua.Value) []lua.Value {
			n, text := locale.NumbersOf(v.page.Lang, v.page.Wiki), strings.TrimSpace(lua.NewArgs(m, args).String(0))
			if n.Group == " " { // a no-break space in MediaWiki; formatNum gives one that breaks, as all our text has
				text = strings.ReplaceAll(text, " ", "\u00a0")
			}
			return []lua.Value{m.String(n.Parse(text))}
		},
		"formatDate": v.formatDate,
		"plural":     v.plural,
		"inflects": func(m *lua.Machine, args []lua.Value) []lua.Value {
			return []lua.Value{locale.Inflects(lua.NewArgs(m, args).String(0))}
		},
		"dotted": func(m *lua.Machine, args []lua.Value) []lua.Value {
			return []lua.Value{locale.Dotted(lua.NewArgs(m, args).String(0))}
		},
		"exists": v.exists,
		"assume": func(m *lua.Machine, args []lua.Value) []lua.Value {
			v.host.Assume(lua.NewArgs(m, args).String(0))
			return nil
		},
	})
	return t
}

// formatDate is the method formatDate of a language: it writes a date in the format of PHP.
func (v *invocation) formatDate(m *lua.Machine, args []lua.Value) []lua.Value {
	a := lua.NewArgs(m, args)
	return []lua.Value{m.String(v.formatted(a.String(0), strings.TrimSpace(a.Opt(1, "")), a.Opt(2, v.page.Lang)))}
}

// formatted writes a date in the format of {{#time:}} and a language. Without given it is
// today's.
func (v *invocation) formatted(form, given, lang string) string {
	at, ok := locale.ParseDate(given, v.page.Today)
	if _, known := locale.ParseDate(given, time.Unix(0, 0).UTC()); known && !ok {
		v.today() // fails: it is not known
	}
	if !ok {
		v.m.Throw("bad argument #2 to 'formatDate': invalid timestamp '%s'", given)
	}
	calendar := locale.Calendar{Lang: lang, Numbers: locale.NumbersOf(lang, v.page.Wiki)}
	text, ok := calendar.Format(form, at)
	if !ok {
		v.m.Fail(failWiki, "date in the format "+form)
	}
	return text
}

// plural returns the number, from 1, of the form of a word for a number in the wiki's language;
// nil if there is none, or MediaWiki does not know the language.
func (v *invocation) plural(m *lua.Machine, args []lua.Value) []lua.Value {
	a := lua.NewArgs(m, args)
	list := a.Table(1)
	forms := make([]string, list.Len())
	for k := range forms {
		forms[k] = m.ToString(list.Get(float64(k + 1)))
	}
	m.Charge(16 * len(forms))
	k := locale.Plural(v.page.Lang, a.String(0), forms)
	if _, known := locale.ListWordsOf(v.page.Lang); k < 0 || !known {
		return []lua.Value{nil}
	}
	return []lua.Value{float64(k + 1)}
}

// exists reports whether a page exists, as far as the dump says: modules do if it has them,
// templates may have been left out, and of other pages nothing is known. Then nil.
func (v *invocation) exists(m *lua.Machine, args []lua.Value) []lua.Value {
	a := lua.NewArgs(m, args)
	namespace, title := a.Int(0, 0), a.String(1)
	switch {
	case namespace == 828:
		return []lua.Value{v.host.Module(title) != ""}
	case namespace == 10 && v.host.HasTemplate(title):
		return []lua.Value{true}
	}
	return []lua.Value{nil}
}
