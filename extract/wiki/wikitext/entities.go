package wikitext

import (
	"html"
	"unicode/utf8"
)

// maxEntity is the maximum length in bytes of the name or number in a character
// reference such as "&amp;". The longest name that HTML defines has 31 letters.
const maxEntity = 40

// entities parses character references and caches their names.
type entities struct{ met map[string]string }

// An entity is a parsed character reference, such as "&amp;". An invisible character
// has text "" and char 0.
type entity struct {
	text string // the text to show, if char is 0
	char rune   // the character to show; 0: see text
	next int    // offset after the reference
}

// at parses the character reference at src[i], which is "&". The
// reference must end in ";" and name a character that MediaWiki shows
// (Sanitizer::normalizeCharReferences); otherwise ok is false and "&" is plain
// text.
func (n *entities) at(src []byte, i int) (ent entity, ok bool) {
	j := i + 1
	if j < len(src) && src[j] >= utf8.RuneSelf {
		return foreignEntity(src, i)
	}
	for j < len(src) && j-i <= maxEntity && src[j] != ';' {
		c := src[j]
		if class[c]&classLetter == 0 && (c < '0' || c > '9') && (c != '#' || j > i+1) {
			return ent, false
		}
		j++
	}
	if j >= len(src) || src[j] != ';' || j == i+1 {
		return ent, false
	}
	ent.next = j + 1
	name := src[i+1 : j]
	if name[0] == '#' {
		ent.char, ok = numericEntity(name[1:])
		ent.char = shown(ent.char)
		return ent, ok
	}
	ent.text, ok = n.named(name, src[i:ent.next])
	return ent, ok
}

// named returns the text of the reference src, which is "&name;". ok is false if HTML
// defines no such name. The names come from package html and are cached in n.met.
func (n *entities) named(name, src []byte) (text string, ok bool) {
	switch string(name) {
	case "nbsp", "thinsp", "ensp", "emsp":
		return " ", true
	case "shy", "lrm", "rlm": // invisible
		return "", true
	case "semi":
		return ";", true
	}
	if text, ok = n.met[string(name)]; ok {
		return text, true
	}
	text = html.UnescapeString(string(src))
	if text[len(text)-1] == ';' { // html decoded only a prefix of the name, or nothing
		return "", false
	}
	if n.met == nil {
		n.met = make(map[string]string)
	}
	n.met[string(name)] = text
	return text, true
}

// foreignEntity parses the two names that MediaWiki adds to those of HTML,
// &רלמ; and &رلم;. Both mean a right-to-left mark, which is invisible.
func foreignEntity(src []byte, i int) (ent entity, ok bool) {
	for _, name := range []string{"&רלמ;", "&رلم;"} {
		if len(src)-i >= len(name) && string(src[i:i+len(name)]) == name {
			return entity{next: i + len(name)}, true
		}
	}
	return ent, false
}

// numericEntity returns the character for the digits of "&#…;": decimal, or
// hexadecimal after an "x". ok is false if MediaWiki does not show it.
func numericEntity(digits []byte) (r rune, ok bool) {
	base := rune(10)
	if len(digits) > 0 && digits[0]|0x20 == 'x' {
		base, digits = 16, digits[1:]
	}
	if len(digits) == 0 {
		return 0, false
	}
	for _, c := range digits {
		d := rune(c) - '0'
		if l := rune(c | 0x20); l >= 'a' && l <= 'f' {
			d = l - 'a' + 10
		}
		if d < 0 || d >= base {
			return 0, false
		}
		if r = r*base + d; r > utf8.MaxRune {
			return 0, false
		}
	}
	return r, validChar(r)
}

// validChar reports whether MediaWiki shows the character r when it is written
// as a number, "&#…;" (Sanitizer::validateCodepoint).
func validChar(r rune) bool {
	switch {
	case r == '\t' || r == '\n':
		return true
	case r < 0x20 || r > 0x7E && r < 0xA0:
		return false
	}
	return r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD || r >= 0x10000 && r <= utf8.MaxRune
}

// shown returns what is written for the character r: a space for every kind of space, 0
// for an invisible character, otherwise r itself.
func shown(r rune) rune {
	switch r {
	case '\t', '\n', 0xA0, 0x2002, 0x2003, 0x2009, 0x202F:
		return ' '
	case 0xAD, 0x200E, 0x200F:
		return 0
	}
	return r
}

// entity writes the text of a character reference.
func (w *writer) entity(ent entity) {
	if ent.char != 0 {
		var buf [utf8.UTFMax]byte
		w.text(utf8.AppendRune(buf[:0], ent.char))
		return
	}
	w.str(ent.text)
}
