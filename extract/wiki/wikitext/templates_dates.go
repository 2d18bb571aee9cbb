package wikitext

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pretext/extract/wiki/internal/locale"
	"pretext/extract/wiki/rendering"
)

var monthNames = [13]string{1: "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}

// date renders a date. The arguments n, n+1 and n+2 are the year, month and day: 2001,
// 9 and 11 become "September 11, 2001" or, with dayFirst, "11 September 2001". A day, month
// and year, the order of many wikis, give the same. If no argument is a year, argument n is
// rendered alone.
func (c *call) date(n int, dayFirst bool) {
	year := c.bytes(c.arg(n))
	d, ok := isoDate(year)
	if !ok {
		d.year, d.month = year, c.wiki.monthNumber(c.bytes(c.arg(n+1)))
		last := c.bytes(c.arg(n + 2))
		d.day, _ = parseNumber(last)
		if day, isDay := parseNumber(year); isDay && day >= 1 && day <= 31 && len(last) > 2 && isDigits(last) { // {{fecha de nacimiento|3|2|1950}}
			d.year, d.day = last, day
		}
	}
	if len(d.year) == 0 {
		return
	}
	if _, ok := parseNumber(d.year); !ok || d.month < 1 || d.month > 12 {
		c.put(c.arg(n))
		return
	}
	if !c.wiki.table.English() {
		c.localDate(d)
		return
	}
	if d.hasDay() && dayFirst {
		c.decimal(d.day)
		c.str(" ")
	}
	c.str(monthNames[d.month])
	c.str(" ")
	if d.hasDay() && !dayFirst {
		c.decimal(d.day)
		c.str(", ")
	}
	c.text(d.year)
}

// A date is a date from the arguments of a template.
type date struct {
	year       []byte
	month, day int // day outside 1 to 31: no day
}

func (d date) hasDay() bool { return d.day >= 1 && d.day <= 31 }

// opAsOf renders {{as of|2015|3}} as "As of March 2015".
func opAsOf(c call) {
	if p := c.named("alt"); !p.empty() {
		c.put(p)
		return
	}
	since, lower := c.is("since"), c.is("lc")
	label := "as-of"
	if since {
		label = "since"
	}
	if lower {
		label += "-lower"
	}
	if !c.is("bare") {
		c.str(c.wiki.label(label))
	}
	c.affixed("", c.named("pre"), " ")
	c.date(1, string(c.bytes(c.named("df"))) != "US")
	c.put(c.named("post"))
}

// opAge renders the full years between two dates: {{age|1990|5|1|2000|4|30}} as
// "9". Without a second date it writes nothing, because the age depends on the
// current day.
func opAge(c call) {
	var d [6]int
	for k := range d {
		v, ok := parseNumber(c.bytes(c.arg(k + 1)))
		if !ok {
			return
		}
		d[k] = v
	}
	years := d[3] - d[0]
	if d[4] < d[1] || d[4] == d[1] && d[5] < d[2] {
		years--
	}
	if years >= 0 {
		c.decimal(years)
	}
}

// opOldStyle renders {{OldStyleDate|3 May|1700|22 April}} as "3 May [O.S. 22
// April] 1700", and {{OldStyleDateNY|3 May 1701|22 April 1700}}, which has no
// third argument, as "3 May 1701 [O.S. 22 April 1700]". With c.rule.N = 1, the old date comes
// first: {{OldStyleDate|6 июня|1799|26 мая}} is "26 мая [6 июня] 1799", and with "25 мая" and
// "6" one month is enough, "6 [25] мая 1799".
func opOldStyle(c call) {
	switch {
	case !c.arg(4).empty():
		oldStyleParts(&c)
		return
	case c.rule.N == 1 && !c.arg(3).empty():
		oldStyleFirst(&c)
		return
	}
	if c.arg(3).empty() {
		c.put(c.arg(1))
		c.affixed(c.wiki.label("old-style"), c.arg(2), c.wiki.label("old-style-end"))
		return
	}
	c.put(c.arg(1))
	c.affixed(c.wiki.label("old-style"), c.arg(3), c.wiki.label("old-style-end"))
	c.affixed(" ", c.arg(2), "")
}

// oldStyleFirst renders an old-style date before the new one. A month that they share is
// shown once: "12 [25] января 1900".
func oldStyleFirst(c *call) {
	fresh, month := cutDay(c, c.arg(1))
	old, oldMonth := cutDay(c, c.arg(3))
	if !isDigits(c.bytes(old)) {
		fresh, month, old, oldMonth = c.arg(1), span{}, c.arg(3), span{}
	}
	bothStyles(c, [3]span{fresh, month, c.arg(2)}, [3]span{old, oldMonth})
}

// oldStyleParts renders the form that the Russian Wikipedia has now, and its Module:Calendar
// reads: day, month and year of the new date, then those of the old one. The month and the
// year of the old date may be missing, and the month of the new one may stand with its day.
func oldStyleParts(c *call) {
	fresh := [3]span{c.arg(1), c.arg(2), c.arg(3)}
	if fresh[1].empty() {
		fresh[0], fresh[1] = cutDay(c, fresh[0])
	}
	old := [3]span{c.arg(4), c.arg(5), c.arg(6)}
	if old[1].empty() {
		old[0], old[1] = cutDay(c, old[0])
	}
	bothStyles(c, fresh, old)
}

// bothStyles renders the day, month and year of an old-style date, and of the new one in
// brackets. What both share stands once, after them.
func bothStyles(c *call, fresh, old [3]span) {
	same := func(i int) bool { return old[i].empty() || bytes.Equal(c.bytes(old[i]), c.bytes(fresh[i])) }
	shared := 3 // the parts from here on are shared
	for shared > 1 && same(shared-1) {
		shared--
	}
	c.put(old[0])
	for _, part := range old[1:shared] {
		c.affixed(" ", part, "")
	}
	c.str(c.wiki.label("old-style"))
	c.put(fresh[0])
	for _, part := range fresh[1:shared] {
		c.affixed(" ", part, "")
	}
	c.str(c.wiki.label("old-style-end"))
	for _, part := range fresh[shared:] {
		c.affixed(" ", part, "")
	}
}

// cutDay cuts a date after its day: "25 января".
func cutDay(c *call, date span) (day, month span) {
	if k := bytes.IndexByte(c.bytes(date), ' '); k > 0 && isDigits(c.bytes(date)[:k]) {
		return span{date.start, date.start + k}, span{date.start + k + 1, date.end}
	}
	return date, span{}
}

// localDate renders a date as is usual in the wiki's language: "11. September 2001",
// "2001年9月11日", with its digits: "১১ সেপ্টেম্বর, ২০০১". If CLDR has no data for the
// language, the form is that of MediaWiki, else 2001-09-11.
func (c *call) localDate(d date) {
	number := fmt.Sprintf("%02d", d.month)
	name := "month"
	if d.hasDay() {
		name = "day"
	}
	form := c.wiki.table.Text(rendering.Date, name)
	month := c.wiki.table.Text(rendering.Month, number)
	if form == "" && messageDate(c, d) {
		return
	}
	switch {
	case form == "" && d.hasDay():
		form = fmt.Sprintf("{y}-%s-%02d", number, d.day)
	case form == "":
		form = "{y}-" + number
	}
	local := func(digits string) string { return string(c.wiki.numbers.AppendDigits(nil, digits)) }
	day := local(strconv.Itoa(d.day))
	if d.day == 1 && c.wiki.baseLang() == "fr" {
		day = "1er"
	}
	alone := cmp.Or(c.wiki.table.Text(rendering.MonthAlone, number), month)
	c.str(strings.NewReplacer("{y}", local(string(d.year)), "{month}", month, "{alone}", alone,
		"{m}", local(strconv.Itoa(d.month)), "{d}", day).Replace(form))
}

// messageDate renders a date in the format of MediaWiki; ok is false if it has none.
func messageDate(c *call, d date) (ok bool) {
	names := locale.NamesOf(c.wiki.page.Lang)
	year, isYear := parseNumber(d.year)
	if names == nil || !isYear || year > 9999 {
		return false
	}
	form, day := "F Y", 1
	if d.hasDay() {
		form, day = names.Date, d.day
	}
	text, ok := c.wiki.calendar(c.wiki.page.Lang).Format(form, time.Date(year, time.Month(d.month), day, 0, 0, 0, 0, time.UTC))
	if ok {
		c.str(text)
	}
	return ok
}

// opDates renders {{start and end dates|2001|1|2|2003|4|5}} as "January 2, 2001 –
// April 5, 2003".
func opDates(c call) {
	dayFirst := c.is("df")
	c.date(1, dayFirst)
	if !c.arg(4).empty() {
		c.str(" – ")
		c.date(4, dayFirst)
	}
}

// opReign renders {{reign|1066|1087}} as "r. 1066–1087", with spaces around the dash if a date
// has one. A missing first date is "?".
func opReign(c call) {
	c.str(c.rule.Text)
	first, second := c.arg(1), c.arg(2)
	if single := c.named("single"); !single.empty() || first.empty() && second.empty() {
		c.put(single)
		return
	}
	dash := "–"
	if bytes.ContainsRune(c.bytes(first), ' ') || bytes.ContainsRune(c.bytes(second), ' ') {
		dash = " – "
	}
	if first.empty() {
		c.str("?")
	}
	c.put(first)
	c.str(dash)
	c.put(second)
}

// opFreeDate renders {{date|11|septembre|2001}} as "11 septembre 2001". In {{date|11
// September 2001|mdy}}, the second argument is a format, and the result is "11
// September 2001". A day, month and year in digits become a date of the wiki's language. On
// a French wiki, day 1 is "1er".
func opFreeDate(c call) {
	first := c.bytes(c.arg(1))
	if isDigits(first) && c.wiki.monthNumber(c.bytes(c.arg(2))) > 0 && len(c.bytes(c.arg(3))) > 2 { // {{fecha|3|2|2001}}, {{fecha|3|febrero|2001}}
		c.date(1, true)
		return
	}
	day, rest, inOne := bytes.Cut(first, []byte(" "))
	if string(day) == "1" && c.wiki.baseLang() == "fr" {
		c.str("1er ")
		if p := c.arg(1); inOne {
			c.put(span{p.end - len(rest), p.end})
		} else {
			c.joined(2, " ")
		}
		return
	}
	if len(first) > len("1 mai") && !isDigits(first) {
		if d, ok := englishDate(first); ok && !c.wiki.table.English() {
			c.localDate(d)
			return
		}
		c.date(1, true)
		return
	}
	switch c.wiki.baseLang() {
	case "es", "gl", "pt":
		c.joined(1, " de ") // {{dtlink|5|maio|2001}}
	case "fr":
		frenchDate(&c)
	default:
		c.joined(1, " ")
	}
}

// frenchDate renders {{date|25|mars}} and {{Date||Octobre|1845|en sport}} as "25 mars" and
// "octobre 1845": day, month and year without the subject after them.
func frenchDate(c *call) {
	c.put(c.arg(1))
	if month := bytes.ToLower(c.bytes(c.arg(2))); frenchMonths[string(month)] {
		if !c.arg(1).empty() {
			c.str(" ")
		}
		c.text(month)
	} else {
		c.affixed(" ", c.arg(2), "")
	}
	c.affixed(" ", c.arg(3), "")
}

// englishDate parses "11 September 2001", "September 11, 2001" and "September
// 2001"; ok is false for any other text.
func englishDate(b []byte) (d date, ok bool) {
	words := bytes.FieldsFunc(b, func(r rune) bool { return r == ' ' || r == ',' })
	if len(words) < 2 || len(words) > 3 {
		return date{}, false
	}
	last := len(words) - 1
	d.year = words[last]
	for _, word := range words[:last] {
		if day, isDay := parseNumber(word); isDay {
			d.day = day
		} else {
			d.month = monthNumber(word)
		}
	}
	return d, isDigits(d.year) && d.month > 0 && (last == 1) == (d.day == 0)
}

// isoDate parses a date in the form 2001-09-11; ok is false for any other text.
func isoDate(b []byte) (d date, ok bool) {
	if len(b) != len("2001-09-11") || b[4] != '-' || b[7] != '-' {
		return date{}, false
	}
	month, monthOK := parseNumber(b[5:7])
	day, dayOK := parseNumber(b[8:])
	d = date{b[:4], month, day}
	return d, isDigits(d.year) && monthOK && dayOK && month >= 1 && month <= 12 && d.hasDay()
}

// monthNumber returns the number of a month, 1 to 12, that is given as a
// number, as its English name or as the first three letters of the name. It
// returns 0 for anything else.
func monthNumber(b []byte) int {
	if n, ok := parseNumber(b); ok && n <= 12 {
		return n
	}
	for n, name := range monthNames {
		if n > 0 && (strings.EqualFold(name, string(b)) || strings.EqualFold(name[:3], string(b))) {
			return n
		}
	}
	return 0
}

// monthNumber returns the number of a month that is given as [monthNumber] reads it, or by its
// name in the wiki's language.
func (w *wiki) monthNumber(b []byte) int {
	if n := monthNumber(b); n > 0 || len(b) < 3 {
		return n
	}
	names := locale.NamesOf(w.page.Lang)
	if names == nil {
		return 0
	}
	for _, list := range [][]string{names.Months, names.Genitives} {
		if k := slices.IndexFunc(list, func(name string) bool { return strings.EqualFold(name, string(b)) }); k >= 0 {
			return k + 1
		}
	}
	return 0
}

// opEraName renders {{BC|44}} as "44 BC" and {{AD|14}} as "AD 14" on an English wiki.
// On other wikis it uses the form of their language. If CLDR has no data for the
// language, it writes only the year.
func opEraName(c call) {
	year := c.arg(1)
	era := strings.ToLower(c.rule.Text)
	if c.wiki.table.English() {
		name := c.wiki.table.Text(rendering.Era, era)
		if era == "ad" {
			c.str(name)
			c.affixed(" ", year, "")
			return
		}
		c.affixed("", year, " ")
		c.str(name)
		return
	}
	era = strings.NewReplacer("bce", "bc", "ce", "ad").Replace(era)
	name, form := c.wiki.table.Text(rendering.Era, era), c.wiki.table.Text(rendering.Date, "era")
	before, after, ok := strings.Cut(strings.Replace(form, "{era}", name, 1), "{y}")
	if name == "" || !ok {
		before, after = "", ""
	}
	c.affixed(before, year, after)
}
