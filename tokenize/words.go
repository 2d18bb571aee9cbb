package tokenize

import (
	"cmp"
	"iter"
	"slices"
	"unicode/utf8"
)

// A WordSplitter cuts text into the words that WordPiece works on, what the
// reference calls basic tokens: cleaned, each ideograph and each punctuation
// character a word of its own, and in uncased mode lower-cased and without
// accents. Vocabularies are trained on these words.
//
// It follows the profile but for special tokens: to a WordSplitter they are text
// in all profiles.
//
// It holds the buffer of the current word: one goroutine uses it at a time.
type WordSplitter struct {
	changes class // the bits of a class that are not 0 if a character does not just stay
	limit   int   // characters that word may hold
	rules   *rules
	classes classTable // of rules: nearer

	word  []byte // current word, normalized, valid UTF-8
	chars int    // its characters; above limit word holds only the first of them
	run   []rune // scratch for canonical ordering
}

// NewWordSplitter returns a splitter for o.
func NewWordSplitter(o Options) (*WordSplitter, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return newWordSplitter(o, newRules(o)), nil
}

func newWordSplitter(o Options, r *rules) *WordSplitter {
	changes := kindMask
	if o.DoLowerCase || o.stripAccents() {
		changes |= lowerMask
	}
	return &WordSplitter{changes: changes, limit: o.maxChars(), rules: r, classes: r.classes}
}

// Words yields the words of text in order. A word of more than
// [Options.MaxCharsPerWord] characters is left out: no piece of it can ever be
// seen by a model. The slice is valid until the next word.
func (w *WordSplitter) Words(text string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := 0; ; {
			i = nextWord(w, text, i)
			if w.chars == 0 {
				return
			}
			if w.chars <= w.limit && !yield(w.word) {
				return
			}
		}
	}
}

// AppendWords appends the words of text to dst.
func (w *WordSplitter) AppendWords(dst []string, text string) []string {
	for word := range w.Words(text) {
		dst = append(dst, string(word))
	}
	return dst
}

// nextWord reads the next word of s from i on into w and returns where reading
// goes on. At the end of s the word is empty.
//
// The reference cleans the whole text, then separates ideographs, splits at
// white space, lower-cases, decomposes and removes accents, and splits at
// punctuation. Every step looks at one character and its neighbours, so the
// characters can go through all of them one by one: only a capital sigma and
// the non-starters that survive need a look around (isFinalSigma,
// addReordered).
func nextWord[T bytestring](w *WordSplitter, s T, i int) int {
	w.word, w.chars = w.word[:0], 0
	for i < len(s) {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = decodeRune(s, i)
		}
		c := w.classes.of(r)
		switch {
		case c&w.changes == kindKeep|lowerSame:
			if w.chars < w.limit {
				w.word = appendChar(w.word, s, i, size)
			}
			w.chars++
		case c&kindMask == kindRemove:
		case c&kindMask == kindSpace:
			if w.chars > 0 {
				return i + size
			}
		case c&kindMask != kindKeep || c&lowerMask == lowerPunct:
			if w.chars > 0 {
				return i
			}
			w.addAlone(r, c)
			return i + size
		case c&lowerMask == lowerReorder || c&lowerMask == lowerMapTail:
			i = addReordered(w, s, i)
			continue
		case r == 'Σ':
			w.add(lowerSigma(w, s, i))
		default:
			w.addLowered(r, c)
		}
		i += size
	}
	return i
}

// appendChar appends the character of the given size at s[i].
func appendChar[T bytestring](dst []byte, s T, i, size int) []byte {
	switch size {
	case 1:
		return append(dst, s[i])
	case 2:
		return append(dst, s[i], s[i+1])
	case 3:
		return append(dst, s[i], s[i+1], s[i+2])
	}
	return append(dst, s[i:i+size]...)
}

// add adds a character to the word.
func (w *WordSplitter) add(r rune) {
	if w.chars < w.limit {
		w.word = utf8.AppendRune(w.word, r)
	}
	w.chars++
}

