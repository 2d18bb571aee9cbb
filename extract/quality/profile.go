package quality

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"pretext/extract"
	"pretext/extract/internal/words"
)

// A profile holds the measures of one document. Each measure is computed when a rule
// first needs it.
type profile struct {
	doc *extract.Document

	haveWords bool
	words     wordFacts
	haveLines bool
	lines     lineFacts
	lower     []byte // current line in lower case
	units     units
	grams     grams
}

func (p *profile) reset(d *extract.Document) {
	p.doc, p.haveWords, p.haveLines = d, false, false
	p.units.known, p.grams.known = false, false
}

// wordFacts holds counts about the words and characters of a document.
type wordFacts struct {
	characters int
	words      int
	spaced     int // words in scripts with spaces
	letters    int // number of characters in the spaced words
	alphabetic int // words with at least one letter
	hashes     int
	ellipses   int
	brackets   int // opening curly brackets
	stopWords  uint
}

// stopWords are the English stop words of Gopher's rule for prose: a text must contain
// two of them.
var stopWords = [...]string{"the", "be", "to", "of", "and", "that", "have", "with"}

func (p *profile) wordFacts() *wordFacts {
	if !p.haveWords {
		p.haveWords, p.words = true, wordFacts{}
		english := p.isEnglish()
		for start, end := range wordsOf(p.doc.Text) {
			p.words.word(p.doc.Text[start:end], english)
		}
		p.words.characters = utf8.RuneCountInString(p.doc.Text)
		p.words.hashes = strings.Count(p.doc.Text, "#")
		p.words.ellipses = strings.Count(p.doc.Text, "...") + strings.Count(p.doc.Text, "…")
		p.words.brackets = strings.Count(p.doc.Text, "{")
	}
	return &p.words
}

func (f *wordFacts) word(w string, english bool) {
	f.words++
	first, n := utf8.DecodeRuneInString(w)
	if words.Spaceless(first) { // a character of a script without spaces is a word
		if unicode.IsLetter(first) {
			f.alphabetic++
		}
		return
	}
	f.spaced++
	f.letters += utf8.RuneCountInString(w)
	if unicode.IsLetter(first) || strings.IndexFunc(w[n:], unicode.IsLetter) >= 0 {
		f.alphabetic++
	}
	if !english || len(w) > 12 {
		return
	}
	bare := strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) })
	for i, s := range stopWords {
		if strings.EqualFold(bare, s) {
			f.stopWords |= 1 << i
		}
	}
}

// isEnglish reports whether a document is in English or its language is
// unknown.
func (p *profile) isEnglish() bool {
	lang := p.baseLang()
	return lang == "" || lang == "en" || lang == "eng" || lang == "simple"
}

// wordsOf yields the start and end of each word, as offsets in text.
func wordsOf(text string) func(func(start, end int) bool) {
	return func(yield func(int, int) bool) {
		start := -1
		for i := 0; i < len(text); {
			r, n := rune(text[i]), 1
			if r >= utf8.RuneSelf {
				r, n = utf8.DecodeRuneInString(text[i:])
			}
			alone := words.Spaceless(r)
			if start >= 0 && (alone || unicode.IsSpace(r)) {
				if !yield(start, i) {
					return
				}
				start = -1
			}
			switch {
			case alone:
				if !yield(i, i+n) {
					return
				}
			case start < 0 && !unicode.IsSpace(r):
				start = i
			}
			i += n
		}
		if start >= 0 {
			yield(start, len(text))
		}
	}
}

// ratio returns n divided by of. ok is false if of is 0.
func ratio(n, of int) (value float64, ok bool) {
	if of == 0 {
		return 0, false
	}
	return float64(n) / float64(of), true
}

func (p *profile) characterCount() (float64, bool) { return float64(p.wordFacts().characters), true }
func (p *profile) wordCount() (float64, bool)      { return float64(p.wordFacts().words), true }
func (p *profile) meanWordLength() (float64, bool) {
	if p.noSpaces() {
		return 0, false
	}
	return ratio(p.wordFacts().letters, p.words.spaced)
}
func (p *profile) hashRatio() (float64, bool) { return ratio(p.wordFacts().hashes, p.words.words) }
func (p *profile) ellipsisRatio() (float64, bool) {
	return ratio(p.wordFacts().ellipses, p.words.words)
}
func (p *profile) alphabeticWords() (float64, bool) {
	return ratio(p.wordFacts().alphabetic, p.words.words)
}
func (p *profile) curlyBrackets() (float64, bool) { return float64(p.wordFacts().brackets), true }
func (p *profile) lineBreaks() (float64, bool) {
	return ratio(strings.Count(p.doc.Text, "\n"), p.wordFacts().words)
}

func (p *profile) stopWordCount() (float64, bool) {
	if !p.isEnglish() {
		return 0, false
	}
	n := 0
	for set := p.wordFacts().stopWords; set != 0; set &= set - 1 {
		n++
	}
	return float64(n), true
}
