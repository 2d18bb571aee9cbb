package wikitext

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// opTitle renders the headword of a page of Wiktionary: {{en-noun|head=…}}, or
// the title.
func opTitle(c call) {
	if head := c.named("head"); !head.empty() {
		c.put(head)
		return
	}
	c.str(c.wiki.page.Title)
}

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
	word := c.wordForm(c.rule.N)
	if word.empty() {
		return
	}
	c.lead(c.rule.Text)
	c.put(word)
	c.annotation(c.rule.N, "")
}

// opEtymon renders a language and a word in it: {{cog|de|Wort}} as "German Wort".
// Argument c.rule.N is the language code, the next argument is the word. The rule's text
// stands before both; "-" stands for no word.
func opEtymon(c call) {
	code := c.bytes(c.arg(c.rule.N))
	name := c.wiki.table.LanguageName(code)
	language := c.rule.Text == "-"
	word := c.wordForm(c.rule.N + 1)
	if language || string(c.bytes(word)) == "-" {
		word = span{}
	}
	if !language {
		c.lead(c.rule.Text)
	}
	switch {
	case name != "":
		c.str(name)
	case len(code) > 0:
		c.hole(c.given)
	}
	if word.empty() {
		return
	}
	if name != "" {
		c.str(" ")
	}
	c.put(word)
	c.annotation(c.rule.N+1, "")
}

// wordForm returns the form that Wiktionary shows for the word in argument n: argument
// n+1 or the one named alt, else the word itself, else its transliteration.
func (c *call) wordForm(n int) span {
	form := either(either(c.arg(n+1), c.named("alt")), c.arg(n))
	return either(form, c.named("tr"))
}

// annotation writes what stands in parentheses after the word in argument n: its
// transliteration and meaning. number is that of the word among several, in the names of
// their arguments ("t1"); without it, argument n+2 may be the meaning.
func (c *call) annotation(n int, number string) {
	roman, meaning, literal := c.named("tr"+number), c.named("t"+number, "gloss"+number), c.named("lit"+number)
	if number == "" {
		meaning = either(meaning, c.arg(n+2))
		if either(c.arg(n), either(c.arg(n+1), c.named("alt"))).empty() {
			roman = span{} // the transliteration is the word
		}
	}
	if string(c.bytes(roman)) == "-" {
		roman = span{}
	}
	before := " ("
	part := func(open string, p span, end string) {
		if p.empty() {
			return
		}
		c.str(before)
		c.affixed(open, p, end)
		before = ", "
	}
	part("", roman, "")
	part("“", meaning, "”")
	part("literally “", literal, "”")
	if before == ", " {
		c.str(")")
	}
}

// firstTerm returns the number of the first term of a template that lists terms: the one
// after a language code, unless the older syntax names the language, {{IPA|/a/|lang=en}}.
func (c *call) firstTerm(n int) int {
	if c.named("lang").empty() && c.isLanguage(c.arg(n)) {
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
	c.lead(lead)
	for place := first; place <= last; place++ {
		number := strconv.Itoa(place - first + 1)
		part := either(c.named("alt"+number), c.arg(place))
		if part.empty() {
			continue
		}
		text, mark := c.capture(part)
		isAffix := len(text) > 0 && (text[0] == '-' || text[len(text)-1] == '-')
		c.release(mark)
		if place > first {
			c.str(" + ")
		}
		if !isAffix && place == last && last > first && kind == "confix" || !isAffix && place > first && kind == "suffix" {
			c.str("-")
		}
		c.put(part)
		if !isAffix && place < last && (kind == "prefix" || kind == "confix" && place == first) {
			c.str("-")
		}
		c.annotation(place, number)
	}
}

// opTerms renders the terms after a language, as [rendering.OpJoin] does: {{hyphenation|en|mor|ning}}
// as "Hyphenation: mor‧ning".
func opTerms(c call) { c.joined(c.firstTerm(c.rule.N), c.rule.Text) }

// opRelation renders related words with their number before them: {{syn|en|car|auto}} as
// "Synonyms: car, auto".
func opRelation(c call) {
	first, last := c.firstTerm(c.rule.N), c.lastPlace()
	if last < first {
		return
	}
	c.str(c.rule.Text)
	if last > first {
		c.str("s")
	}
	between := ": "
	for place := first; place <= last; place++ {
		number := strconv.Itoa(place - first + 1)
		word := either(c.named("alt"+number), c.arg(place))
		if word.empty() {
			continue
		}
		c.str(between)
		if name, ok := bytes.CutPrefix(c.bytes(word), []byte("Thesaurus:")); ok {
			c.str("see also Thesaurus:" + string(name))
		} else {
			c.put(word)
		}
		c.annotation(place, number)
		between = ", "
	}
}

// opLabels renders the labels of a sense, argument c.rule.N and those after it: {{lb|en|UK|_|slang}} as
// "(UK slang)", {{lb|en|transitive|or|intransitive}} as "(transitive or intransitive)".
// There is no comma around a label that connects, nor after one that qualifies the next.
func opLabels(c call) {
	if c.lastPlace() < c.rule.N {
		return
	}
	c.str("(")
	between := ""
	for place, value := range positional(c.args) {
		if place < c.rule.N || value.empty() {
			continue
		}
		label := string(c.bytes(value))
		if label == "_" {
			between = " "
			continue
		}
		connects := label == "and" || label == "or" || label == "&"
		if connects && between != "" {
			between = " "
		}
		c.str(between)
		if label == "&" {
			c.str("and")
		} else {
			c.put(value)
		}
		between = ", "
		if connects || qualifies(label) {
			between = " "
		}
	}
	c.str(")")
}

// qualifies reports whether a label belongs to the one after it: "chiefly US". The list is
// from general knowledge of the English Wiktionary; it was not compared with its module.
func qualifies(label string) bool {
	switch label {
	case "also", "chiefly", "especially", "except", "except in", "extremely", "frequently", "generally", "highly", "in", "in the", "including",
		"mainly", "mostly", "more", "most", "now", "now in", "occasionally", "of", "of a", "of an", "often", "originally", "outside",
		"particularly", "possibly", "primarily", "rarely", "slightly", "sometimes", "somewhat", "strongly", "then", "typically", "usually", "very", "with", "with a", "with an", "with the":
		return true
	}
	return false
}

// opInflection renders what form of a word a page is about: {{infl of|la|verbum||nom|p}} as
// "nominative plural of verbum". Tags are the arguments after the word and its form; ";"
// stands between sets of them, "//" between tags of which each holds. Labels "tag …" hold
// the names of abbreviated tags.
func opInflection(c call) {
	first := c.firstTerm(c.rule.N)
	word := c.wordForm(first)
	if word.empty() {
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
	c.put(word)
	if len(sets) > 1 {
		c.str(": ")
		c.str(strings.Join(sets, "; "))
	}
}
