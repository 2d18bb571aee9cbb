package tokenize

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// A Span is a range of bytes of a text: Start up to, not including, End.
type Span struct {
	Start, End int
}

// AppendOffsets appends the token ids of text to ids, as [Encoder.AppendIDs] does, and the
// location of each token in text to spans. A span reaches from the first to the last
// character from which the token was made:
//
//   - It includes characters that were removed inside the token, but not those
//     removed before or after it, such as a soft hyphen at the end of a word or
//     the combining accents after a letter.
//   - The span of [UNK] is the span of the word that it replaces.
//   - Tokens made of the same character, such as the parts of a decomposed
//     Hangul syllable, have the same span.
//   - All other spans ascend and do not overlap, unless canonical ordering
//     swapped combining characters.
//
// AppendOffsets takes about five times as long as AppendIDs.
func (e *Encoder) AppendOffsets(ids []int32, spans []Span, text string) ([]int32, []Span) {
	a := aligner{e: e, ids: ids, spans: spans}
	switch {
	case e.special == nil:
		alignWords(&a, text, 0)
	case utf8.ValidString(text):
		alignKeeping(&a, text)
	default:
		first := len(spans)
		valid, places := validPlaces(text)
		alignKeeping(&a, valid)
		for i, s := range a.spans[first:] {
			a.spans[first+i] = Span{places[s.Start], places[s.End-1] + 1}
		}
	}
	return a.ids, a.spans
}

// validPlaces returns s without invalid UTF-8, and the original offset of each
// remaining byte.
func validPlaces(s string) (valid string, places []int) {
	var kept []byte
	for i := 0; i < len(s); {
		r, size := decodeRune(s, i)
		if r != utf8.RuneError || size > 1 {
			for j := range size {
				kept, places = append(kept, s[i+j]), append(places, i+j)
			}
		}
		i += size
	}
	return string(kept), places
}

// An aligner is the state of one call of AppendOffsets.
type aligner struct {
	e     *Encoder
	ids   []int32
	spans []Span
	chars []Span     // span in the text of each character of the current word
	run   []runPlace // buffer for a run of non-starters
}

// A runPlace is the location of a non-starter (a character with a Canonical_Combining_Class
// other than 0) that is still to be put in canonical order.
type runPlace struct {
	combiningClass uint8
	span           Span
}

// alignKeeping appends the ids and spans of s, which must be valid UTF-8, to a. Special
// tokens become one id where the profile keeps them whole.
func alignKeeping(a *aligner, s string) {
	start := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '[' {
			continue
		}
		for _, special := range a.e.special {
			if end := specialEnd(a.e, s, i, special.text); end > 0 {
				alignWords(a, s[start:i], start)
				a.ids, a.spans = append(a.ids, special.id), append(a.spans, Span{i, end})
				start, i = end, end-1
				break
			}
		}
	}
	alignWords(a, s[start:], start)
}

// alignWords appends the tokens and spans of s to a. base is the offset of s in the text.
func alignWords(a *aligner, s string, base int) {
	w := &a.e.words
	for i := 0; i < len(s); {
		next := nextWord(w, s, i)
		if w.chars == 0 {
			return
		}
		first := len(a.ids)
		a.ids = a.e.appendWord(a.ids)
		a.placeWord(s, i, next)
		a.cut(a.ids[first:], base)
		i = next
	}
}

// cut appends the spans of the tokens of one word, whose ids are given. a.chars has the
// span of each character of the word; base is added to all spans.
func (a *aligner) cut(ids []int32, base int) {
	rest := a.chars
	for _, id := range ids {
		n := len(rest)
		if id != a.e.vocab.unk {
			n = utf8.RuneCountInString(a.e.vocab.tokens[id])
			if a.e.vocab.subword[id] {
				n -= len(subwordPrefix)
			}
		}
		span := rest[0]
		for _, c := range rest[1:n] { // spans may not ascend, if non-starters were reordered
			span.Start, span.End = min(span.Start, c.Start), max(span.End, c.End)
		}
		a.spans = append(a.spans, Span{base + span.Start, base + span.End})
		rest = rest[n:]
	}
}

// placeWord sets a.chars to the span in s of each character of the word that nextWord read
// from s[from:to]. It repeats the steps of nextWord. Characters beyond the maximum word
// length are included.
func (a *aligner) placeWord(s string, from, to int) {
	w := &a.e.words
	a.chars = a.chars[:0]
	for i := from; i < to; {
		r, size := decodeRune(s, i)
		c := w.classes.of(r)
		here, count := Span{i, i + size}, 0
		switch kind, action := c&kindMask, c&w.changes&lowerMask; {
		case kind == kindRemove || kind == kindSpace:
		case action == lowerSame || r == 'Σ':
			count = 1
		case action == lowerReorder || action == lowerMapTail:
			i = a.placeRun(s, i)
			continue
		case action == lowerHangul:
			count = 2
			if (r-firstSyllable)%trailers != 0 {
				count = 3
			}
		case action == lowerMap || action == lowerPunct:
			to, ok := w.rules.lower[r]
			if !ok {
				to = mappingOf(r)
			}
			count = utf8.RuneCountInString(to)
		}
		for range count {
			a.chars = append(a.chars, here)
		}
		i += size
	}
}

// placeRun appends the spans of a run of non-starters, which begins at s[i], to a.chars in
// the order in which addReordered adds the characters. It returns the position after the
// run.
func (a *aligner) placeRun(s string, i int) int {
	w := &a.e.words
	a.run = a.run[:0]
	start := i
	for i < len(s) {
		r, size := decodeRune(s, i)
		c, here := w.classes.of(r), Span{i, i + size}
		switch action := c & lowerMask; {
		case c&kindMask == kindRemove || action == lowerDrop:
		case action == lowerReorder:
			a.run = append(a.run, runPlace{w.rules.combiningClass(r), here})
		case action == lowerMapTail && i == start:
			for _, m := range mappingOf(r) {
				if ccc := w.rules.combiningClass(m); ccc == 0 {
					a.chars = append(a.chars, here)
				} else {
					a.run = append(a.run, runPlace{ccc, here})
				}
			}
		default:
			a.endRun()
			return i
		}
		i += size
	}
	a.endRun()
	return i
}

func (a *aligner) endRun() {
	slices.SortStableFunc(a.run, func(x, y runPlace) int { return cmp.Compare(x.combiningClass, y.combiningClass) })
	for _, p := range a.run {
		a.chars = append(a.chars, p.span)
	}
}
