package wikitext

import "bytes"

// language renders a text in a foreign language with the language's name:
// {{langx|de|Wort}}, {{lang-de|Wort}}. A transliteration and a translation may
// follow.
func (s *Scanner) language(t template, args []argument) {
	n, name := t.n, languageNames[t.text]
	if t.text == "" {
		n, name = 2, languageNames[string(s.bytes(s.arg(args, 1)))]
	}
	text := s.arg(args, n)
	if text.empty() {
		text = s.named(args, "text")
	}
	if text.empty() {
		return
	}
	if label := s.named(args, "label"); !label.empty() {
		if s.is(args, "label") && string(s.bytes(label)) != "none" {
			s.affixed("", label, ": ")
		}
	} else if name != "" {
		s.str(name)
		s.str(": ")
	}
	s.put(text)
	roman := s.named(args, "translit")
	if roman.empty() {
		roman = s.arg(args, n+1)
	}
	s.affixed(", romanized: ", roman, "")
	meaning := s.named(args, "lit", "translation")
	if meaning.empty() {
		meaning = s.arg(args, n+2)
	}
	s.affixed(", lit. '", meaning, "'")
}

// chineseParts are the arguments of {{zh}} in their order, with their labels.
var chineseParts = []struct{ key, label string }{
	{"c", "Chinese: "}, {"s", "simplified Chinese: "}, {"t", "traditional Chinese: "}, {"p", "pinyin: "},
	{"hp", "pinyin: "}, {"w", "Wade–Giles: "}, {"j", "Jyutping: "}, {"cy", "Cantonese Yale: "},
	{"poj", "Pe̍h-ōe-jī: "}, {"l", "lit. "},
}

// chinese renders {{zh|c=…|p=…}}.
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
		if labels {
			s.str(part.label)
		}
		s.put(p)
	}
	if !written {
		s.put(s.arg(args, 1))
	}
}

// japanese renders {{nihongo|name|kanji|rōmaji|extra}}: the name, then the
// others in parentheses; with n = 3 ({{nihongo3}}) the rōmaji comes first.
func (s *Scanner) japanese(t template, args []argument) {
	name, kanji, roman := s.arg(args, 1), s.arg(args, 2), s.arg(args, 3)
	inner := [3]span{kanji, roman, s.arg(args, 4)}
	switch {
	case t.n == 3:
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
		s.removed() // some write ", lit. x" where the kanji are missing
		s.put(p)
		written = true
	}
	if written {
		s.str(")")
	}
	s.affixed(" ", s.arg(args, 5), "")
}

// korean renders {{korean|hangul=…|hanja=…|rr=…|mr=…}}.
func (s *Scanner) korean(args []argument) {
	written := false
	for _, key := range []string{"hangul", "1", "hanja", "2", "rr", "mr", "lk"} {
		p := s.named(args, key)
		if key == "1" || key == "2" {
			p = s.arg(args, int(key[0]-'0'))
		}
		if p.empty() || key == "lk" {
			continue
		}
		if written {
			s.str("; ")
		}
		s.put(p)
		written = true
	}
}

// interlanguage renders a link to an article of another wiki: its label, else
// the title in this wiki.
func (s *Scanner) interlanguage(t template, args []argument) {
	if p := s.named(args, "lt", "display", "texte", "trans-title", "d"); !p.empty() {
		s.put(p)
		return
	}
	if p := s.arg(args, t.n); !p.empty() {
		s.put(p)
		return
	}
	s.put(s.named(args, "fr", "de", "es", "title"))
}

// harvard renders an author-date reference that is part of the sentence:
// {{harvtxt|Smith|Jones|2001}} is "Smith & Jones (2001)".
func (s *Scanner) harvard(args []argument) {
	names := 0
	for _, a := range args[1:] {
		if a.key.empty() && !a.value.empty() {
			names++
		}
	}
	for n := 1; n < names; n++ {
		switch {
		case n > 1 && n == names-1:
			s.str(" & ")
		case n > 1:
			s.str(", ")
		}
		s.put(s.arg(args, n))
	}
	if names > 1 {
		s.affixed(" (", s.arg(args, names), ")")
		return
	}
	s.put(s.arg(args, 1))
}

