package wikitext

import (
	"bytes"
	"strings"
	"time"

	"pretext/extract/wiki/internal/locale"
	"pretext/extract/wiki/rendering"
)

// A Page holds everything about a page, besides its wikitext, that the text may depend
// on.
type Page struct {
	Title string // for {{PAGENAME}}; may be empty
	Lang  string // code of the wiki's language, "en"; may be empty
	Wiki  string // name of the wiki, "enwiktionary"; may be empty

	// Definitions are those of the wiki's own templates, which fill holes; may be nil.
	Definitions Definitions
	// Template is the wiki's name of the namespace of templates, in lower case;
	// may be empty.
	Template string
	// Namespaces are the wiki's names of all namespaces, and Today is the day on which the
	// page is read, for modules in Lua. Both may be empty.
	Namespaces map[int]string
	Today      time.Time
	// CaseSensitive says that a title may begin with a small letter, as in dictionaries.
	CaseSensitive bool
}

// Definitions gives access to the definitions of a wiki's own templates.
type Definitions interface {
	// Definition returns the definition of a template, in the form of a line of kind
	// definition in package rendering; "" if there is none. name is the folded name.
	// title is the template's name as written on the page; it distinguishes names that
	// differ only in case.
	//
	// It also returns the sources of modules, whose names [ModuleName] returns.
	Definition(name, title []byte) string
}

// wiki holds what the text of a page depends on besides its source: the meaning of
// template names, and the words of the wiki's language.
type wiki struct {
	page    Page
	files   []*rendering.File // the user's files, Options.Rendering
	table   *rendering.Table  // rules for the templates of the page's wiki
	numbers *locale.Numbers   // the form of its numbers
	tables  wikiTables        // of all wikis seen so far
	key     [2]string         // key of table in tables
	names   nameCache         // resolved template names
	name    []byte            // scratch: a folded name
}

// wikiTables maps the language and name of a wiki to its table. Only the text filter
// processes pages of more than one wiki.
type wikiTables map[[2]string]*rendering.Table

// maxTables is the maximum number of tables in wikiTables.
const maxTables = 64

// enter selects the table of the wiki that the page belongs to.
func (w *wiki) enter(page Page) {
	w.page = page
	key := [2]string{page.Lang, page.Wiki}
	if w.table != nil && key == w.key {
		return
	}
	w.numbers = locale.NumbersOf(page.Lang, page.Wiki)
	t := w.tables[key]
	if t == nil {
		if w.tables == nil || len(w.tables) >= maxTables {
			w.tables = wikiTables{}
		}
		t = rendering.NewSet(w.files...).Table(page.Lang, page.Wiki)
		w.tables[key] = t
	}
	w.table, w.key, w.names = t, key, nameCache{}
}

// resolve returns the template rule or the function for a name as written in the
// source; known is false if there is none.
func (w *wiki) resolve(given []byte) (t rendering.Rule, f function, known bool) {
	slot := w.names.slot(given)
	if slot != nil && string(slot.name[:slot.length]) == string(given) {
		return slot.template, slot.function, true
	}
	name := w.templateName(given)
	if f = functionOf(name); f == funcNone {
		if t, known = w.lookUp(name, given); !known {
			return t, f, false
		}
		if t.Op == rendering.OpVariable {
			f = function(t.N)
		}
	}
	if slot != nil {
		slot.length = uint8(copy(slot.name[:], given))
		slot.template, slot.function = t, f
	}
	return t, f, true
}

// A nameCache caches the meaning of template names in the source. It is a direct-mapped
// hash table: most templates of a page have one of a few names.
type nameCache [64]nameSlot

type nameSlot struct {
	name     [23]byte // as written in the source
	length   uint8
	template rendering.Rule
	function function
}

// slot returns the cache slot for a name. It returns nil if the name is empty or too
// long.
func (c *nameCache) slot(name []byte) *nameSlot {
	n := len(name)
	if n == 0 || n > len(c[0].name) {
		return nil
	}
	return &c[(uint(name[0])+3*uint(name[n-1])+7*uint(name[n/2])+13*uint(n))%uint(len(c))]
}

// lookUp returns the rule for a template; ok is false if the template is unknown. name
// is its name in lower case, given its name as written in the source.
func (w *wiki) lookUp(name, given []byte) (t rendering.Rule, ok bool) {
	if f, ok := variables[string(name)]; ok && inCapitals(given) {
		return rendering.Rule{Op: rendering.OpVariable, N: int(f)}, true
	}
	if len(given) == 3 && rendering.IsCountry(given) { // {{ESP}} is Spain, {{esp}} is another template
		if t, ok = w.byShape(given); ok {
			return t, true
		}
	}
	if t, ok = w.table.Template(name); !ok {
		return w.byShape(given)
	}
	if t.Op == rendering.OpLang && t.N == 1 {
		_, code, _ := bytes.Cut(name, []byte("-"))
		t.Text = rendering.LanguageCode(code)
	}
	return t, true
}

