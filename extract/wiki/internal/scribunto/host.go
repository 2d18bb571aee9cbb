package scribunto

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pretext/extract/wiki/internal/lua"
)

// canonical are the English names of the usual namespaces, which every wiki accepts.
var canonical = [...]struct {
	number int
	name   string
}{{-2, "Media"}, {-1, "Special"}, {0, ""}, {1, "Talk"}, {2, "User"}, {3, "User talk"}, {4, "Project"}, {5, "Project talk"}, {6, "File"},
	{6, "Image"}, {7, "File talk"}, {8, "MediaWiki"}, {9, "MediaWiki talk"}, {10, "Template"}, {11, "Template talk"}, {12, "Help"},
	{13, "Help talk"}, {14, "Category"}, {15, "Category talk"}, {100, "Portal"}, {828, "Module"}, {829, "Module talk"}}

// namespaceNumber returns the number of the namespace with a name.
func (v *invocation) namespaceNumber(name string) (number int, ok bool) {
	name = strings.ToLower(strings.TrimSpace(strings.ReplaceAll(name, "_", " ")))
	for _, n := range slices.Sorted(maps.Keys(v.page.Namespaces)) {
		if strings.ToLower(v.page.Namespaces[n]) == name {
			return n, true
		}
	}
	for _, c := range canonical {
		if strings.ToLower(c.name) == name && c.number != 100 {
			return c.number, true
		}
	}
	if n, err := strconv.Atoi(name); err == nil {
		return n, true
	}
	return 0, false
}

// hostTable returns what the libraries in Lua know about the wiki.
func (v *invocation) hostTable() *lua.Table {
	names, english := lua.NewTable(), lua.NewTable()
	for _, c := range canonical {
		if english.Get(float64(c.number)) == nil {
			english.Set(float64(c.number), c.name)
			if len(v.page.Namespaces) == 0 {
				names.Set(float64(c.number), c.name)
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
	}{{"title", v.page.Title}, {"wiki", v.page.Wiki}, {"siteName", v.page.Wiki}, {"lang", v.page.Lang}, {"server", "//" + v.page.Wiki}, {"namespaces", names}, {"canonicalNames", english}} {
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
		"plural": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			forms := ""
			for k := range max(min(a.Int(1, 0), 9), 0) {
				forms += "|" + strconv.Itoa(k+1)
			}
			n, err := strconv.Atoi(v.host.Expand("{{plural:"+a.String(0)+forms+"}}", nil))
			if err != nil {
				m.Fail(failWiki, "plural of "+a.String(0))
			}
			return []lua.Value{float64(n)}
		},
		"formatDate": v.formatDate,
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
	form, given, lang := a.String(0), strings.TrimSpace(a.Opt(1, "")), a.Opt(2, v.page.Lang)
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
		m.Throw("bad argument #2 to 'formatDate': invalid timestamp '%s'", given)
	}
	text, ok := formatPHP(form, at, lang)
	if !ok {
		m.Fail(failWiki, "date in the format "+form)
	}
	return []lua.Value{m.String(text)}
}

// formatPHP formats a date; ok is false if this needs words of a language other than
// English.
func formatPHP(form string, at time.Time, lang string) (text string, ok bool) {
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
			if !english {
				return "", false
			}
			b.WriteString(phpVerb(c, at))
		case 'x': // xg, xr and others choose forms and scripts of a language
			if k+1 < len(form) && form[k+1] == 'n' {
				k++
				continue
			}
			if k+1 < len(form) && form[k+1] == 'g' && english {
				k++
				b.WriteString(at.Format("January"))
				continue
			}
			return "", false
		default:
			b.WriteString(phpVerb(c, at))
		}
	}
	return b.String(), true
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
