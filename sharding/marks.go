package sharding

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"unicode"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/text/unicode/norm"

	"pretext/tokenize"
)

// LostMarks counts the words that an uncased vocabulary changes. With lower-casing,
// Google's tokenizer drops marks (general category Mn, after canonical decomposition). In
// some scripts and languages marks are parts of letters: vowel signs in Hindi, the dots
// of ö.
type LostMarks struct {
	Words  int64 `json:"words"`  // words with at least one letter in the sample
	Losing int64 `json:"losing"` // number of Words that lose a mark
	Other  int64 `json:"other"`  // number of Losing words with a letter of a script other than Latin
	Types  int64 `json:"types"`  // distinct words, in lower case
	Merged int64 `json:"merged"` // types that become equal to another type
	The    int64 `json:"the"`    // words that are "the"
}

// Limits of the changes that an uncased vocabulary may cause.
const (
	// limitLosing is the maximum fraction of words that lose marks. In English dumps
	// it is 0.4 % (names and foreign words), in Dutch ones 1.3 %, in German ones 8 %.
	limitLosing = 0.005
	// limitLosingEnglish replaces limitLosing for English text, if losing words in scripts
	// other than Latin stay below limitLosing. So English articles about foreign places get
	// no warning.
	limitLosingEnglish = 0.02
	// limitMerged is the maximum fraction of types that become equal to another. In
	// English it is 1 %.
	limitMerged = 0.02
	// englishThe is the minimum fraction of "the" among the words of English text. It is
	// 5 to 7 % in English and almost 0 in other languages.
	englishThe = 0.04
)

// English reports whether the text is English, judged by the frequency of "the".
func (m LostMarks) English() bool { return float64(m.The) >= englishThe*float64(m.Words) }

// limit returns the limit of Losing/Words.
func (m LostMarks) limit() float64 {
	if m.English() && float64(m.Other) <= limitLosing*float64(m.Words) {
		return limitLosingEnglish
	}
	return limitLosing
}

// Usual reports whether the text is English and has no more losses than English dumps.
func (m LostMarks) Usual() bool {
	return m.English() && float64(m.Losing) <= limitLosing*float64(m.Words)
}

// TooMany reports whether the losses exceed a limit.
func (m LostMarks) TooMany() bool {
	return float64(m.Losing) > m.limit()*float64(m.Words) || float64(m.Merged) > limitMerged*float64(m.Types)
}

// marksBytes is the size of the sample that [MeasureMarks] reads, in bytes of text.
const marksBytes = 8 << 20

// MeasureMarks measures a sample of the documents: blocks with 8 MiB of text, or
// everything if there is less. The sample depends only on the documents.
func MeasureMarks(ctx context.Context, inputs []DocumentsInput) (LostMarks, error) {
	a := &Assignment{}
	total := 0
	for i, in := range inputs {
		a.Locations = append(a.Locations, in.Location)
		for _, f := range in.Files {
			a.add(unitFile{FileBlocks: FileBlocks{i, f.Name, f.Blocks}, number: len(a.files)}, total)
			total += len(f.Blocks)
		}
	}
	order := a.shuffled(0, total)
	text, n := int64(0), 0
	for ; n < len(order) && text < marksBytes; n++ {
		text += a.text(a.place(order[n].block))
	}
	order = order[:n]
	slices.SortFunc(order, func(x, y dealt) int { return cmp.Compare(x.block, y.block) })
	var list BlockList
	for _, d := range order {
		file, block := a.place(d.block)
		list.add(a.files[file].FileBlocks, block)
	}
	c, err := newMarkCounter()
	if err != nil {
		return LostMarks{}, err
	}
	for doc, err := range list.Documents(ctx, a.Locations, func(int64) {}) {
		if err != nil {
			return LostMarks{}, err
		}
		c.add(doc.Text)
	}
	c.lost.Types = int64(len(c.types))
	c.lost.Merged = c.lost.Types - int64(len(c.stripped))
	return c.lost, nil
}

// A markCounter counts the words of a text and their losses.
type markCounter struct {
	splitter   *tokenize.WordSplitter // converts words to lower case and keeps their marks
	lost       LostMarks
	types      map[uint64]wordLoss // key: hash of a distinct word with its marks
	stripped   map[uint64]bool     // key: hash of a distinct word without its marks
	decomposed []byte
}

// A wordLoss describes whether a word loses marks and, if so, whether it is in Latin
// script.
type wordLoss uint8

const (
	losesNone wordLoss = iota
	losesLatin
	losesOther // it has letters of a script other than Latin
)

func newMarkCounter() (*markCounter, error) {
	keep := false
	splitter, err := tokenize.NewWordSplitter(tokenize.Options{DoLowerCase: true, StripAccents: &keep})
	return &markCounter{splitter: splitter, types: map[uint64]wordLoss{}, stripped: map[uint64]bool{}}, err
}

func (c *markCounter) add(text string) {
	for word := range c.splitter.Words(text) {
		if !bytes.ContainsFunc(word, unicode.IsLetter) {
			continue
		}
		c.lost.Words++
		if string(word) == "the" {
			c.lost.The++
		}
		sum := xxhash.Sum64(word)
		loss, known := c.types[sum]
		if !known {
			if c.strip(word) {
				loss = losesLatin
				if bytes.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) }) {
					loss = losesOther
				}
			}
			c.types[sum] = loss
			c.stripped[xxhash.Sum64(c.decomposed)] = true
		}
		if loss != losesNone {
			c.lost.Losing++
		}
		if loss == losesOther {
			c.lost.Other++
		}
	}
}

// strip sets c.decomposed to the word without its marks, and reports whether it had any.
func (c *markCounter) strip(word []byte) (had bool) {
	c.decomposed = norm.NFD.Append(c.decomposed[:0], word...)
	n := len(c.decomposed)
	c.decomposed = bytes.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, c.decomposed)
	return len(c.decomposed) < n
}
