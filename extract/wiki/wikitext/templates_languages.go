package wikitext

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"pretext/extract/wiki/rendering"
)

// opLang renders {{langx|de|Wort|lit=word}} as "German: Wort, lit. 'word'",
// and {{lang-de|Wort}} as "German: Wort", with the name of the language in the
// language of the wiki. A transliteration is rendered too.
func opLang(c call) {
	n, code := c.rule.N, []byte(c.rule.Text)
	if c.rule.Text == "" {
		n = 2
		given := c.named("code")
		if given.empty() {
			given = c.arg(1)
		} else {
			n = 1
		}
		code = c.bytes(given)
	}
	name := c.wiki.table.LanguageName(code)
	text := c.named("text")
	if text.empty() {
		text = c.arg(n)
	}
	if text.empty() {
		return
	}
	if label := c.named("label"); !label.empty() {
		if c.is("label") && string(c.bytes(label)) != "none" {
			c.affixed("", label, ": ")
		}
	} else {
		c.languageLabel(code, name)
	}
	c.put(text)
	roman := c.named("translit")
	if roman.empty() {
		roman = c.arg(n + 1)
	}
	c.affixed(c.wiki.label("romanized"), roman, "")
	meaning := c.named("lit", "translation")
	if meaning.empty() {
		meaning = c.arg(n + 2)
	}
	if !meaning.empty() {
		c.affixed(c.wiki.label("literally"), meaning, c.wiki.label("literally-end"))
	}
}

// chineseParts are the arguments of {{zh}} in the order in which they are
// written, with their labels and the codes of their languages.
var chineseParts = []struct{ key, label, code string }{
	{"c", "chinese c", "zh"}, {"s", "chinese s", "zh-Hans"}, {"t", "chinese t", "zh-Hant"}, {"p", "chinese p", ""}, {"hp", "chinese hp", ""},
	{"w", "chinese w", ""}, {"j", "chinese j", ""}, {"cy", "chinese cy", ""}, {"poj", "chinese poj", ""}, {"l", "chinese l", ""},
}

// opZh renders {{zh|c=中|p=zhong}} as "Chinese: 中; pinyin: zhong" on an English
// wiki. On others only the languages have labels.
func opZh(c call) {
	labels := c.named("labels").empty() || c.is("labels")
	written := false
	for _, part := range chineseParts {
		p := c.named(part.key)
		if p.empty() {
			continue
		}
		if written {
			c.str("; ")
		}
		written = true
		if label := c.wiki.label(part.label); labels && label != "" {
			c.str(label)
		} else if labels {
			c.languageLabel([]byte(part.code), c.wiki.table.LanguageName([]byte(part.code)))
		}
		c.put(p)
	}
	if p := c.arg(1); !written && !p.empty() { // {{lang-zh|北京}}
		if !c.wiki.table.English() && bytes.HasPrefix(c.wiki.templateName(c.bytes(c.given)), []byte("lang-")) {
			c.languageLabel([]byte("zh"), c.wiki.table.LanguageName([]byte("zh")))
		}
		c.put(p)
	}
}

// languageLabel writes what stands before a text in the language with a code and a name:
// "German: ". It writes nothing if the wiki's word for the language is unknown.
func (c *call) languageLabel(code []byte, name string) {
	if label := c.wiki.table.ForeignLabel(code); label != "" {
		c.str(label)
		return
	}
	if name == "" {
		return
	}
	form := c.wiki.label("language")
	before, after, ok := strings.Cut(form, "{name}")
	if !ok { // label "{lower}": German adjectives
		if before, after, ok = strings.Cut(form, "{lower}"); ok {
			name = strings.ToLower(name)
		} else { // label "{first}": only the first letter is in lower case
			before, after, _ = strings.Cut(form, "{first}")
			first, n := utf8.DecodeRuneInString(name)
			name = string(unicode.ToLower(first)) + name[n:]
		}
	}
	c.str(before)
	c.str(name)
	c.str(after)
}

