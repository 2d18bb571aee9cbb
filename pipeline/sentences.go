package pipeline

import (
	"iter"

	"pretext/extract"
	"pretext/tokenize/sentence"
)

// Splitters hold a sentence splitter for each language met. They are for one
// goroutine.
type Splitters struct {
	name   string
	byLang map[string]sentence.Splitter
}

// NewSplitters returns the splitters of a name: auto, punkt or newline. With
// auto a line end ends a sentence: documents have a paragraph, heading or list
// item a line. With punkt the whole text is split as NLTK would.
func NewSplitters(name string) *Splitters {
	return &Splitters{name: name, byLang: map[string]sentence.Splitter{}}
}

// For returns the splitter of a language.
func (s *Splitters) For(lang string) (sentence.Splitter, error) {
	if splitter := s.byLang[lang]; splitter != nil {
		return splitter, nil
	}
	splitter, err := sentence.New(s.name, lang)
	if err != nil {
		return nil, err
	}
	if s.name == sentence.Auto {
		splitter = sentence.ByLine(splitter)
	}
	s.byLang[lang] = splitter
	return splitter, nil
}

// sentences turns documents into clean sentences.
type sentences struct {
	splitters *Splitters
	spans     []sentence.Span
	line      []byte
}

// of yields the sentences of a document that are not blank, each valid until
// the next, and at most one error.
func (s *sentences) of(doc *extract.Document) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		splitter, err := s.splitters.For(doc.Lang)
		if err != nil {
			yield(nil, err)
			return
		}
		s.spans = splitter.AppendSpans(s.spans[:0], doc.Text)
		for _, span := range s.spans {
			s.line = sentence.AppendClean(s.line[:0], doc.Text[span.Start:span.End])
			if len(s.line) > 0 && !yield(s.line, nil) {
				return
			}
		}
	}
}
