package scribunto

import (
	"strings"
	"sync"
	"time"

	"pretext/extract/wiki/internal/lua"
)

// today returns the time that programs see.
func (v *invocation) today() time.Time {
	if v.page.Today.IsZero() {
		v.m.Fail(failClock, "the day of the dump is unknown")
	}
	return v.page.Today.UTC()
}

// osLibrary returns the functions of os that Scribunto has.
func (v *invocation) osLibrary() *lua.Table {
	t := lua.NewTable()
	register(t, map[string]lua.Native{
		"clock": func(*lua.Machine, []lua.Value) []lua.Value { return []lua.Value{0.0} },
		"difftime": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			return []lua.Value{a.Number(0) - a.Number(1)}
		},
		"time": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			if a.Any(0) == nil {
				return []lua.Value{float64(v.today().Unix())}
			}
			o := a.Table(0)
			field := func(name string, otherwise int) int {
				n, ok := lua.ToNumber(o.Get(name))
				switch {
				case !ok && otherwise < 0:
					m.Throw("field '%s' missing in date table", name)
				case !ok:
					return otherwise
				}
				return int(max(min(n, 1e6), -1e6))
			}
			at := time.Date(field("year", -1), time.Month(field("month", -1)), field("day", -1), field("hour", 12), field("min", 0), field("sec", 0), 0, time.UTC)
			return []lua.Value{float64(at.Unix())}
		},
		"date": v.osDate,
	})
	return t
}

// osDate is os.date. All times are UTC.
func (v *invocation) osDate(m *lua.Machine, args []lua.Value) []lua.Value {
	a := lua.NewArgs(m, args)
	form := strings.TrimPrefix(a.Opt(0, "%c"), "!")
	var at time.Time
	if a.Any(1) == nil {
		at = v.today()
	} else {
		at = time.Unix(int64(max(min(a.Number(1), 1e12), -1e12)), 0).UTC()
	}
	if strings.HasPrefix(form, "*t") {
		t := m.NewTable()
		for _, f := range []struct {
			name  string
			value int
		}{{"year", at.Year()}, {"month", int(at.Month())}, {"day", at.Day()}, {"hour", at.Hour()}, {"min", at.Minute()}, {"sec", at.Second()},
			{"wday", int(at.Weekday()) + 1}, {"yday", at.YearDay()}} {
			m.Put(t, f.name, float64(f.value))
		}
		m.Put(t, "isdst", false)
		return []lua.Value{t}
	}
	var b strings.Builder
	for k := 0; k < len(form); k++ {
		if form[k] != '%' || k+1 == len(form) {
			b.WriteByte(form[k])
			continue
		}
		k++
		b.WriteString(strftime(at, form[k]))
		m.Charge(32)
	}
	return []lua.Value{m.String(b.String())}
}

// layouts returns Go's layouts of the verbs of strftime.
var layouts = sync.OnceValue(func() map[byte]string {
	return map[byte]string{'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'c': "Mon Jan _2 15:04:05 2006", 'd': "02", 'H': "15",
		'I': "03", 'm': "01", 'M': "04", 'p': "PM", 'S': "05", 'x': "01/02/06", 'X': "15:04:05", 'y': "06", 'Y': "2006", 'Z': "UTC", 'j': "002", 'F': "2006-01-02", 'T': "15:04:05", 'e': "_2"}
})

func strftime(at time.Time, verb byte) string {
	switch verb {
	case '%':
		return "%"
	case 'w':
		return string(rune('0' + int(at.Weekday())))
	}
	if layout := layouts()[verb]; layout != "" {
		return at.Format(layout)
	}
	return ""
}

// debugLibrary returns the functions of debug that Scribunto has.
func (v *invocation) debugLibrary() *lua.Table {
	t := lua.NewTable()
	register(t, map[string]lua.Native{"traceback": func(m *lua.Machine, args []lua.Value) []lua.Value {
		return []lua.Value{m.String(lua.NewArgs(m, args).Opt(0, ""))}
	}})
	return t
}
