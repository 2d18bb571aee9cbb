package sentence

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// paramFiles holds a packed file for each language; the command internal/genpunkt
// writes them and documents their format.
//
//go:embed params/*.gz
var paramFiles embed.FS

// A wordInfo is a set of bits that describe a word: how and where it was capitalized in the
// training text (bits 1 to 6, as in NLTK), and which parameter lists contain it.
type wordInfo uint16

const (
	beginUpper  wordInfo = 1 << 1 // occurred capitalized at the beginning of a sentence
	middleUpper wordInfo = 1 << 2 // occurred capitalized inside a sentence
	unsureUpper wordInfo = 1 << 3 // occurred capitalized where the position was unclear
	beginLower  wordInfo = 1 << 4 // occurred in lower case at the beginning of a sentence
	middleLower wordInfo = 1 << 5
	unsureLower wordInfo = 1 << 6
	anyUpper             = beginUpper | middleUpper | unsureUpper
	anyLower             = beginLower | middleLower | unsureLower

	abbreviation wordInfo = 1 << 8  // written with a full stop that does not end a sentence
	starter      wordInfo = 1 << 9  // frequent at the start of a sentence
	pairFirst    wordInfo = 1 << 10 // first word of a collocation
	pairSecond   wordInfo = 1 << 11 // second word of a collocation
)

// parameters are the Punkt parameters of a language. They are immutable.
type parameters struct {
	words map[string]wordInfo // by lower-case word
	pairs map[string]struct{} // collocations, "first\tsecond"

	// abbrLengths is a filter that rejects most words without a map lookup. It is indexed
	// by the last byte of a word; bit min(length, 63) is set if an abbreviation has this
	// last byte and length.
	abbrLengths [256]uint64
}

// A language is a language with Punkt parameters, which are loaded on first use.
type language struct {
	code string // ISO 639-1
	name string // name of its parameter file, without ".gz"
	load func() (*parameters, error)
}

// languages lists the languages with Punkt parameters, sorted by code. The load
// functions cache the parameters.
var languages = makeLanguages(
	"cs", "czech", "da", "danish", "de", "german", "el", "greek", "en", "english", "es", "spanish",
	"et", "estonian", "fi", "finnish", "fr", "french", "it", "italian", "nl", "dutch", "no", "norwegian",
	"pl", "polish", "pt", "portuguese", "sl", "slovene", "sv", "swedish", "tr", "turkish",
)

func makeLanguages(codesAndNames ...string) []language {
	var list []language
	for pair := range slices.Chunk(codesAndNames, 2) {
		name := pair[1]
		list = append(list, language{pair[0], name, sync.OnceValues(func() (*parameters, error) { return loadParameters(name) })})
	}
	return list
}

// Languages returns the ISO 639-1 codes of the languages with Punkt parameters,
// sorted.
func Languages() []string {
	codes := make([]string, len(languages))
	for i, l := range languages {
		codes[i] = l.code
	}
	return codes
}

// punktLanguage returns the code, one of [Languages], of the parameters that Punkt uses for
// texts in lang: the code of lang itself if it has parameters, else "en". Both written
// forms of Norwegian (nb, nn) use "no"; the Simple English Wikipedia (simple) uses "en".
func punktLanguage(lang string) string {
	code := primary(lang)
	switch code {
	case "nb", "nn":
		return "no"
	}
	if slices.ContainsFunc(languages, func(l language) bool { return l.code == code }) {
		return code
	}
	return "en"
}

// HasPunkt reports whether Punkt has parameters for texts in lang. If not, they
// are split as English.
func HasPunkt(lang string) bool {
	code := primary(lang)
	return punktLanguage(lang) != "en" || code == "en" || code == "simple"
}

// parametersOf returns the parameters for texts in lang.
func parametersOf(lang string) *parameters {
	code := punktLanguage(lang)
	for _, l := range languages {
		if l.code == code {
			p, err := l.load()
			if err != nil {
				panic("BUG: embedded Punkt parameters: " + err.Error())
			}
			return p
		}
	}
	panic("BUG: no language " + code)
}

func loadParameters(name string) (*parameters, error) {
	packed, err := paramFiles.ReadFile("params/" + name + ".gz")
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	var text strings.Builder
	if _, err := io.Copy(&text, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	p, err := parseParameters(text.String())
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	return p, nil
}

// parseParameters parses an unpacked parameter file. The words are substrings
// of text, so all of text stays in memory.
func parseParameters(text string) (*parameters, error) {
	p := &parameters{
		words: make(map[string]wordInfo, strings.Count(text, "\no ")+512),
		pairs: make(map[string]struct{}, 64),
	}
	for line := range strings.Lines(text) {
		if err := p.add(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *parameters) add(line string) error {
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case "a":
		if rest == "" {
			return fmt.Errorf("line %q: want a word", line)
		}
		p.words[rest] |= abbreviation
		p.abbrLengths[rest[len(rest)-1]] |= lengthBit(len(rest))
	case "s":
		p.words[rest] |= starter
	case "o":
		digits, word, ok := strings.Cut(rest, " ")
		contexts, err := strconv.ParseUint(digits, 16, 7)
		if !ok || err != nil {
			return fmt.Errorf("line %q: want two hexadecimal digits and a word", line)
		}
		p.words[word] |= wordInfo(contexts)
	case "c":
		first, second, ok := strings.Cut(rest, "\t")
		if !ok {
			return fmt.Errorf("line %q: want two words", line)
		}
		p.words[first] |= pairFirst
		p.words[second] |= pairSecond
		p.pairs[rest] = struct{}{}
	default:
		return fmt.Errorf("line %q: unknown kind", line)
	}
	return nil
}

func lengthBit(length int) uint64 { return 1 << min(length, 63) }

// isAbbreviation reports whether a lower-case word, without its full stop, is
// an abbreviation.
func (p *parameters) isAbbreviation(word []byte) bool {
	n := len(word)
	return n > 0 && p.abbrLengths[word[n-1]]&lengthBit(n) != 0 && p.words[string(word)]&abbreviation != 0
}
