// Package rendering holds the rules, as data, by which templates of wikis are rendered.
//
//	table := rendering.NewSet().Table("de", "dewiki")
//	rule, ok := table.Template("small caps")
//
// # Files
//
// The data are text files, one per language (data/*.txt), compiled into the
// program. A user's file has the same form and adds lines or overrides them:
//
//	# comment
//	[de]
//	template höhe      | arg-after 1 " m"
//	template zitat-*   | block 1
//	language nds       | plattdeutsch
//	country DEU        | Deutschland
//	unit mi            | Meilen
//	label circa        | "um "
//
// A line in brackets is the scope of the lines below it: "all" for all wikis,
// the code of a language (xml:lang of the dump), or the name of a wiki, such as
// "frwiktionary". A line for a wiki takes precedence over a line for its
// language, and that over a line for all wikis.
//
// A line is a kind, a name, " | " and a value.
//
//   - The name of a template is its title, or the title of a redirect to it, in
//     lower case and without the namespace. One "*" in a longer name stands for
//     any text.
//   - The value of a template is an operation ([Op]) and, if the operation needs
//     them, the number of an argument and a quoted text.
//   - The value of a definition is the wikitext of one of the wiki's own
//     templates. It comes before a compiled-in line of kind template, unless that line
//     drops the template or lays out whole lines.
//   - All other values are texts. They are quoted if they begin or end with a space.
//
// An empty value ("") removes a line of a wider scope.
package rendering

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Kind is what a line of a file describes.
type Kind string

// The kinds of lines. Each comment gives the meaning of the line's name, then that of
// its value.
const (
	Template   Kind = "template"    // folded name of a template; a rule
	Language   Kind = "language"    // code of a language (ISO 639); its name
	Foreign    Kind = "foreign"     // code of a language (ISO 639); what the wiki writes before a text in it, if that is not the Label "language" with the name
	Country    Kind = "country"     // code of a country (ISO 3166 or IOC); its name
	Region     Kind = "region"      // another code of a country; its ISO 3166 code
	Unit       Kind = "unit"        // code of a unit of {{convert}}; its symbol, if no UnitName or UnitSymbol exists
	UnitName   Kind = "unit-name"   // English name of a unit, and a plural category of CLDR; its name with {0} for the number
	UnitSymbol Kind = "unit-symbol" // English name of a unit; its symbol with {0} for the number
	Month      Kind = "month"       // number of a month, 01 to 12; the month's name within a date
	MonthAlone Kind = "month-alone" // number of a month; its name in a date without a day, if that differs
	Date       Kind = "date"        // day, month, year-less or era; format of such a date, with {d}, {m}, {month}, {alone}, {y} and {era}
	Era        Kind = "era"         // bc or ad; its abbreviation
	Definition Kind = "definition"  // folded name of a template; its wikitext, or Alias and the name of another
	Label      Kind = "label"       // key of a word that an operation writes; the word
	Evidence   Kind = "evidence"    // folded name of a template; "EQUAL of USES": how many of its uses show what the rule gives
)

var kinds = []Kind{Template, Language, Foreign, Country, Region, Unit, UnitName, UnitSymbol, Month, MonthAlone, Date, Era, Definition, Label, Evidence}

// Alias begins the value of a definition that is a redirect to another template.
const Alias = "#redirect "

// ScopeAll is the scope of lines that apply to all wikis.
const ScopeAll = "all"

// An Entry is one line of a file.
type Entry struct {
	Scope string `json:"scope"` // "all", a language or a wiki
	Kind  Kind   `json:"kind"`
	Name  string `json:"name"`
	Value string `json:"value"` // the decoded text; for a template, its rule as written in the file
	Rule  Rule   `json:"-"`     // only for a template
	File  string `json:"file"`
	Line  int    `json:"line"` // line number, from 1
}

// A File is a parsed file of rendering data.
type File struct {
	Name    string
	SHA256  string // hash of the file's bytes, in hexadecimal
	Entries []Entry
}

// MaxFile is the maximum size of a file in bytes.
const MaxFile = 16 << 20

// maxProblems is the maximum number of invalid lines that [Parse] reports.
const maxProblems = 20

