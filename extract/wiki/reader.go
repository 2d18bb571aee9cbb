package wiki

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"pretext/extract"
	"pretext/extract/wiki/wikitext"
)

// A Reader turns the pages of a range of a dump into documents. It is not safe
// for concurrent use; any number of Readers may share a file.
type Reader struct {
	options    Options
	source     string
	dbname     string
	lang       string
	rng        Range
	size       int64
	namespaces namespaceTable
	split      *splitter
	scanner    *wikitext.Scanner
	text       []byte // of the document last given
	stats      Stats
	used       bool
}

// NewReader returns a reader of the pages that rng of a dump of size bytes owns.
// head is what [ReadHead] said of the dump, opts have been validated, and source
// is the base name of the file, which documents bear as their source.
//
// The reader holds some 15 MiB, and up to 64 MiB while it meets pages of the
// greatest length allowed.
func NewReader(r io.ReaderAt, size int64, rng Range, head Head, opts Options, source string) *Reader {
	rd := &Reader{
		options:    opts,
		source:     source,
		dbname:     head.DBName,
		lang:       head.Lang,
		rng:        rng,
		size:       size,
		namespaces: newNamespaceTable(head),
		split:      newSplitter(openSource(r, size, rng, head), defaultBounds()),
		scanner:    wikitext.NewScanner(opts.Wikitext),
	}
	if rd.dbname == "" {
		rd.dbname = DBName(source)
	}
	if opts.Language != "" {
		rd.lang = opts.Language
	}
	return rd
}

// Documents returns the documents of the range in the order of their pages. It
// can be gone through once. A document, with the strings in it, is valid until
// the next step: its text lies in a buffer that is used again, so keep a
// strings.Clone of what must live longer.
//
// Damage of the file ends the sequence with a [*CorruptError] after the pages
// before it, and so does a file that ends inside a page.
func (r *Reader) Documents() iter.Seq2[*extract.Document, error] {
	return func(yield func(*extract.Document, error) bool) {
		if r.used {
			panic("BUG: the documents of a range are asked for twice")
		}
		r.used = true
		var doc extract.Document
		for {
			p, err := r.split.next()
			if err == io.EOF {
				return
			}
			if err == nil {
				r.stats.Pages++
				reject := r.document(&doc, p)
				if reject == "" {
					r.stats.Kept++
					if !yield(&doc, nil) {
						return
					}
					continue
				}
				r.stats.reject(reject, 1)
				if p.end != endTruncated {
					continue
				}
				err = &CorruptError{Offset: r.size, Reason: "file ends inside a page", Err: io.ErrUnexpectedEOF}
			}
			yield(nil, fmt.Errorf("read %s: %w", r.source, err))
			return
		}
	}
}

// document makes a document of a page, or says why not.
func (r *Reader) document(doc *extract.Document, p rawPage) extract.Reject {
	h, title, reject := r.header(p)
	if reject != "" {
		return reject
	}
	src, reject := r.wikitext(p, h)
	switch {
	case reject != "":
		return reject
	case len(bytes.TrimSpace(src)) == 0:
		return extract.RejectEmpty
	case wikitext.IsRedirect(src):
		return extract.RejectRedirect
	case !r.options.KeepDisambiguations && wikitext.IsDisambiguation(src):
		return extract.RejectDisambiguation
	}
	r.text = r.scanner.AppendText(r.text[:0], src, wikitext.Page{Title: title, Lang: r.lang})
	switch {
	case len(r.text) == 0:
		return extract.RejectEmpty
	case len(r.text) > extract.MaxDocumentBytes:
		return extract.RejectTooLarge
	case r.options.MinCharacters > 0 && utf8.RuneCount(r.text) < r.options.MinCharacters:
		return extract.RejectTooShort
	}
	r.stats.TextBytes += int64(len(r.text))
	*doc = extract.Document{
		ID:     r.pageID(h.id),
		Title:  title,
		Text:   unsafe.String(unsafe.SliceData(r.text), len(r.text)), // no copy: Documents says how long it lives
		Source: r.source,
		Lang:   r.lang,
	}
	return ""
}

func (r *Reader) pageID(id int64) string {
	return r.dbname + ":" + strconv.FormatInt(id, 10)
}

// countInvalid counts bytes dropped from a page, the first of which stood at
// byte at of its title or wikitext.
func (r *Reader) countInvalid(dropped int, id, offset int64, at int) {
	if dropped == 0 {
		return
	}
	r.stats.InvalidUTF8 += int64(dropped)
	if len(r.stats.InvalidPlaces) < maxPlaces {
		r.stats.InvalidPlaces = append(r.stats.InvalidPlaces, Place{Page: r.pageID(id), Offset: offset, Byte: at})
	}
}

// Stats returns the counts so far: those of the whole range once Documents has
// come to its end.
func (r *Reader) Stats() Stats {
	s := r.stats.clone()
	s.Bytes, s.XMLBytes, s.Footers = r.rng.End-r.rng.Start, r.split.owned, r.split.footers
	for name, n := range r.scanner.Dropped() {
		if len(s.Templates) == maxTemplates {
			s.TemplatesSlack = int64(n) // the most frequent that is left out: they come by frequency
			break
		}
		s.template(name, int64(n))
	}
	s.TemplatesSlack += int64(r.scanner.Tally().Slack())
	return s
}
