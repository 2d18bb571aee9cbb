package hf

import (
	"strings"
	"unicode/utf8"

	"pretext/tokenize/internal/hfunicode"
	"pretext/tokenize/internal/onig"
)

// A piece is a part of a normalized text: an added token, or text that the model
// encodes as one word.
type piece struct {
	text string
	zero int   // as for [normalizer]
	id   int32 // id of the added token; noToken for text
}

const noToken = -1

// cut returns the part of p from start to end.
func (p piece) cut(start, end int) piece {
	return piece{text: p.text[start:end], zero: max(0, min(p.zero-start, end-start)), id: noToken}
}

// A pretokenizer splits the piece p and appends the parts to dst. It may change their text;
// empty parts are dropped.
type pretokenizer interface {
	split(s *scratch, dst []piece, p piece) []piece
}

// scratch holds buffers that pre-tokenizers reuse.
type scratch struct {
	segments []segment
	matches  onig.Matches
	lists    [][]piece // unused lists of pieces
	budget   *budget
}

func (s *scratch) take() []piece {
	if n := len(s.lists); n > 0 {
		list := s.lists[n-1]
		s.lists = s.lists[:n-1]
		return list[:0]
	}
	return nil
}

func (s *scratch) give(lists ...[]piece) { s.lists = append(s.lists, lists...) }

// pretokenizers run one after another, each on the pieces that the previous one returned.
type pretokenizers []pretokenizer

func (all pretokenizers) split(s *scratch, dst []piece, p piece) []piece {
	pieces, next := append(s.take(), p), s.take()
	for _, one := range all {
		next = next[:0]
		for _, q := range pieces {
			if s.budget.spent() || !s.budget.take(len(q.text)+1) {
				break
			}
			next = one.split(s, next, q)
		}
		pieces, next = next, pieces
	}
	dst = append(dst, pieces...)
	s.give(pieces, next)
	return dst
}

// A segment is a part of a text: either a match of a delimiter or the text between two
// matches. The segments of a text cover it in order.
type segment struct {
	start, end int
	match      bool
}

// A behavior determines what happens to delimiters.
type behavior uint8

const (
	removed behavior = iota
	isolated
	mergedWithPrevious
	mergedWithNext
	contiguous
)

var behaviors = map[string]behavior{"Removed": removed, "Isolated": isolated, "MergedWithPrevious": mergedWithPrevious,
	"MergedWithNext": mergedWithNext, "Contiguous": contiguous}

// apply appends the parts of p to dst, according to the behavior. It overwrites segments.
func (b behavior) apply(dst []piece, p piece, segments []segment) []piece {
	switch b {
	case mergedWithPrevious, contiguous:
		segments = b.mergeForward(segments)
	case mergedWithNext:
		segments = mergeBackward(segments)
	}
	for _, x := range segments {
		if x.end > x.start && !(b == removed && x.match) {
			dst = append(dst, p.cut(x.start, x.end))
		}
	}
	return dst
}

func (b behavior) mergeForward(segments []segment) []segment {
	out, previous := segments[:0], false
	for _, x := range segments {
		merge := x.match == previous
		if b == mergedWithPrevious {
			merge = x.match && !previous
		}
		if merge && len(out) > 0 {
			out[len(out)-1].end = x.end
		} else {
			out = append(out, x)
		}
		previous = x.match
	}
	return out
}

func mergeBackward(segments []segment) []segment {
	first, previous := len(segments), false
	for i := len(segments) - 1; i >= 0; i-- {
		x := segments[i]
		if x.match && !previous && first < len(segments) {
			segments[first].start = x.start
		} else {
			first--
			segments[first] = x
		}
		previous = x.match
	}
	return segments[first:]
}

// byClass splits at the characters of a set. Each of them is a separate delimiter.
type byClass struct {
	set *hfunicode.Set
	behavior
}

func (c *byClass) split(s *scratch, dst []piece, p piece) []piece {
	segments, last := s.segments[:0], 0
	for i, r := range p.text {
		if !c.set.Has(r) {
			continue
		}
		if last < i {
			segments = append(segments, segment{last, i, false})
		}
		last = i + utf8.RuneLen(r)
		segments = append(segments, segment{i, last, true})
	}
	if last < len(p.text) {
		segments = append(segments, segment{last, len(p.text), false})
	}
	s.segments = segments
	return c.apply(dst, p, segments)
}

// byPattern is the pre-tokenizer Split.
type byPattern struct {
	pattern *onig.Regexp
	behavior
	invert bool // the text between matches is the delimiter
}

