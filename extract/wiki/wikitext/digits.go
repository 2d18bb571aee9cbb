package wikitext

import "strings"

// number renders a number with grouped digits.
func (s *Scanner) number(p span) {
	text, mark := s.capture(p)
	end := len(s.aside)
	s.aside = appendGrouped(s.aside, text, digitsOf(s.page.Lang))
	s.text(s.aside[end:])
	s.release(mark)
}

// formatNumber renders {{formatnum:1234}}. With the argument R it removes
// separators, with NOSEP it adds none.
func (s *Scanner) formatNumber(p span, args []argument) {
	switch string(s.bytes(s.arg(args, 1))) {
	case "R":
		text, mark := s.capture(p)
		end := len(s.aside)
		for _, c := range text {
			if c != ',' {
				s.aside = append(s.aside, c)
			}
		}
		s.text(s.aside[end:])
		s.release(mark)
	case "NOSEP":
		s.put(p)
	default:
		s.number(p)
	}
}

// digitMarks are the separators in numbers of a language.
type digitMarks struct {
	group, decimal string
	least          int // minimum digits of a number that is grouped
}

// digitsOf returns the separators that MediaWiki uses in numbers on a wiki in
// the language (separatorTransformTable and minimumGroupingDigits of its
// messages).
func digitsOf(lang string) digitMarks {
	base, _, _ := strings.Cut(lang, "-")
	switch base {
	case "de", "nl", "da", "el", "tr", "id", "hr", "sr", "ro", "ca", "gl", "vi", "sl", "is", "az", "bs", "lb":
		return digitMarks{".", ",", 4}
	case "fr", "ru", "uk", "cs", "sk", "sv", "no", "nb", "nn", "fi", "hu", "et", "lv", "lt", "be", "kk", "br", "oc":
		return digitMarks{" ", ",", 4}
	case "es", "pt", "pl", "it", "bg":
		return digitMarks{" ", ",", 5}
	}
	return digitMarks{",", ".", 4}
}

// appendGrouped appends text; if it is a plain number, with separators between
// groups of three digits.
func appendGrouped(dst, text []byte, m digitMarks) []byte {
	start := 0
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		start = 1
	}
	digits := start
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	if digits < len(text) && text[digits] != '.' { // not a plain number
		return append(dst, text...)
	}
	grouped := digits-start >= m.least
	for i, c := range text {
		switch {
		case i > start && i < digits && (digits-i)%3 == 0 && grouped:
			dst = append(dst, m.group...)
		case i == digits && i+1 < len(text):
			dst = append(dst, m.decimal...)
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// measure renders {{unité|6925|km|2}} and {{unité|6925 km2}} of the French
// Wikipedia: a number with grouped digits, then units, each with its power.
func (s *Scanner) measure(args []argument) {
	p := s.arg(args, 1)
	digits := 0
	for b := s.bytes(p); digits < len(b) && b[digits] >= '0' && b[digits] <= '9'; {
		digits++
	}
	s.number(span{p.start, p.start + digits})
	s.put(span{p.start + digits, p.end})
	for n := 2; n+1 < 10; n += 2 {
		s.affixed(" ", s.arg(args, n), "")
		s.put(s.arg(args, n+1))
	}
}