// inCapitals reports whether the name of a variable has no lower-case letter; {{pagename}} is
// a template.
func inCapitals(name []byte) bool { return bytes.Equal(name, bytes.ToUpper(name)) }

// byShape returns the rule for a template whose name has one of these forms; ok is
// false for all other names:
//
//   - "2e" and "XIVe" on the French Wikipedia render as the name itself.
//   - "FRA" renders as the name of the country in the wiki's language.
//   - "enS" on the German Wikipedia renders a language and a text in it.
//   - "en", unless it is a word of the wiki's language, renders a text in that
//     language; as a mark after a link it renders nothing. On a Wiktionary it is the name
//     of the language, or something else: {{lb|en|slang}} is a label.
func (w *wiki) byShape(given []byte) (t rendering.Rule, ok bool) {
	switch lang := w.baseLang(); {
	case lang == "fr" && isOrdinal(given):
		return rendering.Rule{Op: rendering.OpGiven}, true
	case len(given) >= 3 && len(given) <= 4 && rendering.IsCountry(given):
		if name := w.table.CountryName(given); name != "" {
			return rendering.Rule{Op: rendering.OpText, Text: name}, true
		}
	case len(given) == 2 && lang != "en" && !strings.HasSuffix(w.page.Wiki, "wiktionary") && given[1] >= 'a' && given[1] <= 'z' && rendering.IsLanguage(fold(&w.name, given)):
		return rendering.Rule{Op: rendering.OpArg, N: 1}, true
	case lang == "de" && len(given) >= 3 && len(given) <= 4 && bytes.HasSuffix(given, []byte("S")):
		if code := fold(&w.name, given[:len(given)-1]); rendering.IsLanguage(code) {
			return rendering.Rule{Op: rendering.OpLang, N: 1, Text: rendering.LanguageCode(code)}, true
		}
	}
	return rendering.Rule{}, false
}

// baseLang returns the code of the wiki's language without region and script.
func (w *wiki) baseLang() string {
	base, _, _ := strings.Cut(w.page.Lang, "-")
	return base
}

// templateName returns the name of a template in lower case, without its
// namespace ("Template:"). The result is valid until the next use of w.name.
func (w *wiki) templateName(b []byte) []byte {
	if len(b) > maxTemplateName && bytes.IndexByte(b[:maxTemplateName], ':') < 0 {
		return nil
	}
	b = b[:min(len(b), maxTemplateName)]
	name := fold(&w.name, trimSpace(b))
	if k := bytes.IndexByte(name, ':'); k > 0 && (templateWords[string(name[:k])] || string(name[:k]) == w.page.Template) {
		name = trimSpace(name[k+1:])
	}
	return name
}

// maxTemplateName is the maximum length of a title in bytes.
const maxTemplateName = 255

// templateWords are the names of the template namespace in some languages, and
// the words that may precede a name for substitution ("subst:").
var templateWords = makeSet("template", "vorlage", "modèle", "plantilla", "шаблон", "predefinição", "sjabloon",
	"szablon", "mall", "πρότυπο", "subst", "safesubst", "msg", "msgnw")

// definition returns the definition of the template with the given title: the user's,
// if any, otherwise the wiki's own. It returns "" if there is none.
func (w *wiki) definition(title []byte) string {
	own := w.templateTitle(title)
	name := w.templateName(title)
	if source := w.table.TextOf(rendering.Definition, name); source != "" || w.page.Definitions == nil {
		return source
	}
	return w.page.Definitions.Definition(name, own)
}

// templateTitle returns the title of a template without its namespace.
func (w *wiki) templateTitle(title []byte) []byte {
	title = trimSpace(title)
	if k := bytes.IndexByte(title, ':'); k > 0 && k <= maxTemplateName {
		if word := trimSpace(fold(&w.name, title[:k])); templateWords[string(word)] || string(word) == w.page.Template {
			return trimSpace(title[k+1:])
		}
	}
	return title
}

// urlFunctions are the parser functions that return a URL.
var urlFunctions = makeSet("fullurl", "fullurle", "canonicalurl", "canonicalurle", "filepath", "localurl", "localurle")

// givesURL reports whether a template renders a URL: its name begins with a parser
// function in urlFunctions, or its definition begins with a URL.
func (w *wiki) givesURL(name []byte) bool {
	if function, _, ok := bytes.Cut(name, []byte(":")); ok && urlFunctions[string(fold(&w.name, function))] {
		return true
	}
	return w.expands() && protocolLength([]byte(w.definition(name))) > 0
}

// expands reports whether any definitions of templates are available.
func (w *wiki) expands() bool { return w.page.Definitions != nil || w.table.HasDefinitions() }

// label returns a word or text that operations write, in the wiki's language; "" if the
// rendering data have no such label.
func (w *wiki) label(name string) string { return w.table.Text(rendering.Label, name) }

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