// addAlone makes an ideograph or a punctuation character the word.
func (w *WordSplitter) addAlone(r rune, c class) {
	if c&w.changes&lowerMask == lowerSame {
		w.add(r)
		return
	}
	w.addLowered(r, c)
}

// addLowered adds what r becomes in uncased mode.
func (w *WordSplitter) addLowered(r rune, c class) {
	switch c & lowerMask {
	case lowerMap, lowerPunct:
		to, ok := w.rules.lower[r]
		if !ok {
			to = mappingOf(r)
		}
		for _, m := range to {
			w.add(m)
		}
	case lowerHangul:
		w.addHangul(r)
	}
}

// Hangul syllables are numbered by their jamo; each has one of 28 trailers, the
// first of which stands for none.
const (
	firstSyllable = 0xac00
	trailers      = 28
)

// addHangul adds the jamo of a Hangul syllable (Unicode, chapter 3.12).
func (w *WordSplitter) addHangul(r rune) {
	const vowels = 21
	n := r - firstSyllable
	w.add(0x1100 + n/(vowels*trailers))
	w.add(0x1161 + n%(vowels*trailers)/trailers)
	if t := n % trailers; t > 0 {
		w.add(0x11a7 + t)
	}
}

// addReordered adds a run of non-starters that are not accents (general
// category other than Mn), which begins at s[i], in canonical order. A run ends
// before the next starter; accents inside it are dropped. It returns the place
// behind the run.
func addReordered[T bytestring](w *WordSplitter, s T, i int) int {
	w.run = w.run[:0]
	for start := i; i < len(s); {
		r, size := decodeRune(s, i)
		c := w.classes.of(r)
		switch action := c & lowerMask; {
		case c&kindMask == kindRemove || action == lowerDrop:
		case action == lowerReorder:
			w.addToRun(r)
		case action == lowerMapTail && i == start:
			for _, m := range mappingOf(r) {
				if w.rules.combiningClass(m) == 0 {
					w.add(m)
				} else {
					w.addToRun(m)
				}
			}
		default:
			w.endRun()
			return i
		}
		i += size
	}
	w.endRun()
	return i
}

// addToRun keeps r for endRun. What the word cannot hold is counted and not
// kept.
func (w *WordSplitter) addToRun(r rune) {
	if w.chars+len(w.run) < w.limit {
		w.run = append(w.run, r)
		return
	}
	w.endRun()
	w.add(r)
}

// endRun adds the run to the word in canonical order.
func (w *WordSplitter) endRun() {
	slices.SortStableFunc(w.run, func(a, b rune) int {
		return cmp.Compare(w.rules.combiningClass(a), w.rules.combiningClass(b))
	})
	for _, r := range w.run {
		w.add(r)
	}
	w.run = w.run[:0]
}

// lowerSigma returns the lower-case form of the capital sigma at s[i].
func lowerSigma[T bytestring](w *WordSplitter, s T, i int) rune {
	if w.rules.finalSigma && isFinalSigma(&w.classes, s, i) {
		return 'ς'
	}
	return 'σ'
}

// isFinalSigma reports whether the capital sigma at s[i] ends a word in the
// sense of the Unicode rule Final_Sigma: a letter with case before it, none
// after it, case-ignorable characters not counted. White space and ideographs
// have no case, so looking beyond the word does no harm. A run of ignorable
// characters is looked at from its two ends at most, so all of a text costs
// linear time.
func isFinalSigma[T bytestring](classes *classTable, s T, i int) bool {
	before := false
	for end := i; end > 0; {
		r, size := decodeLastRune(s, end)
		end -= size
		if c := classes.of(r); !transparent(c) {
			before = c&sigmaMask == sigmaCased
			break
		}
	}
	if !before {
		return false
	}
	for i += len("Σ"); i < len(s); {
		r, size := decodeRune(s, i)
		i += size
		if c := classes.of(r); !transparent(c) {
			return c&sigmaMask != sigmaCased
		}
	}
	return true
}

// transparent reports whether the rule of the final sigma looks through a
// character: deleted before it is applied, or case-ignorable.
func transparent(c class) bool {
	return c&kindMask == kindRemove || c&sigmaMask == sigmaIgnorable
}
