package wikitext

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// lead writes what a template of Wiktionary says before a word, such as "Borrowed from ".
// An editor may leave it out or begin it with a small letter.
func (c *call) lead(text string) {
	if text == "" || c.is("notext") {
		return
	}
	if c.is("nocap") {
		first, n := utf8.DecodeRuneInString(text)
		c.str(string(unicode.ToLower(first)))
		text = text[n:]
	}
	c.str(text)
}

// opWord renders the rule's text and the word in argument c.rule.N: {{m|la|verbum||word}}
// as "verbum (“word”)".
func opWord(c call) {
	if t := c.soleTerm(c.rule.N); !t.form().empty() {
		c.lead(c.rule.Text)
		c.putTerm(t)
	}
}

// opForm renders what form of a word a page is about: {{plural of|en|word}}, or
// {{plural of|word|lang=en}} in the older syntax, as "plural of word".
func opForm(c call) {
	if t := c.soleTerm(c.firstTerm(1)); !t.form().empty() {
		c.lead(c.rule.Text)
		c.putTerm(t)
	}
}

// opEtymon renders a language and a word in it: {{cog|de|Wort}} as "German Wort".
// Argument c.rule.N is the language code, the next argument is the word. The rule's text
// stands before both; "-" stands for no word.
func opEtymon(c call) {
	code := c.bytes(c.arg(c.rule.N))
	name := c.wiki.table.LanguageName(code)
	language := c.rule.Text == "-"
	var t term
	if !language {
		t = c.soleTerm(c.rule.N + 1)
		c.lead(c.rule.Text)
	}
	if string(c.bytes(t.form())) == "-" {
		t = term{}
	}
	switch {
	case name != "":
		c.str(name)
	case len(code) > 0:
		c.hole(c.given)
	}
	if t.form().empty() {
		return
	}
	if name != "" {
		c.str(" ")
	}
	c.putTerm(t)
}

// opDescendant renders a word that a language has from another: {{desc|fr|mot|bor=1}} as
// "→ French: mot". The words are the arguments after the language, c.rule.N.
func opDescendant(c call) {
	code := c.bytes(c.arg(c.rule.N))
	name := c.wiki.table.LanguageName(code)
	kind := ""
	for _, k := range descents {
		if !c.named(k.name, k.name+"1").empty() {
			c.str(k.arrow)
			kind = k.kind
			break
		}
	}
	switch {
	case !c.named("nolb").empty():
	case name != "":
		c.str(name)
		c.str(":")
	case len(code) > 0:
		c.hole(c.given)
	}
	before := " "
	for place := c.rule.N + 1; place <= c.lastPlace(); place++ {
		t := c.numberedTerm(place, place-c.rule.N, true)
		if t.form().empty() || string(c.bytes(t.form())) == "-" {
			continue
		}
		c.str(before)
		c.putTerm(t)
		before = ", "
	}
	if kind != "" {
		c.str(" (" + kind + ")")
	}
}

// descents are the ways in which a word comes from another language: the argument that says
// so, the arrow before the language and the remark after the word.
var descents = []struct{ name, arrow, kind string }{
	{"bor", "→ ", ""}, {"lbor", "→ ", "learned"}, {"slb", "→ ", "semi-learned"}, {"slbor", "→ ", "semi-learned"}, {"clq", "→ ", "calque"}, {"cal", "→ ", "calque"}, {"calq", "→ ", "calque"},
	{"pclq", "→ ", "partial calque"}, {"sml", "→ ", "semantic loan"}, {"translit", "→ ", "transliteration"}, {"psm", "→ ", "phono-semantic matching"}, {"der", "⇒ ", ""}, {"unc", "? ", ""},
}

// opAlternatives renders other forms of a word, from argument c.rule.N on, and after an
// empty argument what distinguishes them: {{alter|en|colour||UK}} as "colour (UK)".
func opAlternatives(c call) {
	first, last := c.firstTerm(c.rule.N), c.lastPlace()
	place := first
	for ; place <= last; place++ {
		t := c.numberedTerm(place, place-first+1, true)
		if t.form().empty() {
			break
		}
		if place > first {
			c.str(", ")
		}
		c.putTerm(t)
	}
	if place < last {
		c.str(" ")
		c.labels(place + 1)
	}
}

// firstTerm returns the number of the first term of a template that lists terms: the one
// after a language code, unless the older syntax names the language, {{IPA|/a/|lang=en}}.
func (c *call) firstTerm(n int) int {
	if code := c.bytes(c.arg(n)); c.named("lang").empty() && isCode(code) && c.wiki.table.LanguageName(code) != "" {
		return n + 1
	}
	return n
}

// lastPlace returns the number of the last positional argument that is not empty.
func (c *call) lastPlace() int {
	last := 0
	for place, value := range positional(c.args) {
		if !value.empty() {
			last = place
		}
	}
	return last
}

