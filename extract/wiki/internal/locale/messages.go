package locale

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// Names are the names of months and days that MediaWiki has in a language, and its format of
// dates.
type Names struct {
	Months    []string // alone, from January
	Genitives []string // in a date with a day
	Short     []string
	Days      []string // from Sunday
	ShortDays []string
	Date      string // format of {{#time:}}
}

// nameLines has a line for each language: its code and, with tabs between them, the fields of
// Names in their order, names with "|" between them; no genitives are the names alone. A line
// with "=" and a code has the same names. Source: MediaWiki 1.39 itself, asked by
// testdata/mediawiki/messages.php.
//
//go:embed messages.tsv
var nameLines string

// namesOf caches the result of NamesOf by code.
var namesOf sync.Map // string → *Names

// NamesOf returns the names of a language; nil if MediaWiki does not know it.
func NamesOf(code string) *Names {
	code = presentCode(code)
	if n, ok := namesOf.Load(code); ok {
		return n.(*Names)
	}
	_, rest, ok := strings.Cut("\n"+nameLines, "\n"+code+"\t")
	if !ok {
		return nil
	}
	line, _, _ := strings.Cut(rest, "\n")
	var n *Names
	if same, ok := strings.CutPrefix(line, "="); ok {
		n = NamesOf(same)
	} else {
		n = parseNames(line)
	}
	namesOf.Store(code, n)
	return n
}

func parseNames(line string) *Names {
	f := strings.Split(line, "\t")
	list := func(k int) []string { return strings.Split(f[k], "|") }
	n := &Names{Months: list(0), Genitives: list(1), Short: list(2), Days: list(3), ShortDays: list(4), Date: f[5]}
	if f[1] == "" {
		n.Genitives = n.Months
	}
	return n
}

// messageNames are the names of MediaWiki's messages for months and days.
var messageNames = struct{ months, genitives, short, days, shortDays []string }{
	strings.Fields("january february march april may_long june july august september october november december"),
	strings.Fields("january-gen february-gen march-gen april-gen may-gen june-gen july-gen august-gen september-gen october-gen november-gen december-gen"),
	strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec"),
	strings.Fields("sunday monday tuesday wednesday thursday friday saturday"),
	strings.Fields("sun mon tue wed thu fri sat"),
}

// Message returns the text of a message of MediaWiki that content uses: months, days and marks
// between words. name is in lower case. ok is false if it is none of them, or the language is
// not known.
func Message(lang, name string) (text string, ok bool) {
	words, known := ListWordsOf(lang)
	names := NamesOf(lang)
	if !known || names == nil {
		return "", false
	}
	switch name {
	case "and":
		return strings.TrimRight(words.And, " "), true
	case "comma-separator":
		return words.Comma, true
	case "ellipsis":
		return words.Ellipsis, true
	}
	for _, list := range []struct{ keys, texts []string }{
		{messageNames.months, names.Months}, {messageNames.genitives, names.Genitives}, {messageNames.short, names.Short},
		{messageNames.days, names.Days}, {messageNames.shortDays, names.ShortDays},
	} {
		if k := slices.Index(list.keys, name); k >= 0 {
			return list.texts[k], true
		}
	}
	return "", false
}
