package wikitext

import (
	"bytes"
	"strconv"
	"strings"
)

// A term is a word of a dictionary with what a template says about it. Empty parts are not
// given.
type term struct {
	word, alt   span // the page's title, and the form to show
	lang        span // code of its language, in "la:verbum"
	tr, meaning span // transliteration; translation
	pos, lit    span // part of speech; literal meaning
	genders     [maxGenders]span
	first, last span   // qualifiers before and after the word
	open, end   string // text around the word, such as the hyphen of a suffix
}

// maxGenders is the maximum number of genders of a term.
const maxGenders = 3

// form returns the text that readers see for a term: the form to show, else the word, else
// its transliteration.
func (t term) form() span { return either(either(t.alt, t.word), t.tr) }

// soleTerm returns the term of a template that has one, in argument n. Its form to show may
// be argument n+1, its meaning argument n+2.
func (c *call) soleTerm(n int) term {
	t := c.termAt(n, "")
	t.alt = either(t.alt, c.arg(n+1))
	t.meaning = either(t.meaning, c.arg(n+2))
	return t
}

// numberedTerm returns the term in argument place of a template that lists terms. number,
// from 1, ends the names of its other arguments: "t1". unnumbered says that those of the
// first term may lack it.
func (c *call) numberedTerm(place, number int, unnumbered bool) term {
	t := c.termAt(place, strconv.Itoa(number))
	if number == 1 && unnumbered {
		plain := c.namedParts("")
		t.alt, t.tr, t.meaning, t.pos, t.lit = either(t.alt, plain.alt), either(t.tr, plain.tr), either(t.meaning, plain.meaning), either(t.pos, plain.pos), either(t.lit, plain.lit)
		if t.genders[0].empty() {
			t.genders = plain.genders
		}
		t.first, t.last = either(t.first, plain.first), either(t.last, plain.last)
	}
	return t
}

// termAt returns the term in argument place; number ends the names of its other arguments.
func (c *call) termAt(place int, number string) term {
	t := c.namedParts(number)
	t.word = c.arg(place)
	c.cutModifiers(&t)
	if prefix, _, ok := bytes.Cut(c.bytes(t.word), []byte(":")); ok {
		rest := span{t.word.start + len(prefix) + 1, t.word.end}
		switch {
		case rest.empty() || c.in.src[rest.start] == ' ' || c.in.src[rest.start] == '/':
		case string(prefix) == "w" || string(prefix) == "s": // a page of Wikipedia or Wikisource
			t.word = rest
		case isCode(prefix) && c.wiki.table.LanguageName(prefix) != "":
			t.lang, t.word = span{t.word.start, t.word.start + len(prefix)}, rest
		}
	}
	return t
}

// isCode reports whether b has the form of a language code of a dictionary.
func isCode(b []byte) bool {
	return len(b) >= 2 && len(bytes.Trim(b, "abcdefghijklmnopqrstuvwxyz-")) == 0 && b[0] != '-'
}

// namedParts returns the parts of a term in named arguments whose names end with number.
func (c *call) namedParts(number string) term {
	t := term{
		alt: c.named("alt" + number), tr: c.named("tr" + number), pos: c.named("pos" + number), lit: c.named("lit" + number),
		meaning: c.named("t"+number, "gloss"+number), first: c.named("q"+number, "l"+number), last: c.named("qq"+number, "ll"+number),
	}
	t.genders[0] = c.named("g" + number)
	if number == "" {
		t.genders[1], t.genders[2] = c.named("g2"), c.named("g3")
	}
	return t
}