// opMorphemes renders the parts of a word: {{suffix|en|morn|ing}} as "morn + -ing", and
// {{compound|black|bird|lang=en}}, the older syntax, as "black + bird". Named arguments
// alt1, alt2 … hold the forms to show, t1, t2 … meanings. The rule's text is the kind, and
// after "|" what stands before the parts.
func opMorphemes(c call) {
	kind, lead, _ := strings.Cut(c.rule.Text, "|")
	first, last := c.firstTerm(1), c.lastPlace()
	if last < first {
		return
	}
	if lead != usedWith {
		c.lead(lead)
	} else if kind == "prefix" { // {{prefixusex|en|do|undo}} on the page of the prefix
		c.str(c.wiki.page.Title + " + ")
	}
	for place := first; place <= last; place++ {
		t := c.numberedTerm(place, place-first+1, false)
		if t.form().empty() {
			continue
		}
		text, mark := c.capture(t.form())
		isAffix := len(text) > 0 && (text[0] == '-' || text[len(text)-1] == '-')
		c.release(mark)
		switch {
		case place == last && place > first && lead == usedWith:
			if kind == "suffix" {
				c.str(" + " + c.wiki.page.Title)
			}
			c.str(" → ")
		case place > first:
			c.str(" + ")
		}
		isAffix = isAffix || lead == usedWith
		c.language(t, place-first+1)
		if !isAffix && place == last && last > first && kind == "confix" || !isAffix && place > first && kind == "suffix" {
			t.open = "-"
		}
		if !isAffix && place < last && (kind == "prefix" || kind == "confix" && place == first) {
			t.end = "-"
		}
		c.putTerm(t)
	}
}

// usedWith stands for the text before the parts of a word where the last one is the word
// that they make: {{affixusex|en|un-|do|undo}}.
const usedWith = "→"

// language writes the name of the language of a part of a word, if it has its own.
func (c *call) language(t term, number int) {
	code := t.lang
	if own := c.named("lang" + strconv.Itoa(number)); !own.empty() {
		code = own
	}
	if code.empty() {
		return
	}
	if name := c.wiki.table.LanguageName(c.bytes(code)); name != "" {
		c.str(name + " ")
		return
	}
	c.hole(c.given)
}

// opTerms renders the terms after a language. The rule's text has the parts before, between
// and after them, separated by "|": {{hyphenation|en|mor|ning}} as "Hyphenation: mor‧ning".
// Three and more terms with " and " between them have commas too.
func opTerms(c call) {
	first, last := c.firstTerm(c.rule.N), c.lastPlace()
	before, rest, _ := strings.Cut(c.rule.Text, "|")
	between, after, _ := strings.Cut(rest, "|")
	written := 0
	for place := first; place <= last; place++ {
		t := c.numberedTerm(place, place-first+1, false)
		if t.form().empty() {
			continue
		}
		switch {
		case written == 0:
			c.affixed("(", c.named("a"), ") ")
			c.lead(before)
		case between != " and " || last-first < 2:
			c.str(between)
		case place < last:
			c.str(", ")
		default:
			c.str(", and ")
		}
		c.putTerm(t)
		written++
	}
	if written > 0 {
		c.str(after)
	}
}

// opRelation renders related words with their number before them: {{syn|en|car|auto}} as
// "Synonyms: car, auto".
func opRelation(c call) {
	first, last := c.firstTerm(c.rule.N), c.lastPlace()
	if last < first {
		return
	}
	c.str(c.rule.Text)
	if last > first || bytes.HasPrefix(c.bytes(c.arg(first)), thesaurus) {
		c.str("s")
	}
	between, also := ": ", "see "
	for place := first; place <= last; place++ {
		t := c.numberedTerm(place, place-first+1, true)
		if t.form().empty() {
			continue
		}
		if string(c.bytes(t.form())) == ";" {
			between = "; "
			continue
		}
		if bytes.HasPrefix(c.bytes(t.form()), thesaurus) {
			if place > first {
				between = "; "
			}
			between += also
		}
		c.str(between)
		c.putTerm(t)
		between, also = ", ", "see also "
	}
}

var thesaurus = []byte("Thesaurus:")

// opColumns renders words that a page shows in columns, from argument c.rule.N on, each on a
// line: {{col3|en|car|auto}}.
func opColumns(c call) {
	first := c.firstTerm(c.rule.N)
	c.blocks.lines(c.named("title"))
	for place := first; place <= c.lastPlace(); place++ {
		if t := c.numberedTerm(place, place-first+1, false); !t.form().empty() {
			c.breakLine()
			c.putTerm(t)
			c.breakLine()
		}
	}
}

