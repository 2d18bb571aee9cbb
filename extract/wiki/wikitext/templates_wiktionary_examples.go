package wikitext

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// opExample renders an example in argument c.rule.N, or after a language, with its transliteration and translation:
// {{uxi|de|Wort|word}} as "Wort ― word". The rule's text stands between them; without a text,
// each is on a line of its own.
func opExample(c call) {
	n := c.firstTerm(c.rule.N)
	text := c.termAt(n, "")
	translation := either(text.meaning, either(c.named("translation"), c.arg(n+1)))
	if roman := c.bytes(text.tr); string(roman) == "-" {
		text.tr = span{}
	}
	if string(c.bytes(translation)) == "-" {
		translation = span{}
	}
	written := false
	for _, p := range []span{either(text.alt, text.word), text.tr, translation} {
		if p.empty() {
			continue
		}
		switch {
		case written && c.rule.Text == "":
			c.breakLine()
		case written:
			c.str(c.rule.Text)
		}
		c.put(p)
		if !written { // the qualifier is the example's, and stands after it
			c.affixed(" (", text.first, ")")
		}
		written = true
	}
	c.affixed(" (literally “", text.lit, "”)")
	c.affixed(" (", text.last, ")")
}

// opQuotation renders a quotation below the source it is from: "2001, Anna Berg, Book, page 5:"
// and the passage, which is named or argument c.rule.N, with its translation on the next line.
//
// The first arguments after a language are the year, the author, the title and, if the
// passage is argument 8, the journal. With the text "-" a template stands for one source of
// its own, and only the passage is shown.
func opQuotation(c call) {
	first := c.firstTerm(1)
	passage := c.named("passage", "text", "quote")
	if c.rule.Text == "-" {
		c.put(passage)
		return
	}
	if passage.empty() {
		passage = c.arg(c.rule.N + first - 2)
	}
	if written := c.cite(first); passage.empty() {
		return
	} else if written {
		c.str(":")
		c.breakLine()
	}
	c.put(passage)
	if t := either(c.named("t", "translation"), c.arg(c.rule.N+first-1)); !t.empty() {
		c.breakLine()
		c.put(t)
	}
}

// cite writes the source of a quotation: "2001, Anna Berg, chapter IX, in Book, page 5". first
// is the number of the argument with the year. written is false if nothing is known.
func (c *call) cite(first int) (written bool) {
	before := ""
	part := func(open string, p span, end string) {
		if p.empty() {
			return
		}
		c.str(before)
		before = ", "
		c.affixed(open, p, end)
	}
	date := either(c.named("date", "year"), c.arg(first))
	if month := c.named("month"); c.named("date").empty() && !month.empty() {
		part("", month, "")
		c.affixed(" ", date, "")
	} else {
		part("", date, "")
	}
	author := either(c.named("author"), c.arg(first+1))
	if last := c.named("last"); !last.empty() && author.empty() {
		part("", either(c.named("first"), last), "")
		if !c.named("first").empty() {
			c.affixed(" ", last, "")
		}
	}
	part("", author, "")
	chapter := c.named("chapter", "entry")
	if isNumeral(c.bytes(chapter)) {
		part("chapter ", chapter, "")
	} else {
		part("“", chapter, "”")
	}
	title := either(c.named("title"), c.arg(first+2))
	if !chapter.empty() && !title.empty() {
		c.str(", in ")
		before = ""
	}
	journal := c.named("journal", "magazine", "newspaper", "work", "site")
	if c.rule.N == 8 {
		journal = either(journal, c.arg(first+3))
	}
	if !journal.empty() {
		part("“", title, "”")
		title = journal
	}
	part("", title, "")
	part("volume ", c.named("volume"), "")
	part("number ", c.named("issue", "number"), "")
	if location := c.named("location"); !location.empty() && !c.named("publisher").empty() {
		part("", location, ": ")
		c.put(c.named("publisher"))
	} else {
		part("", c.named("publisher"), "")
	}
	page := c.named("page")
	if page.empty() && c.named("pages").empty() {
		page = c.arg(c.rule.N + first - 3)
	}
	part("page ", page, "")
	part("pages ", c.named("pages"), "")
	return before != ""
}

// isNumeral reports whether b is a number in digits or Roman numerals.
func isNumeral(b []byte) bool {
	return len(b) > 0 && (len(bytes.Trim(b, "0123456789")) == 0 || len(bytes.Trim(b, "IVXLCDMivxlcdm")) == 0)
}

