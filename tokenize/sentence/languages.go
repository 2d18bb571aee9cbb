package sentence

import "iter"

// A LanguageSplitter splits texts of several languages, with a cached [Splitter] for each
// language. It must not be used by several goroutines at once.
type LanguageSplitter struct {
	name   string
	byLang map[string]Splitter
	spans  []Span
	line   []byte
}

// NewLanguageSplitter returns a LanguageSplitter that uses the splitter with the given name
// (see [New]) for every language. With the name auto, sentences also end at each line end,
// because documents have one paragraph, heading or list item on each line. With the name
// punkt, they do not, as in NLTK. If the name is unknown, [LanguageSplitter.For] returns an
// error.
func NewLanguageSplitter(name string) *LanguageSplitter {
	return &LanguageSplitter{name: name, byLang: map[string]Splitter{}}
}

// For returns the splitter for texts in lang. The only possible error is an unknown name in
// [NewLanguageSplitter].
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

// Sentences yields the sentences of a text in lang, normalized by
// [AppendClean], without blank sentences. A slice is valid until the next
// iteration. After an error it yields nothing more.
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
