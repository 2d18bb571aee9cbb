// Package sentence splits text into sentences.
//
// Three splitters exist, chosen by name:
//
//   - punkt: the Punkt algorithm of Kiss and Strunk (Unsupervised Multilingual
//     Sentence Boundary Detection, Computational Linguistics 32(4), 2006) with
//     the parameters of one of 17 languages. Its spans equal those of NLTK's
//     PunktSentenceTokenizer.span_tokenize in the releases 3.8.1, 3.9.x and
//     3.10.0, which all decide alike; earlier and later releases differ among
//     each other. This is what the well-known BERT recipes call.
//   - newline: every line is a sentence.
//   - auto: Punkt with the parameters of the document's language, English
//     where a language has none; Chinese, Japanese and Thai are instead
//     split after 。！？ and at line ends.
//
// A splitter works on any text and gives byte spans of it; what makes a
// sentence out of a span is [AppendClean]:
//
//	s, err := sentence.New("auto", doc.Lang)
//	if err != nil {
//		return err
//	}
//	s = sentence.ByLine(s)
//	spans = s.AppendSpans(spans[:0], doc.Text)
//	for _, span := range spans {
//		line = sentence.AppendClean(line[:0], doc.Text[span.Start:span.End])
//		if len(line) == 0 {
//			continue // only white space
//		}
//		use(line)
//	}
//
// # Lines
//
// Punkt by itself sees no difference between a line end and a space: given a
// heading without a full stop and the paragraph below it, it returns one
// sentence. Documents here have a paragraph, heading or list item on each
// line, so they are split with [ByLine], where a line end always ends a
// sentence. Without it a splitter gives exactly what NLTK gives.
//
// # Sharing
//
// A [Splitter] keeps scratch memory: one per goroutine. The parameters of a
// language are loaded by the first [New] that asks for them, in some 5 to 30 ms, never change
// afterwards and are shared by all its splitters.
//
// # Origin of the parameters
//
// The files in params are those trained by Jan Strunk, Willy Su and others
// for NLTK, taken from the JSON of github.com/neurosnap/sentences v1.1.2, less
// the English sentence starter "she", which NLTK does not have. See
// params/NOTICE.
package sentence

import (
	"fmt"
	"strings"
)

// A Span locates a sentence in a text: bytes Start up to, not including, End.
type Span struct{ Start, End int }

// A Splitter finds the sentences of a text. It may keep scratch memory and is
// used by one goroutine at a time.
type Splitter interface {
	// AppendSpans appends the spans of the sentences of text to dst, in order.
	// They do not overlap, are not empty, lie on character boundaries and
	// between them cover all that is not white space. White space may remain
	// at the edges of a span and inside it; see [AppendClean]. Invalid UTF-8
	// is taken as letters.
	AppendSpans(dst []Span, text string) []Span
}

// Names of splitters for [New].
const (
	Auto    = "auto"    // by language: Punkt, or 。！？ for Chinese, Japanese and Thai
	Punkt   = "punkt"   // Punkt for every language
	Newline = "newline" // a line is a sentence
)

// New returns a splitter by name for texts in a language, given as a BCP 47 tag
// or a Wikipedia code ("de", "pt-BR", "zh-yue", "simple"). A language without
// Punkt parameters, "" included, is split as English is. An error is an
// unknown name, nothing else.
func New(name, lang string) (Splitter, error) {
	switch name {
	case Newline:
		return newlines{}, nil
	case Punkt:
		return newPunkt(lang), nil
	case Auto:
		if hasFullWidthStops(lang) {
			return fullWidth{}, nil
		}
		return newPunkt(lang), nil
	}
	return nil, fmt.Errorf("sentence splitter %q: want auto, punkt or newline", name)
}

// primary returns the lower-case language subtag of a tag or wiki code.
func primary(lang string) string {
	if i := strings.IndexAny(lang, "-_"); i >= 0 {
		lang = lang[:i]
	}
	return strings.ToLower(lang)
}
