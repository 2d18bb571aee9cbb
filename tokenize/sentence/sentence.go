// Package sentence splits text into sentences.
//
// There are three splitters, selected by name:
//
//   - punkt: the Punkt algorithm of Kiss and Strunk (Unsupervised Multilingual
//     Sentence Boundary Detection, Computational Linguistics 32(4), 2006) with
//     the parameters of one of 17 languages. Its spans equal those of NLTK's
//     PunktSentenceTokenizer.span_tokenize in the releases 3.8.1, 3.9.x and
//     3.10.0, which give equal results; other releases differ. The well-known
//     BERT recipes use this tokenizer.
//   - newline: every line is a sentence.
//   - auto: Punkt with the parameters of the document's language, or of English
//     if it has none; Chinese, Japanese and Thai are instead split after 。！？
//     and at line ends.
//
// A splitter accepts any text and returns byte spans. [AppendClean] makes a
// sentence of a span:
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
// Punkt treats a line end like a space: it returns a heading without a full
// stop and the paragraph below it as one sentence. Our documents have a
// paragraph, heading or list item on each line. So they are split with
// [ByLine], which ends a sentence at every line end. Without it a splitter
// returns exactly what NLTK returns.
//
// # Concurrency
//
// A [Splitter] has buffers: use one for each goroutine. The first [New] for a
// language loads its parameters, in 5 to 30 ms; all splitters share them.
//
// # Origin of the parameters
//
// The files in params are those trained by Jan Strunk, Willy Su and others for
// NLTK, taken from the JSON files of github.com/neurosnap/sentences v1.1.2,
// without the English sentence starter "she", which NLTK does not have. See
// params/NOTICE.
package sentence

import (
	"fmt"
	"strings"
)

// A Span locates a sentence in a text: bytes Start up to, not including, End.
type Span struct{ Start, End int }

// A Splitter finds the sentences of a text. It must not be used by several
// goroutines at once.
type Splitter interface {
	// AppendSpans appends the spans of the sentences of text to dst, in order.
	// Spans are not empty, do not overlap, begin and end at character
	// boundaries and together cover everything but white space. A span may
	// contain white space at its ends and line ends inside; [AppendClean]
	// normalizes them. Invalid UTF-8 counts as letters.
	AppendSpans(dst []Span, text string) []Span
}

// Names of splitters for [New].
const (
	Auto    = "auto"    // by language: after 。！？ for Chinese, Japanese and Thai, else Punkt
	Punkt   = "punkt"   // Punkt for every language
	Newline = "newline" // every line is a sentence
)

// Check returns an error if there is no splitter with this name. Unlike [New], it does not
// load parameters.
func Check(name string) error {
	switch name {
	case Auto, Punkt, Newline:
		return nil
	}
	return fmt.Errorf("sentence splitter %q: want auto, punkt or newline", name)
}

// New returns the splitter of the given name for texts in a language, given as
// a BCP 47 tag or a Wikipedia code ("de", "pt-BR", "zh-yue", "simple"). A
// language without Punkt parameters, "" included, is split as English. The only
// possible error is an unknown name.
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
	return nil, Check(name)
}

// primary returns the language subtag of a BCP 47 tag or Wikipedia code, in
// lower case.
func primary(lang string) string {
	if i := strings.IndexAny(lang, "-_"); i >= 0 {
		lang = lang[:i]
	}
	return strings.ToLower(lang)
}
