package wikitext

import (
	"bytes"
	"strings"

	"pretext/extract/wiki/rendering"
)

// lookUp returns how to render the template with the given name; ok is false if
// it is unknown. name is the name in lower case, given is the name as it stands
// in the source.
func (s *Scanner) lookUp(name, given []byte) (t rendering.Rule, ok bool) {
	if f, ok := variables[string(name)]; ok {
		return rendering.Rule{Op: rendering.OpVariable, N: int(f)}, true
	}
	if len(given) == 3 && rendering.IsCountry(given) { // {{ESP}} is Spain, {{esp}} another template
		if t, ok = s.byShape(given); ok {
			return t, true
		}
	}
	if t, ok = s.table.Template(name); !ok {
		return s.byShape(given)
	}
	if t.Op == rendering.OpLang && t.N == 1 {
		_, code, _ := bytes.Cut(name, []byte("-"))
		t.Text = rendering.LanguageCode(code)
	}
	return t, true
}

// byShape returns how to render a template whose name has a certain form; ok is
// false if it has none of these forms:
//
//   - "2e" and "XIVe" of the French Wikipedia are shown themselves.
//   - "FRA" is shown as the name of the country in the language of the wiki.
//   - "enS" of the German Wikipedia shows a language and text in it.
//   - "en", where it is not a word of the wiki, shows text in the language; as a
//     mark after a link it has no text.
func (s *Scanner) byShape(given []byte) (t rendering.Rule, ok bool) {
	switch lang := s.baseLang(); {
	case lang == "fr" && isOrdinal(given):
		return rendering.Rule{Op: rendering.OpGiven}, true
	case len(given) >= 3 && len(given) <= 4 && rendering.IsCountry(given):
		if name := s.table.CountryName(given); name != "" {
			return rendering.Rule{Op: rendering.OpText, Text: name}, true
		}
	case len(given) == 2 && lang != "en" && given[1] >= 'a' && given[1] <= 'z' && rendering.IsLanguage(fold(&s.name, given)):
		return rendering.Rule{Op: rendering.OpArg, N: 1}, true
	case lang == "de" && len(given) >= 3 && len(given) <= 4 && bytes.HasSuffix(given, []byte("S")):
		if code := fold(&s.name, given[:len(given)-1]); rendering.IsLanguage(code) {
			return rendering.Rule{Op: rendering.OpLang, N: 1, Text: rendering.LanguageCode(code)}, true
		}
	}
	return rendering.Rule{}, false
}

// baseLang returns the code of the wiki's language without region and script.
func (s *Scanner) baseLang() string {
	base, _, _ := strings.Cut(s.page.Lang, "-")
	return base
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