func (c *byPattern) split(s *scratch, dst []piece, p piece) []piece {
	segments, last := s.segments[:0], 0
	s.matches.Reset(c.pattern, p.text, &s.budget.steps)
	for m := &s.matches; m.Next(); last = m.End {
		if last < m.Start {
			segments = append(segments, segment{last, m.Start, c.invert})
		}
		segments = append(segments, segment{m.Start, m.End, !c.invert})
	}
	if last < len(p.text) {
		segments = append(segments, segment{last, len(p.text), c.invert})
	}
	s.segments = segments
	return c.apply(dst, p, segments)
}

// byRuns splits into runs of characters of one kind and drops those of kind
// dropRun. It is the pre-tokenizer Whitespace.
type byRuns struct{ word, space *hfunicode.Set }

func (c *byRuns) split(_ *scratch, dst []piece, p piece) []piece {
	const dropRun = 0
	kind := func(r rune) int {
		switch {
		case c.word.Has(r):
			return 1
		case c.space.Has(r):
			return dropRun
		}
		return 2
	}
	start, last := 0, dropRun
	for i, r := range p.text {
		k := kind(r)
		if k == last {
			continue
		}
		if last != dropRun {
			dst = append(dst, p.cut(start, i))
		}
		start, last = i, k
	}
	if last != dropRun {
		dst = append(dst, p.cut(start, len(p.text)))
	}
	return dst
}

// byScript is the pre-tokenizer UnicodeScripts: it splits where the script changes. As in
// the library, text before the first character with a script is dropped.
type byScript struct{ number func(rune) int }

func (c *byScript) split(_ *scratch, dst []piece, p piece) []piece {
	start, last := -1, 0
	for i, r := range p.text {
		n := c.number(r)
		if n == 0 || n == last {
			continue
		}
		if start >= 0 {
			dst = append(dst, p.cut(start, i))
		}
		start, last = i, n
	}
	if start >= 0 {
		dst = append(dst, p.cut(start, len(p.text)))
	}
	return dst
}

// byLength is the pre-tokenizer FixedLength: it splits into pieces of this number of
// characters.
type byLength int

func (c byLength) split(_ *scratch, dst []piece, p piece) []piece {
	start, n := 0, 0
	for i := range p.text {
		if n == int(c) {
			dst = append(dst, p.cut(start, i))
			start, n = i, 0
		}
		n++
	}
	if n > 0 {
		dst = append(dst, p.cut(start, len(p.text)))
	}
	return dst
}

// metaspace is the pre-tokenizer Metaspace: it replaces spaces, and can split the text
// before each replacement.
type metaspace struct {
	replacement string
	always      bool // prepend the replacement to every piece
	first       bool // prepend it to the piece at the start of the input
	words       bool // split before each replacement
}

func (m *metaspace) split(s *scratch, dst []piece, p piece) []piece {
	before := len(p.text)
	spaces := strings.Count(p.text[:p.zero], " ")
	p.zero += spaces * (len(m.replacement) - 1)
	p.text = strings.ReplaceAll(p.text, " ", m.replacement)
	if !strings.HasPrefix(p.text, m.replacement) && (m.always || m.first && p.zero > 0) {
		p.text = m.replacement + p.text
		if p.zero > 0 {
			p.zero += len(m.replacement)
		}
	}
	s.budget.grow(len(p.text) - before)
	if !m.words {
		return append(dst, p.cut(0, len(p.text)))
	}
	start := 0
	for start < len(p.text) {
		end := len(p.text)
		if i := strings.Index(p.text[start+1:], m.replacement); i >= 0 {
			end = start + 1 + i
		}
		dst = append(dst, p.cut(start, end))
		start = end
	}
	return dst
}

// byteLevel is the pre-tokenizer ByteLevel.
type byteLevel struct {
	prefixSpace bool
	words       bool // split into words with the expression of GPT-2
	raw         bool // pass raw bytes, as the model expects; see bpe.useRaw
}

func (b *byteLevel) split(s *scratch, dst []piece, p piece) []piece {
	if b.prefixSpace && !strings.HasPrefix(p.text, " ") {
		s.budget.grow(1)
		p.text = " " + p.text
		if p.zero > 0 {
			p.zero++
		}
	}
	for p.text != "" {
		n := len(p.text)
		if b.words {
			n = wordLen(p.text)
		}
		q := p.cut(0, n)
		if !b.raw {
			q.text, q.zero = byteChars{}.normalize(s.budget, q.text, q.zero)
		}
		dst = append(dst, q)
		p = p.cut(n, len(p.text))
	}
	return dst
}
