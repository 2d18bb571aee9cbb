package wiki

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"
	"unsafe"

	"pretext/extract"
	"pretext/extract/bzip2"
	"pretext/extract/wiki/facts"
	"pretext/extract/wiki/wikitext"
)

// A Reader turns the pages of a range of a dump into documents. It must not be
// used by several goroutines at once, but several Readers may share a file.
type Reader struct {
	options    Options
	source     string
	dbname     string
	lang       string
	rng        Range
	size       int64
	address    address
	namespaces namespaceTable
	page       wikitext.Page // fields that are the same for all pages
	split      *splitter
	spool      *SpoolReader // source of the pages instead of split; nil: not used
	scanner    *wikitext.Scanner
	z          *bzip2.Reader // nil until the first bzip2 dump
	text       []byte        // text of the last document
	stats      Stats
	used       bool

	rejected extract.Rejected        // describes the current page, in case it is rejected
	onReject func(*extract.Rejected) // nil: no function was set
}

// A Dump is a dump file. Several readers may share it.
type Dump struct {
	File io.ReaderAt
	Size int64  // of the file, in bytes
	Name string // base name of the file; Source of the documents
	Head Head   // what [ReadHead] returned
}

// Wiki returns the name of the wiki: the database name in the head, or else one derived
// from the file name.
func (d Dump) Wiki() string { return cmp.Or(d.Head.DBName, DBName(d.Name)) }

// NewReader returns a reader of the pages that belong to rng ([Range]). The
// options must be valid.
//
// The reader uses about 15 MiB of memory, and up to 64 MiB for pages of the
// maximum size. [Reader.Reset] reuses this memory.
func NewReader(d Dump, rng Range, opts Options) *Reader {
	r := &Reader{options: opts, split: newSplitter(defaultBounds()), scanner: wikitext.NewScanner(opts.Wikitext)}
	r.Reset(d, rng)
	return r
}

// Reset prepares the reader for another range or dump, with the options given
// to [NewReader]. It reuses the reader's memory.
func (r *Reader) Reset(d Dump, rng Range) {
	if d.Head.Compression == CompressionBzip2 && r.z == nil {
		r.z = bzip2.NewReader(nil, 0, bzip2.Range{})
	}
	r.split.reset(openSource(d, rng, r.z))
	r.scanner.ResetTally()
	if cap(r.text) > keptText {
		r.text = nil
	}
	*r = Reader{
		options:    r.options,
		source:     d.Name,
		dbname:     d.Wiki(),
		lang:       cmp.Or(r.options.Language, d.Language()),
		rng:        rng,
		size:       d.Size,
		address:    newAddress(d.Head.Base),
		namespaces: newNamespaceTable(d.Head),
		page:       wikitext.Page{Lang: cmp.Or(r.options.Language, d.Language()), Wiki: d.Wiki(), Template: d.Head.namespace10(), Namespaces: d.Head.names(), CaseSensitive: d.Head.CaseSensitive, Today: dateOf(d.Name)},
		split:      r.split,
		scanner:    r.scanner,
		z:          r.z,
		text:       r.text,
	}
}

// keptText is the maximum capacity, in bytes, of a text buffer that Reset reuses.
const keptText = 4 << 20

// Wiki returns the name of the wiki. The IDs of its documents begin with this name.
func (r *Reader) Wiki() string { return r.dbname }

// OnReject sets the function that is called with each rejected page, in the order
// of the pages. The argument is valid during the call. [Reader.Reset] removes the
// function.
func (r *Reader) OnReject(f func(*extract.Rejected)) { r.onReject = f }

// ReadSpool makes the reader read the pages of its range from a spool instead of the
// dump, until the next [Reader.Reset].
func (r *Reader) ReadSpool(pages *SpoolReader) { r.spool = pages }

// Expand makes the reader expand templates in sentences, with the wiki's own
// definitions from d. It is in effect until the next [Reader.Reset].
func (r *Reader) Expand(d wikitext.Definitions) { r.page.Definitions = d }

// measured records the value, such as a length, for which a page will be rejected.
func (r *Reader) measured(v float64) { r.rejected.Value = &v }

// reject counts a rejected page and reports it.
func (r *Reader) reject(p rawPage, reason extract.Reject) {
	r.stats.reject(reason, 1)
	if r.onReject == nil {
		return
	}
	r.rejected.Reason = reason
	if r.rejected.ID == "" {
		r.rejected.Place = &extract.Place{Source: r.source, Offset: p.offset}
	}
	r.onReject(&r.rejected)
}

// Documents yields the documents of the range in the order of their pages. It
// may be called only once. A document and its strings are valid until the next
// iteration, because the text buffer is reused; use strings.Clone to keep a
// string.
//
// If the file is corrupt or ends inside a page, Documents yields the documents
// before that place, then a [*CorruptError].
func (r *Reader) Documents() iter.Seq2[*extract.Document, error] {
	return func(yield func(*extract.Document, error) bool) {
		if r.used {
			panic("BUG: Documents called twice")
		}
		r.used = true
		var doc extract.Document
		for {
			switch err := r.next(&doc); {
			case err == io.EOF:
				return
			case err != nil:
				yield(nil, fmt.Errorf("read %s: %w", r.source, err))
				return
			case !yield(&doc, nil):
				return
			}
		}
	}
}

