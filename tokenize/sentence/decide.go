package sentence

import (
	"bytes"
	"unicode/utf8"
)

// A token is a word near a possible sentence end, with its Punkt properties.
// The properties are computed only when a decision needs them.
type token struct {
	word     string
	typ      []byte // lower-case word, or "##number##"; nil until setType
	stop     bool   // the word ends in a full stop
	ends     bool   // the word ends a sentence
	abbr     bool   // the word is an abbreviation
	ellipsis bool
}

// numberType replaces every number, so that all numbers are treated as one word.
const numberType = "##number##"

// endsWithin reports whether any word of context except the last one ends a sentence.
// context is the text around a possible sentence end.
func (p *punkt) endsWithin(context string) bool {
	var previous, current token
	slot := 0
	for start, end := nextWord(context, 0); start < len(context); start, end = nextWord(context, end) {
		current = p.annotate(context[start:end], slot)
		if previous.word != "" {
			if previous.stop {
				p.reconsider(&previous, &current, slot)
			}
			if previous.ends {
				return true
			}
		}
		previous = current
		slot = 1 - slot
	}
	return false
}

// annotate returns the first decision about a word, which depends only on the word. A
// sentence mark, or a word with a final full stop, ends a sentence, unless the word or its
// last hyphenated part is a known abbreviation. slot is the buffer for setType.
func (p *punkt) annotate(word string, slot int) token {
	t := token{word: word, stop: word[len(word)-1] == '.'}
	switch {
	case word == "." || word == "?" || word == "!":
		t.ends = true
	case !t.stop:
	case word[len(word)-2] == '.':
		t.ellipsis = true // the word is "..": nextWord ends every other word before ".."
	default:
		p.setType(&t, slot)
		lowered := p.lowered[slot]
		if p.isAbbreviation(lowered[:len(lowered)-1]) {
			t.abbr = true
		} else {
			t.ends = true
		}
	}
	return t
}

// isAbbreviation reports whether a lower-case word, without its full stop, or its
// last hyphenated part is a known abbreviation.
func (p *punkt) isAbbreviation(word []byte) bool {
	if p.params.isAbbreviation(word) {
		return true
	}
	i := bytes.LastIndexByte(word, '-')
	return i >= 0 && p.params.isAbbreviation(word[i+1:])
}

// setType sets t.typ if it is not set. slot (0 or 1) selects the buffer for the
// lower-case word.
func (p *punkt) setType(t *token, slot int) {
	if t.typ != nil {
		return
	}
	p.lowered[slot] = appendLower(p.lowered[slot][:0], t.word)
	t.typ = p.lowered[slot]
	if isNumber(t.typ) {
		t.typ = p.number
	}
}

// reconsider makes the second decision about a, a word with a final full stop. It considers
// the next word, b, and changes a.ends and a.abbr. slot is the buffer of b. Section numbers
// in the comments refer to the paper of Kiss and Strunk.
func (p *punkt) reconsider(a, b *token, slot int) {
	p.setType(a, 1-slot)
	p.setType(b, slot)
	typ, next := withoutStop(a.typ), b.typ
	if b.ends {
		next = withoutStop(next)
	}
	nextInfo := p.params.words[string(next)]

	// 4.1.2: the words of a collocation belong to one sentence.
	if nextInfo&pairSecond != 0 && p.isPair(typ, next) {
		a.ends, a.abbr = false, true
		return
	}
	initial := isInitial(a.word)
	firstUpper, _ := firstCase(b.word)
	verdict := judgeNext(b.word, nextInfo)

	// 4.2: an abbreviation or ellipsis may also end a sentence.
	if (a.abbr || a.ellipsis) && !initial {
		if verdict == startsSentence || firstUpper && nextInfo&starter != 0 {
			a.ends = true
			return
		}
	}
	// 4.3: initials and ordinal numbers may look like sentence ends.
	if !initial && string(typ) != numberType {
		return
	}
	neverLower := initial && firstUpper && nextInfo&anyLower == 0
	if verdict == continuesSentence || verdict == unknown && neverLower {
		a.ends, a.abbr = false, true
	}
}

// isPair reports whether two words are a collocation.
func (p *punkt) isPair(first, second []byte) bool {
	if p.params.words[string(first)]&pairFirst == 0 {
		return false
	}
	p.pair = append(append(append(p.pair[:0], first...), '\t'), second...)
	_, ok := p.params.pairs[string(p.pair)]
	return ok
}

// A verdict states whether a word begins a sentence.
type verdict uint8

const (
	unknown verdict = iota
	startsSentence
	continuesSentence
)

// judgeNext decides by the capitalization of a word whether it begins a sentence (the
// orthographic heuristic, section 4.1.1). info states how the word was capitalized in the
// training text. A capitalized word begins a sentence if, in the training text, it occurred
// in lower case but never capitalized inside a sentence. A lower-case word does not begin a
// sentence if, in the training text, it occurred capitalized, or never in lower case at the
// beginning of a sentence.
func judgeNext(word string, info wordInfo) verdict {
	if len(word) == 1 {
		switch word[0] {
		case ';', ':', ',', '.', '!', '?':
			return continuesSentence
		}
	}
	firstUpper, firstLower := firstCase(word)
	switch {
	case firstUpper && info&anyLower != 0 && info&middleUpper == 0:
		return startsSentence
	case firstLower && (info&anyUpper != 0 || info&beginLower == 0):
		return continuesSentence
	}
	return unknown
}

// withoutStop returns typ without its final full stop. A typ that is only a full stop stays
// unchanged.
func withoutStop(typ []byte) []byte {
	if n := len(typ); n > 1 && typ[n-1] == '.' {
		return typ[:n-1]
	}
	return typ
}

// isInitial reports whether a word is one letter and a full stop. A letter is a
// character that matches \w but not \d in Python's re, which includes "_" and
// "Ⅷ".
func isInitial(word string) bool {
	r, width := utf8.DecodeRuneInString(word)
	return len(word) == width+1 && word[width] == '.' && class(r)&classLetter != 0
}

// firstCase reports whether a word begins with an upper-case or a lower-case
// letter.
func firstCase(word string) (upper, lower bool) {
	r, _ := utf8.DecodeRuneInString(word)
	if r < utf8.RuneSelf {
		return 'A' <= r && r <= 'Z', 'a' <= r && r <= 'z'
	}
	c := class(r)
	return c&classUpper != 0, c&classLower != 0
}

// isNumber reports whether a lower-case word is a number: an optional full
// stop, a digit, then digits, full stops, commas and hyphens. Digits of all
// scripts count. (The reference also allows a hyphen or comma in front, but no
// word begins with these.)
func isNumber(word []byte) bool {
	i := 0
	if word[0] == '.' {
		i++
	}
	width := digitWidth(word[i:])
	if width == 0 {
		return false
	}
	for i += width; i < len(word); {
		if c := word[i]; c == ',' || c == '.' || c == '-' {
			i++
			continue
		}
		width := digitWidth(word[i:])
		if width == 0 {
			return false
		}
		i += width
	}
	return true
}

// digitWidth returns the length in bytes of the decimal digit at the beginning
// of s, or 0 if s does not begin with a digit.
func digitWidth(s []byte) int {
	if len(s) == 0 {
		return 0
	}
	if s[0] < utf8.RuneSelf {
		if '0' <= s[0] && s[0] <= '9' {
			return 1
		}
		return 0
	}
	r, width := utf8.DecodeRune(s)
	if class(r)&classDigit == 0 {
		return 0
	}
	return width
}
