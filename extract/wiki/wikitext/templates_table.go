package wikitext

import (
	"bytes"

	"pretext/extract/wiki/rendering"
)

// lookUp returns how to render the template with the given name; ok is false if
// it is unknown. name is the name in lower case, given is the name as it stands
// in the source.
func (s *Scanner) lookUp(name, given []byte) (t rendering.Rule, ok bool) {
	if f, ok := variables[string(name)]; ok {
		return rendering.Rule{Op: rendering.OpVariable, N: int(f)}, true
	}
	if t, ok = s.table.Template(name); !ok {
		return s.byShape(given)
	}
	if t.Op == rendering.OpLang && t.N == 1 {
		_, code, _ := bytes.Cut(name, []byte("-"))
		t.Text = string(code)
	}
	return t, true
}

// byShape returns how to render a template whose name has a certain form; ok is
// false if it has none of these forms:
//
//   - "2e" and "XIVe" of the French Wikipedia are shown themselves.
//   - "FRA" is shown as the name of the country.
//   - "enS" of the German Wikipedia shows its argument, which is text in a
//     language.
func (s *Scanner) byShape(given []byte) (t rendering.Rule, ok bool) {
	if isOrdinal(given) {
		return rendering.Rule{Op: rendering.OpGiven}, true
	}
	if len(given) == 3 {
		if name := s.table.Countries[string(given)]; name != "" {
			return rendering.Rule{Op: rendering.OpText, Text: name}, true
		}
	}
	if code, ok := bytes.CutSuffix(given, []byte("S")); ok && len(code) <= 3 && s.table.Languages[string(code)] != "" {
		return rendering.Rule{Op: rendering.OpArg, N: 1}, true
	}
	return rendering.Rule{}, false
}

var frenchMonths = makeSet("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre")

// isOrdinal reports whether b is a French ordinal number in digits or Roman
// numerals ("2e", "XIVe", "Ier"), with an optional month ("1er mars").
func isOrdinal(b []byte) bool {
	b, month, _ := bytes.Cut(b, []byte(" "))
	if len(month) > 0 && !frenchMonths[string(month)] {
		return false
	}
	number := bytes.TrimLeft(b, "0123456789")
	if len(number) == len(b) {
		number = bytes.TrimLeft(b, "IVXLCM")
	}
	if len(number) == len(b) {
		return false
	}
	switch string(number) {
	case "e", "er", "re", "ème", "ère", "nd", "nde":
		return true
	}
	return false
}
