package locale

import (
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

var categories = sync.OnceValue(func() map[string][]plural.Form {
	forms := map[string]plural.Form{"zero": plural.Zero, "one": plural.One, "two": plural.Two, "few": plural.Few, "many": plural.Many}
	m := map[string][]plural.Form{}
	for _, c := range pluralCategories {
		var list []plural.Form
		for _, name := range strings.Fields(c.names) {
			list = append(list, forms[name])
		}
		for _, code := range strings.Fields(c.codes) {
			m[code] = list
		}
	}
	return m
})

var pluralRules = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for _, p := range pluralOf {
		for _, code := range strings.Fields(p.codes) {
			m[code] = p.rule
		}
	}
	return m
})

// Plural returns the index of the form of a word for a number, as {{plural:number|forms}}
// chooses: the forms are those of the language's categories in their order, and forms for one
// number alone, "12=dozen". It returns -1 if there is no form.
func Plural(lang, number string, forms []string) int {
	v, _ := numeric(number)
	var usual []int
	for k, form := range forms {
		if !Exact(form) {
			usual = append(usual, k)
		} else if exact, _, _ := strings.Cut(form, "="); exact == plainNumber(v) {
			return k
		}
	}
	if len(usual) == 0 {
		return -1
	}
	return usual[min(pluralIndex(strings.ToLower(lang), v), len(usual)-1)]
}

// Exact reports whether a form of a word is for one number alone.
func Exact(form string) bool {
	exact, _, ok := strings.Cut(form, "=")
	return ok && exact != "" && onlyDigits(exact)
}

// plainNumber returns a number as PHP writes it.
func plainNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// pluralIndex returns the number of the plural form for v, from 0.
func pluralIndex(lang string, v float64) int {
	if rule := pluralRules()[lang]; rule != "" {
		lang = rule
	}
	list := categories()[lang]
	if list == nil {
		list = []plural.Form{plural.One}
	}
	form := category(lang, v)
	for k, f := range list {
		if f == form {
			return k
		}
	}
	return len(list)
}

// category returns the plural category of a number.
func category(lang string, v float64) plural.Form {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(plainNumber(v), "-"), ".")
	digits := func(s string) int {
		n, err := strconv.Atoi(s[max(0, len(s)-9):]) // the last digits decide
		if err != nil {
			return 0
		}
		return n
	}
	i := digits(whole)
	if len(whole) > 9 {
		i += 1_000_000_000 // none of the small numbers
	}
	fraction = fraction[:min(len(fraction), 9)]
	f := digits(fraction)
	if own, ok := ownPlural(lang, i, fraction); ok {
		return own
	}
	tag, err := language.Parse(lang)
	if err != nil || !hasRules(tag) {
		tag = language.English
	}
	return plural.Cardinal.MatchPlural(tag, i, len(fraction), len(fraction), f, f)
}

// ownPlural returns the category of a number in languages that CLDR lacks but MediaWiki
// knows.
func ownPlural(lang string, i int, fraction string) (form plural.Form, ok bool) {
	ten, hundred, whole := i%10, i%100, fraction == ""
	switch lang {
	case "pt":
		return plural.Other, !whole
	case "cu":
		switch {
		case whole && ten == 1:
			return plural.One, true
		case whole && ten == 2:
			return plural.Two, true
		case whole && (ten == 3 || ten == 4):
			return plural.Few, true
		}
		return plural.Other, true
	case "sgs":
		switch {
		case whole && ten == 1 && hundred != 11:
			return plural.One, true
		case whole && ten == 2 && hundred != 12:
			return plural.Two, true
		case whole && (hundred == 0 || hundred >= 10 && hundred <= 19):
			return plural.Few, true
		}
		return plural.Other, true
	}
	return 0, false
}

// hasRules reports whether CLDR has plural rules for a language.
func hasRules(tag language.Tag) bool {
	base, _ := tag.Base()
	for n := range 3 {
		if plural.Cardinal.MatchPlural(language.Make(base.String()), n, 0, 0, 0, 0) != plural.Other {
			return true
		}
	}
	return false
}

// Inflects reports whether {{grammar:case|word}} changes words on the wikis in a language
// (convertGrammar of MediaWiki's languages). We have no rules for that.
func Inflects(lang string) bool {
	base, _, _ := strings.Cut(lang, "-")
	switch base {
	case "be", "bs", "cu", "dsb", "fi", "ga", "he", "hsb", "hu", "hy", "ja", "ka", "kaa", "kk", "ksh", "la", "nb", "nn", "no", "os", "rsk", "ru", "sl", "sv", "tyv", "uk":
		return true
	}
	return false
}

// Dotted reports whether the first letter of a word keeps its dot, or its lack of one, when the
// wikis in a language change its case: "i" becomes "İ", and "I" "ı" (ucfirst and lcfirst of
// MediaWiki's languages).
func Dotted(lang string) bool { return lang == "tr" || lang == "az" || lang == "kaa" }