// opJapanese renders {{nihongo|Tokyo|東京|Tōkyō|capital}} as "Tokyo (東京, Tōkyō,
// capital)" and, on an English wiki with lead=yes, as "Tokyo (Japanese: 東京, Hepburn: Tōkyō,
// capital)". With c.rule.N = 3, {{nihongo3|Tokyo|東京|Tōkyō}} is "Tōkyō (東京, Tokyo)".
func opJapanese(c call) {
	name, kanji, roman := c.arg(1), c.arg(2), c.arg(3)
	extra := c.arg(4)
	if extra.empty() {
		extra = c.named("extra")
	}
	inner := [3]span{kanji, roman, extra}
	var labels [3]string // of the parts in parentheses
	if c.rule.N != 3 && c.wiki.table.English() && c.is("lead") {
		labels = [3]string{"Japanese: ", "Hepburn: "}
	}
	switch {
	case c.rule.N == 3:
		name, inner[0], inner[1] = roman, kanji, name
	case name.empty():
		name, inner[1] = roman, span{}
	}
	if name.empty() {
		name, inner[0] = kanji, span{}
	}
	c.put(name)
	written := false
	for k, p := range inner {
		if p.empty() {
			continue
		}
		if written {
			c.str(", ")
		} else {
			c.str(" (")
		}
		c.str(labels[k])
		c.removed() // an argument may begin with ", ": drop it at the start
		c.put(p)
		written = true
	}
	if written {
		c.str(")")
	}
	after := c.arg(5)
	if after.empty() {
		after = c.named("extra2")
	}
	c.affixed(" ", after, "")
}

// koreanParts are the names of the arguments of {{korean}} in the order in
// which they are written, and their labels on an English wiki.
var koreanParts = []struct{ key, label string }{{"hangul", "Korean: "}, {"hanja", "Hanja: "}, {"rr", "RR: "}, {"mr", "MR: "}}

// opKorean renders {{korean|hangul=가|hanja=家|rr=ga}} as "Korean: 가; Hanja: 家; RR: ga", and
// as "가; 家; ga" on a wiki that is not English. The arguments may also be positional.
func opKorean(c call) {
	written := false
	labels := c.wiki.table.English() && (c.named("labels").empty() || c.is("labels"))
	for n, part := range koreanParts {
		p := c.named(part.key)
		if p.empty() {
			p = c.arg(n + 1)
		}
		if p.empty() {
			continue
		}
		if written {
			c.str("; ")
		}
		if labels {
			c.str(part.label)
		}
		c.put(p)
		written = true
	}
}

// opEra renders {{bd|1900年|1月1日|1980年|2月2日}} as "（1900年1月1日－1980年2月2日）": dates of
// birth and death.
func opEra(c call) {
	c.str("（")
	c.put(c.arg(1))
	c.put(c.arg(2))
	c.str("－")
	c.put(c.arg(3))
	c.put(c.arg(4))
	c.str("）")
}

// opSound renders a pronunciation: {{IPA|mo}} as "mo". A pronunciation in parentheses
// is dropped, because it interrupts the sentence. If c.rule.N is 2, a language code may
// come first: {{IPA|fr|mo}}. The halves of the rule's text are the brackets that a wiki adds.
func opSound(c call) {
	if c.inParentheses() {
		return
	}
	p := c.arg(1)
	if c.rule.N == 2 {
		if second := c.arg(2); !second.empty() && c.isLanguage(p) {
			p = second
		}
	}
	if b := c.bytes(p); len(b) > 0 && (b[0] == '[' || b[0] == '/') {
		c.put(p)
		return
	}
	c.quoted(p)
}

// isLanguage reports whether an argument is the code of a language.
func (c *call) isLanguage(p span) bool { return rendering.IsLanguage(c.bytes(p)) }
