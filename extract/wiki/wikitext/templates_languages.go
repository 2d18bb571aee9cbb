package wikitext

import (
	"strings"

	"pretext/extract/wiki/rendering"
)

// language renders {{langx|de|Wort|lit=word}} as "German: Wort, lit. 'word'",
// and {{lang-de|Wort}} as "German: Wort", with the name of the language in the
// language of the wiki. A transliteration is rendered too.
func (s *Scanner) language(t rendering.Rule, args []argument) {
	n, name := t.N, s.table.LanguageName([]byte(t.Text))
	if t.Text == "" {
		n = 2
		code := s.named(args, "code")
		if code.empty() {
			code = s.arg(args, 1)
		} else {
			n = 1
		}
		name = s.table.LanguageName(s.bytes(code))
	}
	text := s.named(args, "text")
	if text.empty() {
		text = s.arg(args, n)
	}
	if text.empty() {
		return
	}
	if label := s.named(args, "label"); !label.empty() {
		if s.is(args, "label") && string(s.bytes(label)) != "none" {
			s.affixed("", label, ": ")
		}
	} else if name != "" {
		s.languageLabel(name)
	}
	s.put(text)
	roman := s.named(args, "translit")
	if roman.empty() {
		roman = s.arg(args, n+1)
	}
	s.affixed(s.label("romanized"), roman, "")
	meaning := s.named(args, "lit", "translation")
	if meaning.empty() {
		meaning = s.arg(args, n+2)
	}
	if !meaning.empty() {
		s.str(s.label("literally"))
		s.affixed("'", meaning, "'")
	}
}

// pageTitle renders the headword of a page of Wiktionary: {{en-noun|head=…}}, or
// the title.
func (s *Scanner) pageTitle(args []argument) {
	if head := s.named(args, "head"); !head.empty() {
		s.put(head)
		return
	}
	s.str(s.page.Title)
}

// etymon renders the language with the code in argument t.N, and the word in the
// next one: {{cog|de|Wort}} as "German Wort".
func (s *Scanner) etymon(t rendering.Rule, args []argument) {
	code := s.bytes(s.arg(args, t.N))
	name := s.table.LanguageName(code)
	switch {
	case name != "":
		s.str(name)
	case len(code) > 0:
		s.hole(s.given)
	}
	if word := s.arg(args, t.N+1); t.Text == "" && string(s.bytes(word)) != "-" {
		s.affixed(" ", word, "")
	}
}

// chineseParts are the arguments of {{zh}} in the order in which they are
// written, with their labels and the codes of their languages.
var chineseParts = []struct{ key, label, code string }{
	{"c", "chinese c", "zh"}, {"s", "chinese s", "zh-Hans"}, {"t", "chinese t", "zh-Hant"}, {"p", "chinese p", ""}, {"hp", "chinese hp", ""},
	{"w", "chinese w", ""}, {"j", "chinese j", ""}, {"cy", "chinese cy", ""}, {"poj", "chinese poj", ""}, {"l", "chinese l", ""},
}

// chinese renders {{zh|c=中|p=zhong}} as "Chinese: 中; pinyin: zhong" on an English
// wiki. On others only the languages have labels.
func (s *Scanner) chinese(args []argument) {
	labels := s.named(args, "labels").empty() || s.is(args, "labels")
	written := false
	for _, part := range chineseParts {
		p := s.named(args, part.key)
		if p.empty() {
			continue
		}
		if written {
			s.str("; ")
		}
		written = true
		if label := s.label(part.label); labels && label != "" {
			s.str(label)
		} else if name := s.table.LanguageName([]byte(part.code)); labels && name != "" {
			s.languageLabel(name)
		}
		s.put(p)
	}
	if !written {
		s.put(s.arg(args, 1))
	}
}

// languageLabel writes the name of a language before text in it: "German: ".
func (s *Scanner) languageLabel(name string) {
	form := s.label("language")
	before, after, ok := strings.Cut(form, "{name}")
	if !ok { // "{lower}": German adjectives
		before, after, _ = strings.Cut(form, "{lower}")
		name = strings.ToLower(name)
	}
	s.str(before)
	s.str(name)
	s.str(after)
}

// japanese renders {{nihongo|Tokyo|東京|Tōkyō|capital}} as "Tokyo (東京, Tōkyō,
// capital)". With t.N = 3, {{nihongo3|Tokyo|東京|Tōkyō}} is "Tōkyō (東京, Tokyo)".
func (s *Scanner) japanese(t rendering.Rule, args []argument) {
	name, kanji, roman := s.arg(args, 1), s.arg(args, 2), s.arg(args, 3)
	extra := s.arg(args, 4)
	if extra.empty() {
		extra = s.named(args, "extra")
	}
	inner := [3]span{kanji, roman, extra}
	switch {
	case t.N == 3:
		name, inner[0], inner[1] = roman, kanji, name
	case name.empty():
		name, inner[1] = roman, span{}
	}
	if name.empty() {
		name, inner[0] = kanji, span{}
	}
	s.put(name)
	written := false
	for _, p := range inner {
		if p.empty() {
			continue
		}
		if written {
			s.str(", ")
		} else {
			s.str(" (")
		}
		s.removed() // an argument may begin with ", ": drop it at the start
		s.put(p)
		written = true
	}
	if written {
		s.str(")")
	}
	after := s.arg(args, 5)
	if after.empty() {
		after = s.named(args, "extra2")
	}
	s.affixed(" ", after, "")
}

// koreanParts are the names of the arguments of {{korean}} in the order in
// which they are written.
var koreanParts = []string{"hangul", "hanja", "rr", "mr"}

// korean renders {{korean|hangul=가|hanja=家|rr=ga}} as "가; 家; ga". The arguments
// may also be positional.
func (s *Scanner) korean(args []argument) {
	written := false
	for n, key := range koreanParts {
		p := s.named(args, key)
		if p.empty() {
			p = s.arg(args, n+1)
		}
		if p.empty() {
			continue
		}
		if written {
			s.str("; ")
		}
		s.put(p)
		written = true
	}
}

// era renders {{bd|1900年|1月1日|1980年|2月2日}} as "（1900年1月1日－1980年2月2日）": dates of
// birth and death.
func (s *Scanner) era(args []argument) {
	s.str("（")
	s.put(s.arg(args, 1))
	s.put(s.arg(args, 2))
	s.str("－")
	s.put(s.arg(args, 3))
	s.put(s.arg(args, 4))
	s.str("）")
}

// sound renders a pronunciation: {{IPA|mo}} as "mo". In parentheses, where it
// interrupts the sentence, it is dropped. With t.N = 2 a language code may come
// first: {{IPA|fr|mo}}.
func (s *Scanner) sound(t rendering.Rule, args []argument) {
	if s.inParentheses() {
		return
	}
	p := s.arg(args, 1)
	if t.N == 2 {
		if second := s.arg(args, 2); !second.empty() && s.isLanguage(p) {
			p = second
		}
	}
	s.put(p)
}

// isLanguage reports whether an argument is the code of a language.
func (s *Scanner) isLanguage(p span) bool { return rendering.IsLanguage(s.bytes(p)) }