// Parse parses a file of rendering data. Errors contain name and the line number. All
// invalid lines are reported, up to 20.
func Parse(name string, text []byte) (*File, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("%s: %d bytes, want at most %d", name, len(text), MaxFile)
	}
	sum := sha256.Sum256(text)
	f := &File{Name: name, SHA256: hex.EncodeToString(sum[:])}
	scope, first := "", map[string]int{}
	var errs []error
	number := 0
	for line := range strings.SplitSeq(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if len(errs) == maxProblems {
			errs = append(errs, fmt.Errorf("%s: more lines are invalid", name))
			break
		}
		if line[0] == '[' {
			var err error
			if scope, err = parseScope(line); err != nil {
				errs = append(errs, fmt.Errorf("%s:%d: %w", name, number, err))
			}
			continue
		}
		e, err := parseEntry(line)
		e.Scope, e.File, e.Line = scope, name, number
		key := scope + "\x00" + string(e.Kind) + "\x00" + e.Name
		switch {
		case err != nil:
		case scope == "":
			err = errors.New("no scope: a line such as [all] or [de] must come first")
		case first[key] > 0:
			err = fmt.Errorf("%s %s: line %d has it already", e.Kind, e.Name, first[key])
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", name, number, err))
			continue
		}
		first[key] = number
		f.Entries = append(f.Entries, e)
	}
	return f, errors.Join(errs...)
}

// parseScope parses a line such as "[de]".
func parseScope(line string) (string, error) {
	scope, ok := strings.CutSuffix(line[1:], "]")
	scope = strings.TrimSpace(scope)
	valid := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' }
	if !ok || scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return !valid(r) }) {
		return "", fmt.Errorf("%s is not a scope: want [all], [LANGUAGE] or [WIKI] in lower case", line)
	}
	return scope, nil
}

// parseEntry parses a line that is not a scope.
func parseEntry(line string) (Entry, error) {
	if !utf8.ValidString(line) {
		return Entry{}, errors.New("not valid UTF-8")
	}
	word, rest, _ := strings.Cut(line, " ")
	e := Entry{Kind: Kind(word)}
	if !slices.Contains(kinds, e.Kind) {
		return e, fmt.Errorf("unknown kind %q, want one of %v", word, kinds)
	}
	name, value, ok := strings.Cut(rest, "|")
	e.Name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || e.Name == "" {
		return e, fmt.Errorf("want %s NAME | VALUE", e.Kind)
	}
	if e.Kind == Template {
		if value == `""` {
			return e, nil
		}
		var err error
		e.Value = value
		e.Rule, err = ParseRule(value)
		return e, err
	}
	e.Value = value
	if e.Kind == Evidence {
		_, _, err := evidence(value)
		return e, err
	}
	if strings.HasPrefix(value, `"`) {
		text, err := strconv.Unquote(value)
		if err != nil {
			return e, fmt.Errorf("%s is not a quoted text", value)
		}
		e.Value = text
	}
	return e, nil
}

//go:embed data/*.txt data/cldr/*.txt data/wiktionary/*.txt
var data embed.FS

// dataFolders are the directories of the files that are compiled in, each named after
// its scope. Lines in later directories take precedence.
var dataFolders = []string{"data/cldr", "data/wiktionary", "data"}

// parsed caches the compiled-in files by scope. They are parsed when they are first
// needed.
var parsed sync.Map // string → []Entry

// builtin returns the compiled-in lines of a scope. A test checks that all files can be
// parsed.
func builtin(scope string) []Entry {
	if have, ok := parsed.Load(scope); ok {
		return have.([]Entry)
	}
	var entries []Entry
	for _, folder := range dataFolders {
		name := path.Join(folder, scope+".txt")
		text, err := data.ReadFile(name)
		if err != nil {
			continue // no data of this scope
		}
		f, err := Parse(strings.TrimPrefix(name, "data/"), text)
		if err != nil {
			panic("BUG: rendering data: " + err.Error())
		}
		entries = append(entries, f.Entries...)
	}
	if entries != nil {
		parsed.Store(scope, entries)
	}
	return entries
}

// builtinScopes returns the scopes that have data compiled in, sorted.
func builtinScopes() []string {
	var scopes []string
	for _, folder := range dataFolders {
		names, err := data.ReadDir(folder)
		if err != nil {
			panic("BUG: rendering data: " + err.Error())
		}
		for _, n := range names {
			if scope, ok := strings.CutSuffix(n.Name(), ".txt"); ok {
				scopes = append(scopes, scope)
			}
		}
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}

// english returns the English names of the given kind, by code.
func english(kind Kind) map[string]string {
	m := map[string]string{}
	for _, e := range builtin("en") {
		if e.Kind == kind {
			m[e.Name] = e.Value
		}
	}
	return m
}

var (
	languageNames = sync.OnceValue(func() map[string]string { return english(Language) })
	countryNames  = sync.OnceValue(func() map[string]string { return english(Country) })
	// languageCodes maps each code to itself.
	languageCodes = sync.OnceValue(func() map[string]string {
		m := map[string]string{}
		for code := range languageNames() {
			m[code] = code
		}
		return m
	})
	// codeOfCountry maps the English names of countries to codes.
	codeOfCountry = sync.OnceValue(func() map[string]string {
		m := map[string]string{}
		for _, code := range slices.Sorted(maps.Keys(countryNames())) {
			m[countryNames()[code]] = code
		}
		return m
	})
)