// accidentals are the symbols of {{music}}.
var accidentals = map[string]string{
	"flat": "♭", "b": "♭", "♭": "♭", "sharp": "♯", "#": "♯", "♯": "♯", "natural": "♮", "n": "♮", "♮": "♮",
	"doubleflat": "𝄫", "bb": "𝄫", "doublesharp": "𝄪", "##": "𝄪", "x": "𝄪", "dim": "o", "aug": "+", "halfdim": "ø",
	"delta": "Δ", "major": "Δ", "whole": "𝅝", "half": "𝅗𝅥", "quarter": "♩", "eighth": "♪", "time": "",
}

// music renders {{music|flat}} and {{music|time|3|4}}.
func (s *Scanner) music(args []argument) {
	name := string(s.bytes(s.arg(args, 1)))
	if name == "time" {
		s.put(s.arg(args, 2))
		s.affixed("/", s.arg(args, 3), "")
		return
	}
	s.str(accidentals[name])
}

// sic renders {{sic}}: the words in question; "[sic]" itself is a mark.
func (s *Scanner) sic(args []argument) {
	s.put(s.arg(args, 1))
	if p := s.arg(args, 2); !p.empty() {
		s.put(p)
	}
}

// country renders {{flag|FRA}}: the name that is shown beside the flag.
func (s *Scanner) country(args []argument) {
	if p := s.named(args, "name"); !p.empty() {
		s.put(p)
		return
	}
	p := s.arg(args, 1)
	if name := countryNames[string(s.bytes(p))]; name != "" {
		s.str(name)
		return
	}
	s.put(p)
}

// ship renders {{ship|USS|Enterprise|CVN-65}} or, with the prefix in the text,
// {{USS|Enterprise|CVN-65}}. The format in the last argument says which parts
// are shown.
func (s *Scanner) ship(t template, args []argument) {
	n := 1
	prefix := span{}
	if t.text == "" {
		prefix, n = s.arg(args, 1), 2
	}
	format := string(s.bytes(s.arg(args, n+2)))
	if format != "1" && format != "2" {
		s.affixed("", prefix, " ")
		if t.text != "" {
			s.str(t.text)
			s.str(" ")
		}
	}
	s.put(s.arg(args, n))
	if format == "" {
		s.affixed(" (", s.arg(args, n+1), ")")
	}
}

// shipClass renders {{sclass|Nimitz|aircraft carrier}}.
func (s *Scanner) shipClass(args []argument) {
	s.affixed("", s.arg(args, 1), "-class")
	if format := string(s.bytes(s.arg(args, 3))); format != "1" && format != "5" {
		s.affixed(" ", s.arg(args, 2), "")
	}
}

// era renders {{bd|1900年|1月1日|1980年|2月2日}}: birth and death in
// parentheses.
func (s *Scanner) era(args []argument) {
	s.str("（")
	s.put(s.arg(args, 1))
	s.put(s.arg(args, 2))
	s.str("－")
	s.put(s.arg(args, 3))
	s.put(s.arg(args, 4))
	s.str("）")
}

// century renders the centuries of the French Wikipedia: {{s|XIX|e}},
// {{sp|XVI|e|au|XVII|e|s}}. Numeral and ordinal ending are arguments of their
// own, words between stand as they are.
func (s *Scanner) century(t template, args []argument) {
	pending := false // a numeral is written, its ending may follow
	between := " et "
	written := 0
	for _, a := range args[1:] {
		text := s.bytes(a.value)
		switch {
		case !a.key.empty() || len(text) == 0 || string(text) == "s":
		case isRoman(text):
			if written > 0 {
				s.str(between)
			}
			s.put(a.value)
			pending = true
			written++
		case pending && (string(text) == "e" || string(text) == "er"):
			s.put(a.value)
		default:
			s.str(" ")
			s.put(a.value)
			pending, between = false, " "
		}
	}
	if written > 0 {
		s.str(t.text)
	}
}

func isRoman(b []byte) bool {
	for _, c := range b {
		switch c {
		case 'I', 'V', 'X', 'L', 'C':
		default:
			return false
		}
	}
	return len(b) > 0
}

// lookUp returns how to render the template of the folded name; given is the
// name as it stands.
func lookUp(name, given []byte) (template, bool) {
	if t, ok := templates[string(name)]; ok {
		return t, true
	}
	if rest, ok := bytes.CutPrefix(name, []byte("lang-")); ok {
		if code, ok := languageCode[string(rest)]; ok {
			return template{op: opLang, n: 1, text: code}, true
		}
		return template{op: opLang, n: 1, text: "?"}, true
	}
	for _, p := range templatePrefixes {
		if bytes.HasPrefix(name, []byte(p.prefix)) {
			return p.template, true
		}
	}
	return byShape(name, given)
}
