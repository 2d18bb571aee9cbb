package quality

import (
	"strings"
	"unicode/utf8"

	"pretext/extract/internal/words"
)

// maxUnits is the maximum number of words, lines or paragraphs of a document that are
// searched for repetition. The rest of the document is ignored.
const maxUnits = 1 << 20

// Words, lines and n-grams are compared by 64-bit hashes. The probability that any two
// of a million have the same hash by chance is 3e-8.

// A tally counts how often hashes occur. It is an open-addressing hash table.
type tally struct {
	keys   []uint64
	counts []uint32
	mask   uint64
}

// reset empties the table and makes room for n hashes.
func (t *tally) reset(n int) {
	size := 16
	for size < 2*n {
		size *= 2
	}
	if cap(t.keys) < size {
		t.keys, t.counts = make([]uint64, size), make([]uint32, size)
	} else {
		t.keys, t.counts = t.keys[:size], t.counts[:size]
		clear(t.keys)
		clear(t.counts)
	}
	t.mask = uint64(size - 1)
}

// add counts a hash and returns how often it had been counted before.
func (t *tally) add(h uint64) uint32 {
	h |= 1 // 0 marks a free slot; the lost bit does not matter
	for i := h >> 1 & t.mask; ; i = (i + 1) & t.mask {
		switch t.keys[i] {
		case 0:
			t.keys[i], t.counts[i] = h, 1
			return 0
		case h:
			t.counts[i]++
			return t.counts[i] - 1
		}
	}
}

// units counts repeated lines and paragraphs of a document.
type units struct {
	known      bool
	lines      unitFacts
	paragraphs unitFacts
	seen       tally
}

type unitFacts struct {
	units, repeats int
	characters     int // number of characters in the measured text
	repeated       int // characters in the repeated units
	breaks         int // number of line feeds in the measured text
}

func (p *profile) repeats() *units {
	u := &p.units
	if u.known {
		return u
	}
	u.known = true
	u.lines = u.survey(p.doc.Text, nextLine)
	u.paragraphs = u.survey(p.doc.Text, nextParagraph)
	return u
}

// survey counts the repeated units of a text. next splits text after its first unit, a
// line or paragraph.
func (u *units) survey(text string, next func(string) (unit, rest string)) (f unitFacts) {
	n := 1 + strings.Count(text, "\n")
	u.seen.reset(min(n, maxUnits))
	rest := text
	for rest != "" && f.units < maxUnits {
		var unit string
		if unit, rest = next(rest); unit == "" {
			continue
		}
		f.units++
		if u.seen.add(words.Hash(unit)) > 0 {
			f.repeats++
			f.repeated += utf8.RuneCountInString(unit)
		}
	}
	read := text[:len(text)-len(rest)]
	f.characters, f.breaks = utf8.RuneCountInString(read), strings.Count(read, "\n")
	return f
}

func nextLine(text string) (line, rest string) {
	line, rest, _ = strings.Cut(text, "\n")
	return strings.TrimSpace(line), rest
}

// nextParagraph splits text after the first paragraph, at a blank line.
func nextParagraph(text string) (paragraph, rest string) {
	for end := 0; end < len(text); {
		i := strings.IndexByte(text[end:], '\n')
		if i < 0 {
			break
		}
		end += i + 1
		line, _, _ := strings.Cut(text[end:], "\n")
		if strings.TrimSpace(line) == "" && end < len(text) {
			return strings.TrimSpace(text[:end]), text[min(end+len(line)+1, len(text)):]
		}
	}
	return strings.TrimSpace(text), ""
}

func (p *profile) duplicateLines() (float64, bool) {
	return ratio(p.repeats().lines.repeats, p.units.lines.units)
}
func (p *profile) duplicateLineCharacters() (float64, bool) {
	return ratio(p.repeats().lines.repeated, p.units.lines.characters)
}
func (p *profile) repeatedLineCharacters() (float64, bool) {
	f := p.repeats().lines
	return ratio(f.repeated, f.characters-f.breaks)
}
func (p *profile) duplicateParagraphs() (float64, bool) {
	return ratio(p.repeats().paragraphs.repeats, p.units.paragraphs.units)
}
func (p *profile) duplicateParagraphCharacters() (float64, bool) {
	return ratio(p.repeats().paragraphs.repeated, p.units.paragraphs.characters)
}

// grams holds the hashes and lengths of a document's words. The hashes and lengths of
// n-grams are computed from them.
type grams struct {
	known      bool
	hashes     []uint64
	lengths    []uint32 // in characters
	characters int      // length of the text up to the last measured word
	seen       tally
}

func (p *profile) words1M() *grams {
	g := &p.grams
	if g.known {
		return g
	}
	g.known, g.hashes, g.lengths = true, g.hashes[:0], g.lengths[:0]
	end := len(p.doc.Text)
	for start, stop := range wordsOf(p.doc.Text) {
		if len(g.hashes) == maxUnits {
			end = start
			break
		}
		w := p.doc.Text[start:stop]
		g.hashes = append(g.hashes, words.Hash(w))
		g.lengths = append(g.lengths, uint32(utf8.RuneCountInString(w)))
	}
	g.characters = utf8.RuneCountInString(p.doc.Text[:end])
	return g
}

// walk calls visit for n-grams, with the index of the first word, the hash, and the
// length in characters without spaces. visit returns the number of words from this
// n-gram to the next one to visit.
func (g *grams) walk(n int, visit func(at int, hash uint64, characters int) int) {
	if len(g.hashes) < n {
		return
	}
	power := uint64(1) // power of the hash base, for removing the oldest word
	for range n {
		power *= words.Seed
	}
	var hash uint64
	characters := 0
	for i := range n {
		hash = hash*words.Seed + g.hashes[i]
		characters += int(g.lengths[i])
	}
	for at := 0; ; {
		next := at + visit(at, words.Mix(hash), characters)
		if next+n > len(g.hashes) {
			return
		}
		for ; at < next; at++ {
			hash = hash*words.Seed + g.hashes[at+n] - power*g.hashes[at]
			characters += int(g.lengths[at+n]) - int(g.lengths[at])
		}
	}
}

// topGram returns the fraction of the text's characters that belong to occurrences of
// the most frequent n-gram.
func (p *profile) topGram(n int) (float64, bool) {
	g := p.words1M()
	g.seen.reset(len(g.hashes))
	most, covered := uint32(1), 0
	g.walk(n, func(_ int, hash uint64, characters int) int {
		times := g.seen.add(hash) + 1
		if all := int(times) * (characters + n - 1); times > most || times == most && times > 1 && all > covered {
			most, covered = times, all
		}
		return 1
	})
	return ratio(covered, g.characters)
}

// duplicateGrams returns the fraction of the text's characters that belong to n-grams
// seen before.
func (p *profile) duplicateGrams(n int) (float64, bool) {
	g := p.words1M()
	g.seen.reset(len(g.hashes))
	repeated := 0
	g.walk(n, func(_ int, hash uint64, characters int) int {
		if g.seen.add(hash) == 0 {
			return 1
		}
		repeated += characters
		return n
	})
	return ratio(repeated, g.characters)
}