// next reads pages until one becomes a document, which it stores in doc. It
// returns io.EOF after the last page.
func (r *Reader) next(doc *extract.Document) error {
	for {
		next := r.split.next
		if r.spool != nil {
			next = r.spool.next
		}
		p, err := next()
		if err != nil {
			return err
		}
		r.stats.Pages++
		r.rejected = extract.Rejected{}
		reject := r.document(doc, p)
		if reject == "" {
			r.stats.Kept++
			return nil
		}
		r.reject(p, reject)
		if p.end == endTruncated {
			return &CorruptError{Offset: r.size, Reason: "file ends inside a page", Err: io.ErrUnexpectedEOF}
		}
	}
}

// document converts the page p to a document in doc, or returns the reason for
// rejecting the page.
func (r *Reader) document(doc *extract.Document, p rawPage) extract.Reject {
	h, title, reject := r.header(p)
	if reject != "" {
		return reject
	}
	src, rev, reject := r.wikitext(p, h)
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
	page := r.page
	if page.Title = title; page.Definitions != nil && page.Today.IsZero() {
		page.Today, _ = time.Parse(time.RFC3339, rev.timestamp)
	}
	r.text = r.scanner.AppendText(r.text[:0], src, page)
	if reject, r.rejected.Value = r.options.RejectText(r.text); reject != "" {
		return reject
	}
	holes, sentences := r.scanner.PageHoles(), countSentences(r.text, r.lang)
	if r.options.MaxHoles < 1 && float64(holes) > r.options.MaxHoles*float64(sentences) {
		r.measured(float64(holes) / float64(sentences))
		return extract.RejectHoles
	}
	r.stats.Holes += int64(holes)
	r.stats.Expanded += int64(r.scanner.PageExpanded())
	for source := range wikitext.Sources() {
		if n := r.scanner.PageUses(source); n > 0 {
			if r.stats.UseCount == nil {
				r.stats.UseCount = facts.Sources{}
			}
			r.stats.UseCount[source.String()] += int64(n)
		}
	}
	r.stats.Sentences += int64(sentences)
	r.stats.TextBytes += int64(len(r.text))
	*doc = extract.Document{
		ID:     r.rejected.ID,
		Title:  title,
		Text:   unsafe.String(unsafe.SliceData(r.text), len(r.text)), // no copy, see Documents
		Source: r.source,
		Lang:   r.lang,

		URL: r.address.of(title), Revision: rev.id, Timestamp: rev.timestamp, License: r.address.license,
	}
	return ""
}

// sentenceEnds are marks that end sentences besides ".", "?" and "!", by
// language.
var sentenceEnds = map[string][]byte{"zh": []byte("。"), "ja": []byte("。"), "yue": []byte("。"), "wuu": []byte("。"), "gan": []byte("。"), "lzh": []byte("。"),
	"hi": []byte("।"), "bn": []byte("।"), "ne": []byte("।"), "mai": []byte("।"), "sa": []byte("।"), "or": []byte("।"), "pa": []byte("।"), "ur": []byte("۔")}

// countSentences estimates the number of sentences in a text. It counts the marks that
// end sentences in the language, but at least one sentence per line.
func countSentences(text []byte, lang string) int {
	lines, marks := 1+bytes.Count(text, []byte{'\n'}), 0
	for _, mark := range []byte(".?!") {
		marks += bytes.Count(text, []byte{mark})
	}
	if mark := sentenceEnds[lang]; mark != nil {
		marks += bytes.Count(text, mark)
	}
	return max(lines, marks)
}

func (r *Reader) pageID(id int64) string {
	return r.dbname + ":" + strconv.FormatInt(id, 10)
}

// dropInvalid removes invalid UTF-8 from b in place and counts the removed
// bytes. b is the title or wikitext of the page p with the given ID.
func (r *Reader) dropInvalid(b []byte, id int64, p rawPage) []byte {
	b, dropped, first := dropInvalid(b)
	if dropped > 0 {
		r.stats.InvalidUTF8 += int64(dropped)
		if len(r.stats.InvalidPlaces) < maxPlaces {
			r.stats.InvalidPlaces = append(r.stats.InvalidPlaces, Place{Page: r.pageID(id), Offset: p.offset, Byte: first})
		}
	}
	return b
}

// Stats returns the counts so far. After Documents has ended, they are the
// counts of the whole range.
func (r *Reader) Stats() Stats {
	s := r.stats.clone()
	s.Bytes, s.XMLBytes, s.Footers = r.rng.End-r.rng.Start, r.split.owned, r.split.footers
	if r.spool != nil {
		s.XMLBytes, s.Footers = r.spool.r.owned, r.spool.r.footers
	}
	for name, n := range r.scanner.Dropped() {
		if len(s.Templates) == maxTemplates {
			s.TemplatesSlack = int64(n) // count of the most frequent template that was not included
			break
		}
		s.template(name, int64(n))
	}
	s.TemplatesSlack += int64(r.scanner.Tally().Slack())
	s.ModuleCalls = int64(r.scanner.ModuleCalls())
	for reason, n := range r.scanner.ModuleFailures() {
		s.moduleFailure(ModuleFailure(reason), int64(n))
	}
	for what, n := range r.scanner.ModuleAssumptions() {
		s.moduleAssumption(ModuleAssumption(what), int64(n))
	}
	for name, h := range r.scanner.Holes() {
		if len(s.HoleUses) == maxHoles {
			break
		}
		s.hole(name, facts.Hole{Uses: int64(h.Uses), First: h.First})
	}
	for source := range wikitext.Sources() {
		for name, n := range r.scanner.Uses(source) {
			s.use(name, facts.Sources{source.String(): int64(n)})
		}
	}
	s.trimUses()
	return s
}
