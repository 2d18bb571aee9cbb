package sharding

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/text/unicode/norm"

	"pretext/tokenize"
	"pretext/tokenize/vocab"
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
		c.words.Add(doc.Text)
	}
	return c.lost(), nil
}

// A markCounter counts the words of a text and their losses.
type markCounter struct {
	words      *vocab.Counts // of words in lower case with their marks
	decomposed []byte
}

func newMarkCounter() (*markCounter, error) {
	keep := false
	splitter, err := tokenize.NewWordSplitter(tokenize.Options{DoLowerCase: true, StripAccents: &keep})
	return &markCounter{words: vocab.CountsOf(splitter)}, err
}

// lost returns the figures of the words counted so far. A word of ASCII alone is equal to
// itself without marks, so it need not be put among the stripped ones.
func (c *markCounter) lost() (lost LostMarks) {
	stripped := map[uint64]bool{} // key: hash of a word beyond ASCII, without its marks
	for word, n := range c.words.All() {
		if !bytes.ContainsFunc(word, unicode.IsLetter) {
			continue
		}
		lost.Types++
		lost.Words += n
		if string(word) == "the" {
			lost.The = n
		}
		if isASCII(word) {
			continue
		}
		if c.strip(word) {
			lost.Losing += n
			if bytes.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) }) {
				lost.Other += n
			}
		}
		sum := xxhash.Sum64(c.decomposed)
		if stripped[sum] || isASCII(c.decomposed) && c.words.Has(c.decomposed) {
			lost.Merged++
		}
		stripped[sum] = true
	}
	return lost
}

// isASCII reports whether a word is of ASCII alone.
func isASCII(word []byte) bool {
	return !bytes.ContainsFunc(word, func(r rune) bool { return r >= utf8.RuneSelf })
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
