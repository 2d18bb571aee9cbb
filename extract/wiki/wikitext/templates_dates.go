package wikitext

import "strings"

var monthNames = [13]string{1: "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}

// date renders year, month and day from argument n on, as {{start date}} and
// {{birth date and age}} have them; an argument that is no number is a whole
// date.
func (s *Scanner) date(args []argument, n int, dayFirst bool) {
	year := s.bytes(s.arg(args, n))
	month, _ := parseNumber(s.bytes(s.arg(args, n+1)))
	day, _ := parseNumber(s.bytes(s.arg(args, n+2)))
	if len(year) == 0 {
		return
	}
	if _, ok := parseNumber(year); !ok || month < 1 || month > 12 {
		s.put(s.arg(args, n))
		return
	}
	if units, ok := dateUnits(s.page.Lang); ok {
		s.unitDate(year, month, day, units)
		return
	}
	switch {
	case day < 1 || day > 31:
		s.str(monthNames[month])
		s.str(" ")
	case dayFirst:
		s.decimal(day)
		s.str(" ")
		s.str(monthNames[month])
		s.str(" ")
	default:
		s.str(monthNames[month])
		s.str(" ")
		s.decimal(day)
		s.str(", ")
	}
	s.text(year)
}

// asOf renders {{as of|2015|3}}: "As of March 2015".
func (s *Scanner) asOf(args []argument) {
	if p := s.named(args, "alt"); !p.empty() {
		s.put(p)
		return
	}
	since, lower := s.is(args, "since"), s.is(args, "lc")
	switch {
	case since && lower:
		s.str("since ")
	case since:
		s.str("Since ")
	case lower:
		s.str("as of ")
	default:
		s.str("As of ")
	}
	s.date(args, 1, string(s.bytes(s.named(args, "df"))) != "US")
	s.put(s.named(args, "post"))
}

// age renders the full years between two dates; without a second date it
// depends on the day of reading and is dropped.
func (s *Scanner) age(args []argument) {
	var d [6]int
	for k := range d {
		v, ok := parseNumber(s.bytes(s.arg(args, k+1)))
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
		s.decimal(years)
	}
}

// oldStyle renders {{OldStyleDate|3 May|1700|22 April}}:
// "3 May [O.S. 22 April] 1700".
func (s *Scanner) oldStyle(args []argument) {
	s.put(s.arg(args, 1))
	s.affixed(" [O.S. ", s.arg(args, 3), "]")
	s.affixed(" ", s.arg(args, 2), "")
}

// dateUnits returns what is written behind year, month and day in the
// languages that count months: 2001年2月3日. The wikis in other languages have
// templates of their own for dates, which hold them as they are shown.
func dateUnits(lang string) (units [3]string, ok bool) {
	switch base, _, _ := strings.Cut(lang, "-"); base {
	case "ja", "zh", "yue", "wuu", "gan", "lzh":
		return [3]string{"年", "月", "日"}, true
	case "ko":
		return [3]string{"년 ", "월 ", "일"}, true
	}
	return units, false
}

// unitDate renders a date in such a language.
func (s *Scanner) unitDate(year []byte, month, day int, units [3]string) {
	s.text(year)
	s.str(units[0])
	s.decimal(month)
	if day < 1 || day > 31 {
		s.str(strings.TrimRight(units[1], " "))
		return
	}
	s.str(units[1])
	s.decimal(day)
	s.str(units[2])
}
