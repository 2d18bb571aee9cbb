package sentence

import "iter"

// A LanguageSplitter splits texts of several languages: it keeps a [Splitter] for
// each. It must not be used by several goroutines at once.
type LanguageSplitter struct {
	name   string
	byLang map[string]Splitter
	spans  []Span
	line   []byte
}

// NewLanguageSplitter returns the splitters of a name, see [New], as records are made
// with them: auto also ends a sentence at each line end, because documents have one
// paragraph, heading or list item per line. Punkt decides over the whole text, as
// NLTK does.
func NewLanguageSplitter(name string) *LanguageSplitter {
	return &LanguageSplitter{name: name, byLang: map[string]Splitter{}}
}

// For returns the splitter of a language. The only possible error is an unknown name.
func (s *LanguageSplitter) For(lang string) (Splitter, error) {
	if splitter := s.byLang[lang]; splitter != nil {
		return splitter, nil
	}
	splitter, err := New(s.name, lang)
	if err != nil {
		return nil, err
	}
	if s.name == Auto {
		splitter = ByLine(splitter)
	}
	s.byLang[lang] = splitter
	return splitter, nil
}

// Sentences yields the cleaned sentences of a text, see [AppendClean], without blank
// ones. Each is valid until the next. An error ends it.
func (s *LanguageSplitter) Sentences(text, lang string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		splitter, err := s.For(lang)
		if err != nil {
			yield(nil, err)
			return
		}
		s.spans = splitter.AppendSpans(s.spans[:0], text)
		for _, span := range s.spans {
			s.line = AppendClean(s.line[:0], text[span.Start:span.End])
			if len(s.line) > 0 && !yield(s.line, nil) {
				return
			}
		}
	}
}
