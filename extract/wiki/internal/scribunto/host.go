package scribunto

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// timestamps are the layouts of dates that formatDate reads.
var timestamps = [...]string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02", "2006-1-2", "20060102150405", "20060102",
	"2 January 2006", "2 Jan 2006", "January 2, 2006", "Jan 2, 2006", "January 2 2006", "2 January 2006 15:04", "15:04, 2 January 2006", "January 2006",
	"Jan 2006", "2006 January 2", "2006 January", "2006 Jan", "2006-01", "2006/01/02", "2006/1/2", "2-January-2006"}

// formatDate is the method formatDate of a language: it writes a date in the format of PHP.
func (v *invocation) formatDate(m *lua.Machine, args []lua.Value) []lua.Value {
	a := lua.NewArgs(m, args)
	return []lua.Value{m.String(v.formatted(a.String(0), strings.TrimSpace(a.Opt(1, "")), a.Opt(2, v.page.Lang)))}
}

// formatted writes a date in the format of PHP and a language. Without given it is today's.
func (v *invocation) formatted(form, given, lang string) string {
	at, ok := time.Time{}, false
	switch {
	case given == "" || given == "now" || given == "today":
		at, ok = v.today(), true
	case strings.HasPrefix(given, "@"):
		n, err := strconv.ParseInt(given[1:], 10, 64)
		at, ok = time.Unix(max(min(n, 1e12), -1e12), 0).UTC(), err == nil
	default:
		clean := strings.TrimPrefix(given, "+")
		for _, layout := range timestamps {
			if t, err := time.Parse(layout, clean); err == nil {
				at, ok = t.UTC(), true
				break
			}
		}
		if len(clean) == 4 && !ok { // a time of today in MediaWiki; modules mean a year
			if t, err := time.Parse("2006", clean); err == nil {
				at, ok = t, true
			}
		}
	}
	if !ok {
		v.m.Throw("bad argument #2 to 'formatDate': invalid timestamp '%s'", given)
	}
	text, ok := v.formatPHP(form, at, lang)
	if !ok {
		v.m.Fail(failWiki, "date in the format "+form)
	}
	return text
}

// formatPHP formats a date; ok is false if this needs words that are not known. Those of
// English are, and the names of months in the wiki's language.
func (v *invocation) formatPHP(form string, at time.Time, lang string) (text string, ok bool) {
	var b strings.Builder
	english := lang == "en" || lang == "simple" || lang == ""
	for k := 0; k < len(form); k++ {
		switch c := form[k]; c {
		case '\\':
			if k++; k < len(form) {
				b.WriteByte(form[k])
			}
		case '"':
			if end := strings.IndexByte(form[k+1:], '"'); end >= 0 {
				b.WriteString(form[k+1 : k+1+end])
				k += end + 1
			}
		case 'F', 'M', 'l', 'D', 'a', 'A', 'S':
			switch name := v.month(at, lang, true); {
			case english:
				b.WriteString(phpVerb(c, at))
			case c == 'F' && name != "":
				b.WriteString(name)
			default:
				return "", false
			}
		case 'x': // xg, xr and others choose forms and scripts of a language
			if k+1 < len(form) && form[k+1] == 'n' {
				k++
				continue
			}
			name := v.month(at, lang, false)
			if english {
				name = at.Format("January")
			}
			if k+1 == len(form) || form[k+1] != 'g' || name == "" {
				return "", false
			}
			k++
			b.WriteString(name)
		default:
			b.WriteString(phpVerb(c, at))
		}
	}
	return b.String(), true
}

// month returns the name of the month in the wiki's language, in a date or alone; "" if it is
// not known, for another language, and for a name in a date that has a word more, as "d'abril".
func (v *invocation) month(at time.Time, lang string, alone bool) string {
	if lang != v.page.Lang {
		return ""
	}
	name := v.host.Month(int(at.Month()), alone)
	if !alone && strings.ContainsAny(name, " '’") {
		return ""
	}
	return name
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

// phpLayouts returns Go's layouts of PHP's date formats.
var phpLayouts = sync.OnceValue(func() map[byte]string {
	return map[byte]string{'F': "January", 'M': "Jan", 'l': "Monday", 'D': "Mon", 'a': "pm", 'A': "PM", 'd': "02", 'j': "2", 'm': "01", 'n': "1", 'Y': "2006", 'y': "06",
		'H': "15", 'g': "3", 'h': "03", 'i': "04", 's': "05", 'c': "2006-01-02T15:04:05+00:00", 'e': "UTC", 'T': "UTC"}
})

// phpVerb returns what one letter of a date format stands for; other characters stand for
// themselves.
func phpVerb(c byte, at time.Time) string {
	if layout := phpLayouts()[c]; layout != "" {
		if c == 'e' || c == 'T' {
			return "UTC"
		}
		return at.Format(layout)
	}
	switch c {
	case 'G':
		return strconv.Itoa(at.Hour())
	case 'U':
		return strconv.FormatInt(at.Unix(), 10)
	case 'z':
		return strconv.Itoa(at.YearDay() - 1)
	case 'w':
		return strconv.Itoa(int(at.Weekday()))
	case 'N':
		return strconv.Itoa((int(at.Weekday())+6)%7 + 1)
	case 'W':
		_, week := at.ISOWeek()
		return fmt.Sprintf("%02d", week)
	case 't':
		return strconv.Itoa(time.Date(at.Year(), at.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day())
	case 'L':
		if time.Date(at.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay() == 366 {
			return "1"
		}
		return "0"
	case 'S':
		return ordinalSuffix(at.Day())
	}
	return string([]byte{c}) // a byte of a longer character stays one
}

func ordinalSuffix(day int) string {
	switch {
	case day%100 >= 11 && day%100 <= 13:
		return "th"
	case day%10 == 1:
		return "st"
	case day%10 == 2:
		return "nd"
	case day%10 == 3:
		return "rd"
	}
	return "th"
}
