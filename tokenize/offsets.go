package tokenize

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// A Span is a stretch of a text: the bytes from Start to before End.
type Span struct {
	Start, End int
}

// AppendOffsets appends the token ids of text to ids, as [Encoder.AppendIDs]
// does, and for each the place in text that it comes from to spans: from the
// first to the last character that is left of it in the token. So the span of a
// token holds what was removed inside it, but not what was removed before or
// behind it: a soft hyphen at a word's end, the accents that follow a letter as
// characters of their own. The span of [UNK] is that of its word. Pieces that one
// character was taken apart into, as a Hangul syllable may be, have its place in
// common. Otherwise spans ascend and do not overlap, but where canonical ordering
// made non-starters change places.
//
// It takes some five times as long as AppendIDs.
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

// validPlaces returns the bytes of s that are UTF-8 and where each of them
// stood.
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

// An aligner is one call of AppendOffsets.
type aligner struct {
	e     *Encoder
	ids   []int32
	spans []Span
	chars []Span     // where the characters of the current word come from
	run   []runPlace // scratch of a run of non-starters
}

// A runPlace is a non-starter that waits for its place in canonical order.
type runPlace struct {
	combiningClass uint8
	span           Span
}

// alignKeeping is appendKeeping with places.
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

// alignWords appends the tokens of s, which begins at a place of the text.
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

// cut gives the pieces of the current word their places.
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
		for _, c := range rest[1:n] { // not in order where non-starters changed places
			span.Start, span.End = min(span.Start, c.Start), max(span.End, c.End)
		}
		a.spans = append(a.spans, Span{base + span.Start, base + span.End})
		rest = rest[n:]
	}
}

// placeWord notes where the characters of the word come from that nextWord read
// between two places of s: it goes the same way again. Characters beyond the
// longest word are noted as well.
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

// placeRun is addReordered with places.
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
