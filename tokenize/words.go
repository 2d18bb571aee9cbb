package tokenize

import (
	"cmp"
	"iter"
	"slices"
	"unicode/utf8"
)

// A WordSplitter splits text into the words that WordPiece then splits into
// tokens (the basic tokens of the reference). It cleans the text, makes each
// ideograph and each punctuation character a word by itself, and in uncased
// mode lower-cases words and removes accents. Vocabularies are trained on these
// words.
//
// The rules are those of the profile in its options, except that no profile
// keeps special tokens whole: "[MASK]" in the text is split like other text.
//
// A WordSplitter must not be used by several goroutines at once.
type WordSplitter struct {
	changes class // bits of a class that, if all are 0, mean that a character stays unchanged
	limit   int   // maximum number of characters in word
	rules   *rules
	classes classTable // copy of rules.classes, for speed

	cuts  *cuts  // of [WordSplitter.Words]; nil before its first use
	lower uint64 // 0x20 in every byte if letters become lower-case, else 0

	word  []byte // current word, normalized, valid UTF-8
	chars int    // number of characters of the current word; word holds only the first limit of them
	run   []rune // buffer for canonical ordering
}

// NewWordSplitter returns a splitter for the given options.
func NewWordSplitter(o Options) (*WordSplitter, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return newWordSplitter(o, newRules(o)), nil
}

func newWordSplitter(o Options, r *rules) *WordSplitter {
	w := &WordSplitter{changes: kindMask, limit: o.MaxChars(), rules: r, classes: r.classes}
	if o.DoLowerCase || o.StripsAccents() {
		w.changes |= lowerMask
	}
	if o.DoLowerCase {
		w.lower = bytes20
	}
	return w
}

// Words yields the words of text in order. Words of more than
// [Options.MaxCharsPerWord] characters are omitted, because a model sees only
// [UNK] for them. The slice is valid until the next word.
func (w *WordSplitter) Words(text string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if w.cuts == nil {
			w.cuts = new(cuts)
		}
		for i, ok := 0, true; ok && i < len(text); {
			parts, length := take(w.cuts, text[i:], w.lower)
			end := 0
			if length == 0 { // the first part is longer than a stretch
				end, ok = w.eachWord(text, i, 0, stretchBytes, yield)
			} else {
				end, ok = w.eachPart(text, i, parts, yield)
			}
			i += max(length, end)
		}
	}
}

// eachPart yields the words of the first parts of w.cuts, whose text begins at text[base],
// until yield returns false. end is that of eachWord for the last part that is not an
// ASCII word.
func (w *WordSplitter) eachPart(text string, base, parts int, yield func([]byte) bool) (end int, ok bool) {
	c := w.cuts
	other := c.nextOther(0)
	for k := range parts {
		from, to := int(c.starts[k]), int(c.ends[k])
		if to <= other && end <= from { // a word or a punctuation character, of ASCII alone
			if to-from <= w.limit && !yield(c.text[from:to]) {
				return 0, false
			}
			continue
		}
		if end, ok = w.eachWord(text, base, max(from, end), to, yield); !ok {
			return 0, false
		}
		other = c.nextOther(to)
	}
	return end, true
}

// eachWord yields the words that begin between text[base+from] and text[base+to], until
// yield returns false. It returns the end of the last word minus base, which may be above
// to, because deleted characters join words.
func (w *WordSplitter) eachWord(text string, base, from, to int, yield func([]byte) bool) (end int, ok bool) {
	for from < to && base+from < len(text) {
		from = nextWord(w, text, base+from) - base
		if 0 < w.chars && w.chars <= w.limit && !yield(w.word) {
			return from, false
		}
	}
	return from, true
}

// AppendWords appends the words of text to dst.
func (w *WordSplitter) AppendWords(dst []string, text string) []string {
	for word := range w.Words(text) {
		dst = append(dst, string(word))
	}
	return dst
}

// nextWord reads the next word of s at or after i into w and returns the position after it.
// At the end of s the word is empty.
//
// The reference cleans the whole text, then separates ideographs, splits at
// white space, lower-cases, decomposes and removes accents, and splits at
// punctuation. Each of these steps needs only one character, so this function
// applies all of them to one character after the other. Exceptions are a
// capital sigma and the non-starters that are kept, which depend on their
// neighbours (isFinalSigma, addReordered).
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
				w.word = appendChar(w.word, s[i:i+size])
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

// appendChar appends char, the UTF-8 bytes of one character.
func appendChar[T bytestring](dst []byte, char T) []byte {
	switch len(char) {
	case 1:
		return append(dst, char[0])
	case 2:
		return append(dst, char[0], char[1])
	case 3:
		return append(dst, char[0], char[1], char[2])
	}
	return append(dst, char...)
}

// add adds a character to the word.
func (w *WordSplitter) add(r rune) {
	if w.chars < w.limit {
		w.word = utf8.AppendRune(w.word, r)
	}
	w.chars++
}

// addAlone adds r, an ideograph or punctuation character that is a word by itself. In
// uncased mode it adds the uncased form. c is the class of r.
func (w *WordSplitter) addAlone(r rune, c class) {
	if c&w.changes&lowerMask == lowerSame {
		w.add(r)
		return
	}
	w.addLowered(r, c)
}

// addLowered adds the uncased form of r, whose class is c.
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

// Hangul syllables are numbered by their jamo (letters). Each syllable has one of 28
// trailing consonants; the first of these means that there is none.
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

// addReordered adds a run of non-starters (characters with a
// Canonical_Combining_Class other than 0) outside general category Mn, which
// begins at s[i], in canonical order. The run ends before the next starter;
// accents (Mn) inside it are dropped. It returns the position after the run.
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

// addToRun adds r to the run that endRun will order. Characters beyond the word limit are
// counted but not stored.
func (w *WordSplitter) addToRun(r rune) {
	if w.chars+len(w.run) < w.limit {
		w.run = append(w.run, r)
		return
	}
	w.endRun()
	w.add(r)
}

// endRun adds the characters of the run to the word in canonical order and
// empties the run.
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

// isFinalSigma reports whether the capital sigma at s[i] is final by the
// Unicode rule Final_Sigma: skipping case-ignorable characters, there is a
// cased letter before it and none after it. White space and ideographs have no
// case, so the search need not stop at the ends of the word. A run of ignorable
// characters is visited at most from its two ends, so time is linear.
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

// transparent reports whether the final sigma rule skips characters of class c,
// because they are deleted or case-ignorable.
func transparent(c class) bool {
	return c&kindMask == kindRemove || c&sigmaMask == sigmaIgnorable
}
