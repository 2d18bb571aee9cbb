package text

import (
	"bufio"
	"io"

	"pretext/extract"
)

// Limits of the fields other than the text, in bytes. A line with a longer ID is
// malformed; other fields are truncated.
const (
	maxIDBytes    = 1 << 10
	maxFieldBytes = 4 << 10
)

// jsonLine holds the fields of the line that is being parsed.
type jsonLine struct {
	text    []byte
	id      []byte
	hasText bool
	tooLong bool // the text is too large and was not stored
	badID   bool // the ID is too long
	outer   labels
	inner   labels // the fields in "metadata"
	key     []byte
}

// labels are the optional fields of a document, which may be at the top level
// or in "metadata".
type labels struct{ title, source, lang, similarTo []byte }

// empty returns labels without values that reuse the memory of l.
func (l labels) empty() labels {
	return labels{l.title[:0], l.source[:0], l.lang[:0], l.similarTo[:0]}
}

func (l *jsonLine) reset() {
	*l = jsonLine{
		text: l.text[:0], id: l.id[:0], key: l.key[:0],
		outer: l.outer.empty(),
		inner: l.inner.empty(),
	}
}

// readJSON reads a source of JSON lines.
func (r *Reader) readJSON(src io.Reader) error {
	in := bufio.NewReaderSize(src, readBytes)
	if head, err := in.Peek(3); err == nil && string(head) == "\xEF\xBB\xBF" {
		if _, err := in.Discard(3); err != nil {
			return err
		}
	}
	s := new(jsonScanner)
	for {
		*s = jsonScanner{in: in, limit: r.limit, line: &r.json, text: r.opts.field()}
		r.json.reset()
		ok, blank := s.object()
		s.skipLine()
		if s.err != nil && s.err != io.EOF {
			return s.err
		}
		if s.err == io.EOF && s.empty {
			return nil
		}
		if err := r.endJSON(ok, blank); err != nil {
			return err
		}
		if s.err == io.EOF {
			return nil
		}
	}
}

// endJSON yields the document of a parsed line, or rejects the line. ok and blank are
// the results of jsonScanner.object.
func (r *Reader) endJSON(ok, blank bool) error {
	l := &r.json
	defer r.nextLine()
	switch {
	case blank:
		return nil
	case !ok || !l.hasText || l.badID:
		r.reject(extract.RejectMalformed, r.current)
		r.stats.Malformed = appendPlace(r.stats.Malformed, r.current)
		return nil
	case l.tooLong:
		r.reject(extract.RejectTooLarge, r.current)
		return nil
	}
	valid, dropped := l.text, 0
	if n := invalidAt(l.text); n < len(l.text) {
		valid, dropped = AppendValid(l.text[:n], l.text[n:])
	}
	r.countInvalid(dropped)
	valid = Strip(valid)
	if len(valid) == 0 {
		r.reject(extract.RejectEmpty, r.current)
		return nil
	}
	return r.emit(r.jsonDocument(valid))
}

func (r *Reader) jsonDocument(text []byte) *extract.Document {
	l := &r.json
	doc := &extract.Document{
		ID:     label(l.id, nil),
		Title:  label(l.outer.title, l.inner.title),
		Text:   string(text),
		Source: label(l.outer.source, l.inner.source),
		Lang:   label(l.outer.lang, l.inner.lang),

		SimilarTo: label(nil, l.inner.similarTo),
	}
	if doc.ID == "" {
		doc.ID = textID(text)
	}
	if doc.Source == "" {
		doc.Source = baseName(r.current.File)
	}
	if doc.Lang == "" {
		doc.Lang = r.opts.Lang
	}
	return doc
}

// label returns outer or, if outer is empty, inner. The result is valid UTF-8 without
// white space at its ends.
func label(outer, inner []byte) string {
	for _, b := range [2][]byte{outer, inner} {
		valid, _ := AppendValid(nil, b)
		if valid = Strip(valid); len(valid) > 0 {
			return string(valid)
		}
	}
	return ""
}
