package locale

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Calendar writes dates in a language as {{#time:}} does. All times are UTC.
type Calendar struct {
	Lang    string
	Numbers *Numbers
}

// layouts are those of dates that PHP and ParseDate read alike. Without a time of day they
// begin the day, without a day the month.
var layouts = [...]string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02", "2006-1-2", "20060102150405", "20060102",
	"2 January 2006", "2 Jan 2006", "January 2, 2006", "Jan 2, 2006", "January 2 2006", "2 January 2006 15:04", "15:04, 2 January 2006", "January 2006",
	"Jan 2006", "2006 January", "2006 Jan", "2006-01", "2006/01/02", "2006/1/2", "1/2/2006", "2.1.2006", "2-1-2006", "2-January-2006", "2-Jan-2006"}

// yearless are layouts of dates in the year of today.
var yearless = [...]string{"2 January", "2 Jan", "January 2", "Jan 2"}

// relative matches what may stand behind a date: "+1 day".
var relative = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\s*([+-]?)\s*(\d{1,6}) (second|sec|minute|min|hour|day|week|fortnight|month|year)s?( ago)?$`)
})

// maxDate is the maximum length of a date, in bytes: each step relative to another date is
// read by itself.
const maxDate = 256

// ParseDate reads a date as PHP's strtotime does. now is the time that counts as the present.
// ok is false for a text that is not a date, and for one that only PHP reads.
func ParseDate(text string, now time.Time) (at time.Time, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) > maxDate {
		return now, false
	}
	if m := relative().FindStringSubmatchIndex(text); m != nil && (text[m[2]:m[3]] != "" || m[0] == 0) { // and not "5 May 12 hours"
		n, _ := strconv.Atoi(text[m[4]:m[5]])
		if (text[m[2]:m[3]] == "-") != (m[8] >= 0) {
			n = -n
		}
		if at, ok = ParseDate(text[:m[0]], now); ok { // what stands before it
			at = later(at, n, strings.ToLower(text[m[6]:m[7]]))
		}
		return at, ok
	}
	switch strings.ToLower(text) {
	case "", "now":
		return now, !now.IsZero()
	case "today", "midnight":
		return startOf(now), !now.IsZero()
	case "tomorrow":
		return startOf(now).AddDate(0, 0, 1), !now.IsZero()
	case "yesterday":
		return startOf(now).AddDate(0, 0, -1), !now.IsZero()
	}
	if number, isUnix := strings.CutPrefix(text, "@"); isUnix {
		n, err := strconv.ParseInt(number, 10, 64)
		return time.Unix(max(min(n, 1e12), -1e12), 0).UTC(), err == nil
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	if now.IsZero() {
		return now, false
	}
	for _, layout := range yearless {
		if t, err := time.Parse(layout+" 2006", text+now.Format(" 2006")); err == nil {
			return t, true
		}
	}
	if t, err := time.Parse("15:04", text); err == nil {
		return startOf(now).Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute), true
	}
	if t, err := time.Parse("2006", text); err == nil { // MediaWiki takes the day of today in that year
		return time.Date(t.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC), true
	}
	return now, false
}

func startOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// later returns the time n units after at.
func later(at time.Time, n int, unit string) time.Time {
	switch unit {
	case "second", "sec":
		return at.Add(time.Duration(n) * time.Second)
	case "minute", "min":
		return at.Add(time.Duration(n) * time.Minute)
	case "hour":
		return at.Add(time.Duration(n) * time.Hour)
	case "week":
		return at.AddDate(0, 0, 7*n)
	case "fortnight":
		return at.AddDate(0, 0, 14*n)
	case "month":
		return at.AddDate(0, n, 0)
	case "year":
		return at.AddDate(n, 0, 0)
	}
	return at.AddDate(0, 0, n)
}

// Format writes a date in the format of {{#time:}}, which is PHP's with letters of MediaWiki.
// ok is false if this needs years of a calendar that is not known, or words of a language that
// MediaWiki does not know.
func (c *Calendar) Format(form string, at time.Time) (text string, ok bool) {
	f := dateFormatter{Calendar: c, at: at, names: NamesOf(cmp.Or(c.Lang, "en"))}
	for k := 0; k < len(form); {
		n, ok := f.next(form[k:])
		if !ok {
			return "", false
		}
		k += n
	}
	return string(f.out), true
}

// A dateFormatter writes one date.
type dateFormatter struct {
	*Calendar
	at    time.Time
	names *Names // nil if MediaWiki does not know the language
	raw   bool   // numbers are written in European digits
	once  bool   // the next number is
	roman bool   // the next number is written in Roman numerals
	out   []byte
}

// next writes what the first letters of a format stand for, and returns their number.
func (f *dateFormatter) next(form string) (n int, ok bool) {
	switch c := form[0]; c {
	case '\\':
		if len(form) == 1 {
			f.out = append(f.out, '\\')
			return 1, true
		}
		f.out = append(f.out, form[1])
		return 2, true
	case '"':
		end := strings.IndexByte(form[1:], '"')
		if end < 0 {
			f.out = append(f.out, '"')
			return 1, true
		}
		f.out = append(f.out, form[1:1+end]...)
		return end + 2, true
	case 'x':
		return f.special(form)
	case 'F', 'M', 'l', 'D':
		return 1, f.word(c)
	}
	f.verb(form[0])
	return 1, true
}

// special writes what a letter behind an x stands for.
func (f *dateFormatter) special(form string) (n int, ok bool) {
	if len(form) == 1 {
		f.out = append(f.out, 'x')
		return 1, true
	}
	switch form[1] {
	case 'x':
		f.out = append(f.out, 'x')
	case 'n':
		f.once = true
	case 'N':
		f.raw = !f.raw
	case 'r':
		f.roman = true
	case 'g':
		return 2, f.word('g')
	default: // other calendars, Hebrew numerals
		return 0, false
	}
	return 2, true
}

// word writes the name of a month or day.
func (f *dateFormatter) word(c byte) (ok bool) {
	if f.names == nil {
		return false
	}
	month, day := int(f.at.Month())-1, int(f.at.Weekday())
	switch c {
	case 'F':
		f.out = append(f.out, f.names.Months[month]...)
	case 'g':
		f.out = append(f.out, f.names.Genitives[month]...)
	case 'M':
		f.out = append(f.out, f.names.Short[month]...)
	case 'l':
		f.out = append(f.out, f.names.Days[day]...)
	case 'D':
		f.out = append(f.out, f.names.ShortDays[day]...)
	}
	return true
}

// phpLayouts are Go's layouts of what is no number.
var phpLayouts = map[byte]string{'a': "pm", 'A': "PM", 'c': "2006-01-02T15:04:05+00:00", 'r': "Mon, 02 Jan 2006 15:04:05 +0000"}

// phpNumber returns the number that a letter stands for, and its least length.
func phpNumber(c byte, t time.Time) (n int64, length int) {
	switch c {
	case 'd':
		return int64(t.Day()), 2
	case 'j':
		return int64(t.Day()), 1
	case 'm':
		return int64(t.Month()), 2
	case 'n':
		return int64(t.Month()), 1
	case 'Y':
		return int64(t.Year()), 4
	case 'o':
		year, _ := t.ISOWeek()
		return int64(year), 4
	case 'y':
		return int64(t.Year() % 100), 2
	case 'H':
		return int64(t.Hour()), 2
	case 'G':
		return int64(t.Hour()), 1
	case 'h':
		return int64((t.Hour()+11)%12 + 1), 2
	case 'g':
		return int64((t.Hour()+11)%12 + 1), 1
	case 'i':
		return int64(t.Minute()), 2
	case 's':
		return int64(t.Second()), 2
	case 'U':
		return t.Unix(), 1
	case 'z':
		return int64(t.YearDay() - 1), 1
	case 'w':
		return int64(t.Weekday()), 1
	case 'N':
		return int64(t.Weekday()+6)%7 + 1, 1
	case 'W':
		_, week := t.ISOWeek()
		return int64(week), 2
	case 't':
		return int64(time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()), 2
	case 'L':
		return int64(time.Date(t.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay() - 365), 1
	case 'Z', 'I':
		return 0, 1
	}
	return 0, 0
}

// verb writes what one letter stands for. Other bytes stand for themselves.
func (f *dateFormatter) verb(c byte) {
	if n, length := phpNumber(c, f.at); length > 0 {
		f.number(n, length)
		return
	}
	switch c {
	case 'e', 'T':
		f.out = append(f.out, "UTC"...)
	case 'O':
		f.out = append(f.out, "+0000"...)
	case 'P':
		f.out = append(f.out, "+00:00"...)
	default:
		if layout := phpLayouts[c]; layout != "" {
			f.out = f.at.AppendFormat(f.out, layout)
			return
		}
		f.out = append(f.out, c)
	}
}

// number writes a number of at least so many digits, in the digits of the wiki unless the format
// says otherwise.
func (f *dateFormatter) number(n int64, length int) {
	text := fmt.Sprintf("%0*d", length, n)
	switch {
	case f.roman && n > 0 && n <= 10_000:
		f.out = append(f.out, roman(int(n))...)
	case f.once || f.raw || f.Numbers == nil:
		f.out = append(f.out, text...)
	default:
		f.out = f.Numbers.AppendDigits(f.out, text)
	}
	f.once, f.roman = false, false
}

// roman returns a number, 1 to 10,000, in Roman numerals.
func roman(n int) string {
	var b strings.Builder
	for _, r := range []struct {
		value int
		text  string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for ; n >= r.value; n -= r.value {
			b.WriteString(r.text)
		}
	}
	return b.String()
}