// opTranslated renders a translation: {{t|fr|matin|m}} as "matin m". The word is argument
// c.rule.N, its genders are those after it.
func opTranslated(c call) {
	t := c.termAt(c.rule.N, "")
	if t.form().empty() {
		return
	}
	for k := range t.genders {
		if g := c.arg(c.rule.N + 1 + k); !g.empty() && t.genders[k].empty() {
			t.genders[k] = g
		}
	}
	t.meaning = span{} // it is that of the list
	c.putTerm(t)
}

// opSentence renders the rule's text, in which {2} stands for argument 2, {2:language} for the
// language whose code it is, {2:Language} for the same with a capital, {2:label} for what the wiki
// writes before words in it, {2:ordinal} for its ordinal number in words, and {title} for the title of the page. A part in brackets is left out if one of its arguments is empty.
func opSentence(c call) {
	s := sentence{&c}
	for text := c.rule.Text; text != ""; {
		open := strings.IndexByte(text, '[')
		if open < 0 {
			s.write(text)
			return
		}
		s.write(text[:open])
		part, rest, _ := strings.Cut(text[open+1:], "]")
		if s.hasAll(part) {
			s.write(part)
		}
		text = rest
	}
}

// opReference renders the name of a reference work with the word that stands in it: argument
// c.rule.N, or the one after it if that is another form of it, or the title of the page.
func opReference(c call) {
	before, after, _ := strings.Cut(c.rule.Text, "|")
	c.str(before)
	if p := either(c.arg(c.rule.N+1), c.arg(c.rule.N)); p.empty() {
		c.str(c.wiki.page.Title)
	} else {
		c.put(p)
	}
	c.str(after)
}

// A sentence is the text of a rule in which arguments stand.
type sentence struct{ *call }

// hasAll reports whether no argument of a part of a sentence is empty.
func (s sentence) hasAll(part string) bool {
	for {
		_, rest, ok := strings.Cut(part, "{")
		if !ok {
			return true
		}
		name, after, _ := strings.Cut(rest, "}")
		if s.argument(name).empty() && name != "title" {
			return false
		}
		part = after
	}
}

// argument returns the argument that stands between braces in a sentence.
func (s sentence) argument(name string) span {
	name, _, _ = strings.Cut(name, ":")
	if n, err := strconv.Atoi(name); err == nil {
		return s.arg(n)
	}
	return s.named(name)
}

// write writes a part of a sentence.
func (s sentence) write(part string) {
	for part != "" {
		before, rest, ok := strings.Cut(part, "{")
		if before != "" {
			s.str(before)
		}
		if !ok {
			return
		}
		name, after, _ := strings.Cut(rest, "}")
		p := s.argument(name)
		switch _, form, _ := strings.Cut(name, ":"); {
		case name == "title":
			s.str(s.wiki.page.Title)
		case form == "language" || form == "Language":
			if shown := s.wiki.table.LanguageName(bytes.ToLower(s.bytes(p))); shown != "" {
				if form == "Language" {
					first, n := utf8.DecodeRuneInString(shown)
					shown = string(unicode.ToUpper(first)) + shown[n:]
				}
				s.str(shown)
			} else if !p.empty() {
				s.hole(s.given)
			}
		case form == "label":
			if label := strings.TrimSpace(s.wiki.table.ForeignLabel(bytes.ToLower(s.bytes(p)))); label != "" {
				s.str(label)
			} else if !p.empty() {
				s.hole(s.given)
			}
		case form == "ordinal":
			if n, err := strconv.Atoi(string(bytes.TrimSpace(s.bytes(p)))); err == nil && n > 0 && n < 100 {
				s.str(ordinalWord(n))
			} else {
				s.put(p)
			}
		default:
			s.put(p)
		}
		part = after
	}
}

// ordinalWord returns an English ordinal number, from 1 to 99, in words.
func ordinalWord(n int) string {
	ones := []string{"", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
		"thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth"}
	if n < len(ones) {
		return ones[n]
	}
	tens := []string{"twent", "thirt", "fort", "fift", "sixt", "sevent", "eight", "ninet"}[n/10-2]
	if n%10 == 0 {
		return tens + "ieth"
	}
	return tens + "y-" + ones[n%10]
}