// opLabels renders the labels of a sense, argument c.rule.N and those after it: {{lb|en|UK|_|slang}} as
// "(UK slang)", {{lb|en|transitive|or|intransitive}} as "(transitive or intransitive)".
// There is no comma around a label that connects, nor after one that qualifies the next.
func opLabels(c call) {
	first := c.rule.N
	if first == 1 {
		first = c.firstTerm(1) // {{a|UK}}, {{a|en|UK}}
	}
	c.labels(first)
}

// labels writes the labels from argument first on, in parentheses.
func (c *call) labels(first int) {
	if c.lastPlace() < first {
		return
	}
	open, end, ok := strings.Cut(c.rule.Text, "|")
	if !ok {
		open, end = "(", ")"
	}
	c.str(open)
	between := ""
	for place, value := range positional(c.args) {
		if place < first || value.empty() {
			continue
		}
		label := string(c.bytes(value))
		if label == "_" {
			between = " "
			continue
		}
		switch joins := labelJoins()[label]; {
		case between == "":
		case joins&alone != 0:
			between = ""
		case joins&before != 0:
			between = " "
		}
		c.str(between)
		if shown := c.wiki.label("sense " + label); shown != "" {
			c.str(shown)
		} else {
			c.put(value)
		}
		between = ", "
		if joins := labelJoins()[label]; joins&after != 0 {
			between = " "
		}
		switch sign := string(c.bytes(c.named("t" + strconv.Itoa(place-first+1)))); sign {
		case "":
		case "_":
			between = " "
		default:
			between = sign + " "
		}
	}
	c.affixed(between, c.named("ft"), "")
	c.str(end)
}

// How a label of a sense joins those around it. There is no comma before or after it;
// alone is for marks that follow a label at once.
const (
	before = 1 << iota
	after
	alone
)

// labelJoins says how labels join. Source: the data of module labels of the English
// Wiktionary, as of 2026.
var labelJoins = sync.OnceValue(func() map[string]uint8 {
	m := map[string]uint8{",": alone | after, ";": alone | after, ":": alone | after}
	for _, label := range []string{"and", "&", "or", "by", "except", "outside", "with"} {
		m[label] = before | after
	}
	for _, label := range []string{"also", "attested in", "but", "chiefly", "especially", "except in", "excluding", "exclusively", "extremely", "formerly", "frequently", "generally",
		"highly", "in", "in a", "in an", "in the", "including", "less", "mainly", "many", "markedly", "mildly", "more", "most", "mostly", "now", "now in", "occasionally", "of", "of a", "of an",
		"of the", "often", "originally", "otherwise", "particularly", "possibly", "predominantly", "primarily", "rarely", "rather", "relatively", "slightly", "sometimes", "somewhat",
		"strongly", "the", "then", "typically", "usually", "very", "with a", "with an", "with respect to", "with the"} {
		m[label] = after
	}
	for _, label := range []string{"und", "oder", "bzw.", "beziehungsweise", "respektive", "sowie", "bis", "mit", "ohne"} { // of the German Wiktionary, from general knowledge
		m[label] = before | after
	}
	for _, label := range []string{"ansonsten", "auch", "bei", "bes.", "besonders", "bisweilen", "das", "der", "die", "eher", "früher", "häufig", "hauptsächlich", "im", "in Bezug auf", "insbes.",
		"insbesondere", "leicht", "meist", "meistens", "mitunter", "noch", "noch in", "nur", "nur noch", "oft", "oftmals", "selten", "seltener", "seltener auch", "sonst", "speziell", "teilweise", "teils",
		"überwiegend", "von", "vor allem", "vor allem in", "vorwiegend", "z. B.", "zumeist", "zum Beispiel", "zum Teil"} {
		m[label] = after
	}
	return m
})

// opInflection renders what form of a word a page is about: {{infl of|la|verbum||nom|p}} as
// "nominative plural of verbum". Tags are the arguments after the word and its form; ";"
// stands between sets of them, "//" between tags of which each holds. Labels "tag …" hold
// the names of abbreviated tags.
func opInflection(c call) {
	first := c.firstTerm(c.rule.N)
	t := c.termAt(first, "")
	if t.alt = either(t.alt, c.arg(first+1)); t.form().empty() {
		return
	}
	var sets, set []string
	end := func() {
		if len(set) > 0 {
			sets = append(sets, strings.Join(set, " "))
		}
		set = nil
	}
	for place, value := range positional(c.args) {
		tag := string(c.bytes(value))
		switch {
		case place < first+2 || tag == "":
		case tag == ";":
			end()
		default:
			parts := strings.Split(tag, "//")
			for k, part := range parts {
				if name := c.wiki.label("tag " + part); name != "" {
					parts[k] = name
				}
			}
			set = append(set, strings.Join(parts, "/"))
		}
	}
	end()
	if len(sets) != 1 {
		c.str("inflection of ")
	} else {
		c.str(sets[0])
		c.str(" of ")
	}
	c.putTerm(t)
	if len(sets) > 1 {
		c.str(": ")
		c.str(strings.Join(sets, "; "))
	}
}
