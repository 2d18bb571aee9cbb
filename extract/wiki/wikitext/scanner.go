package wikitext

import (
	"bytes"
	"iter"
)

// A Page is the page information that the text may depend on, besides the
// wikitext.
type Page struct {
	Title string // for {{PAGENAME}}; may be empty
	Lang  string // code of the wiki's language, "en"; may be empty
}

// A Scanner converts wikitext to plain text. It reuses its buffers; results do
// not depend on earlier pages. It must not be used by several goroutines at
// once.
type Scanner struct {
	opt     Options
	dropped Tally

	src      []byte // the page without its comments
	page     Page
	special  specialMap
	mode     mode   // of the inline scan
	variants uint16 // classVariant if the language has variants

	output // the text so far, see seam.go
	quotes // bold and italics of the source line, see quotes.go
	heads  pendingHeadings
	finder // where constructs end, see braces.go, tables.go, links.go, exttags.go

	names    nameCache         // resolved template names
	entities map[string]string // character references met so far, by name
	args     []argument        // of the templates being rendered, a stack
	clean    []byte            // scratch: a page without its comments
	name     []byte            // scratch: a folded name
	aside    []byte            // text rendered aside, a stack
	depth    int               // templates and parameters being rendered
	prefix   []byte            // list markers of the line before, ; as :
	residue  bool              // a dropped template may have opened a table
	stray    int               // closing braces to drop after the current template
	tags     int               // HTML tags open on the line of a definition list
	freeURL  int               // a URL in the plain text of that line ends here
	poemEnd  int               // where the <poem> being rendered ends
	divs     int               // HTML elements open that are lines of their own
	pre      bool              // a <pre> is open that is never closed: lines are just lines
}

// NewScanner returns a scanner. Options must be valid ([Options.Validate]);
// otherwise it panics.
func NewScanner(o Options) *Scanner {
	if err := o.Validate(); err != nil {
		panic("BUG: wikitext options: " + err.Error())
	}
	return &Scanner{opt: o}
}

// AppendText appends the plain text of a page to dst and returns the extended
// slice. src is wikitext as an editor sees it: XML entities of the dump must be
// decoded. src need not be valid UTF-8; if it is, so is the text.
//
// The text has no empty lines and no surrounding white space. A redirect has no
// text.
func (s *Scanner) AppendText(dst, src []byte, page Page) []byte {
	s.work = 0
	if IsRedirect(src) {
		return dst
	}
	s.start(dst, s.withoutComments(src[:min(len(src), maxPage)]), page)
	s.blocks(0, len(s.src))
	return s.finish()
}

// start makes the scanner ready for a page.
func (s *Scanner) start(dst, src []byte, page Page) {
	s.src, s.page, s.variants = src, page, 0
	if hasVariants(page.Lang) {
		s.variants = classVariant
	}
	s.special = s.special.mark(src)
	s.output = output{out: dst, base: len(dst), line: len(dst), bol: true}
	s.quotes.reset(len(dst))
	s.heads.reset()
	s.finder.reset(len(src))
	s.args, s.prefix, s.aside = s.args[:0], s.prefix[:0], s.aside[:0]
	s.depth, s.residue, s.stray, s.tags, s.freeURL, s.poemEnd, s.divs, s.pre = 0, false, 0, 0, 0, 0, 0, false
}

// finish returns the text without trailing white space, and releases the
// caller's memory.
func (s *Scanner) finish() []byte {
	out := s.out[:s.base+len(bytes.TrimRight(s.out[s.base:], " \t\r\n"))]
	s.src, s.out, s.page = nil, nil, Page{}
	return out
}

// Dropped yields the names of the templates that were dropped because the
// scanner does not know them, with the number of uses so far, the most frequent
// first. Names are folded to lower case.
func (s *Scanner) Dropped() iter.Seq2[string, int] { return s.dropped.All() }

// Tally returns the counts behind [Scanner.Dropped]. It changes with the next page.
func (s *Scanner) Tally() *Tally { return &s.dropped }

// ResetTally sets all counts behind [Scanner.Dropped] to 0.
func (s *Scanner) ResetTally() { s.dropped = Tally{} }