// cutModifiers removes the modifiers after a term, "word<t:meaning><q:rare>", and fills in the
// parts that they give.
func (c *call) cutModifiers(t *term) {
	text := c.bytes(t.word)
	cut := -1
	for at := 0; ; {
		k := bytes.IndexByte(text[at:], '<')
		if k < 0 {
			break
		}
		at += k
		key := modifierKey(text[at+1:])
		if key == "" {
			at++
			continue
		}
		if cut < 0 {
			cut = at
		}
		end := at + closing(text[at:])
		c.modify(t, key, c.in.trim(t.word.start+at+len(key)+2, t.word.start+end))
		at = min(end+1, len(text))
	}
	if cut >= 0 {
		t.word = c.in.trim(t.word.start, t.word.start+cut)
	}
}

// modifierKey returns the key of the modifier whose text begins at b; "" if it is none.
func modifierKey(b []byte) string {
	n := 0
	for n < len(b) && n < 12 && b[n] >= 'a' && b[n] <= 'z' {
		n++
	}
	if n == 0 || n == len(b) || b[n] != ':' {
		return ""
	}
	return string(b[:n])
}

// closing returns the offset of the ">" that closes the "<" at b[0], or the length of b.
func closing(b []byte) int {
	depth := 0
	for i, x := range b {
		switch x {
		case '<':
			depth++
		case '>':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(b)
}

// modify sets the part of a term that a modifier gives. Other modifiers show nothing.
func (c *call) modify(t *term, key string, value span) {
	switch key {
	case "t", "gloss":
		t.meaning = value
	case "alt":
		t.alt = value
	case "tr":
		t.tr = value
	case "pos":
		t.pos = value
	case "lit":
		t.lit = value
	case "q", "l", "a":
		t.first = value
	case "qq", "ll", "aa":
		t.last = value
	case "g":
		t.genders[0] = value
	}
}

// putTerm writes a term: "(rare) verbum n (“word”)".
func (c *call) putTerm(t term) {
	c.affixed("(", t.first, ") ")
	c.str(t.open)
	c.put(t.form())
	c.str(t.end)
	c.genders(t.genders)
	c.annotation(t)
	c.affixed(" (", t.last, ")")
}

// annotation writes what stands in parentheses after a term: its transliteration, meaning
// and part of speech.
func (c *call) annotation(t term) {
	if either(t.alt, t.word).empty() || string(c.bytes(t.tr)) == "-" {
		t.tr = span{} // the transliteration is the word; or none is wanted
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
	part("", t.tr, "")
	part("“", t.meaning, "”")
	part("", t.pos, "")
	part("literally “", t.lit, "”")
	if before == ", " {
		c.str(")")
	}
}

// genders writes the genders of a word: " m or f".
func (c *call) genders(list [maxGenders]span) {
	before := " "
	for _, g := range list {
		if g.empty() {
			continue
		}
		for one := range strings.SplitSeq(string(c.bytes(g)), ",") {
			c.str(before)
			c.str(genderText(one))
			before = " or "
		}
	}
}

// genderText returns what readers see for the code of a gender: "m pl" for "m-p". A part
// that is no code stays as it is.
func genderText(code string) string {
	parts := strings.Split(strings.TrimSpace(code), "-")
	for i, part := range parts {
		if shown, ok := genderParts[part]; ok {
			parts[i] = shown
		}
	}
	return strings.Join(parts, " ")
}

// isGender reports whether an argument is the code of a gender.
func (c *call) isGender(p span) bool {
	for part := range strings.SplitSeq(string(c.bytes(p)), "-") {
		if _, ok := genderParts[part]; !ok {
			return false
		}
	}
	return true
}

// genderParts are the parts of codes of genders and numbers, with what readers see. They are
// from general knowledge of the English Wiktionary.
var genderParts = map[string]string{
	"m": "m", "f": "f", "n": "n", "c": "c", "mf": "m or f", "mfbysense": "m or f by sense", "mfequiv": "m or f", "p": "pl", "s": "sg", "d": "du",
	"an": "anim", "in": "inan", "pr": "pers", "anml": "anml", "np": "npers", "impf": "impf", "pf": "pf", "vr": "vir", "nv": "nvir", "gneut": "gender-neutral",
}
