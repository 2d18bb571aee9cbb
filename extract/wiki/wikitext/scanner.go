package wikitext

import (
	"bytes"
	"iter"

	"pretext/extract/wiki/rendering"
)

// A Page holds what the text may depend on besides the wikitext.
type Page struct {
	Title string // for {{PAGENAME}}; may be empty
	Lang  string // code of the wiki's language, "en"; may be empty
	Wiki  string // name of the wiki, "enwiktionary"; may be empty

	// Definitions are those of the wiki's own templates, which fill holes; may be nil.
	Definitions Definitions
	// Template is the wiki's name of the namespace of templates, in lower case;
	// may be empty.
	Template string
}

// Definitions are the definitions of a wiki's own templates.
type Definitions interface {
	// Definition returns the definition of the template with a folded name ("" if
	// there is none), in the form of a line of kind definition in package rendering.
	// The title of the template, as the page has it, tells names apart that differ
	// in case.
	Definition(name, title []byte) string
}

// A Scanner converts wikitext to plain text. It reuses its buffers; results do
// not depend on earlier pages. It must not be used by several goroutines at
// once.
type Scanner struct {
	opt     Options
	dropped Tally
	holes   holeTally

	src      []byte // the page without its comments
	page     Page
	given    span          // name of the template being rendered
	budget   *expansion    // of the page
	inner    *Scanner      // renders expanded templates; nil until the first
	expanded []byte        // buffer: the text of an expanded template
	subst    *substitution // buffer: replaces parameters
	lang     string        // of s.table
	wiki     string        // of s.table
	special  specialMap
	mode     mode   // of the inline scan
	variants uint16 // classVariant if the language has variants

	output // the text so far, see seam.go
	quotes // bold and italics of the source line, see quotes.go
	heads  pendingHeadings
	finder // ends of constructs, see braces.go, tables.go, links.go, exttags.go

	table      *rendering.Table  // what templates show on the wiki of the page
	rendered   wikiTables        // of the wikis met so far
	names      nameCache         // resolved template names
	entities   map[string]string // character references met so far, by name
	args       []argument        // of the templates being rendered, a stack
	clean      []byte            // scratch: a page without its comments
	name       []byte            // scratch: a folded name
	aside      []byte            // text captured for examination, a stack
	depth      int               // templates and parameters being rendered
	asTemplate bool              // the page is read as a template, see Included
	prefix     []byte            // list markers of the line above, with ":" for ";"
	residue    bool              // a dropped template may have opened a table
	stray      int               // closing braces to drop after the current template
	tags       int               // open HTML tags on this line of a definition list
	freeURL    int               // end of the last URL in plain text on this line
	poemEnd    int               // end of the <poem> being rendered
	divs       int               // open HTML block elements, such as <div>
	pre        bool              // inside a <pre> without closing tag: no lists
}

// NewScanner returns a scanner with the options o. It panics if o is invalid
// ([Options.Validate]).
func NewScanner(o Options) *Scanner {
	if err := o.Validate(); err != nil {
		panic("BUG: wikitext options: " + err.Error())
	}
	return &Scanner{opt: o}
}

// AppendText appends the plain text of a page to dst and returns the extended
// slice. src is wikitext as an editor of the page sees it: the XML entities of
// the dump must be decoded. If src is valid UTF-8, the text is valid too.
//
// The text has no empty lines and no white space at its ends. A redirect has no
// text.
func (s *Scanner) AppendText(dst, src []byte, page Page) []byte {
	s.work, s.holes.page = 0, 0
	if s.budget == nil {
		s.budget = &expansion{}
	}
	if s.budget.depth == 0 { // not inside of an expanded template
		*s.budget = expansion{}
	}
	if IsRedirect(src) {
		return dst
	}
	s.start(dst, s.withoutComments(src[:min(len(src), maxPage)]), page)
	s.blocks(0, len(s.src))
	return s.finish()
}

// start prepares the scanner for a page with the source src and the output dst.
func (s *Scanner) start(dst, src []byte, page Page) {
	s.src, s.variants = src, 0
	s.enter(page)
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

// wikiTables are the tables of wikis, by language and name. Only the text filter
// meets more than one wiki.
type wikiTables map[[2]string]*rendering.Table

// maxTables is the maximum number of tables that a scanner keeps.
const maxTables = 64

// enter selects the table of the wiki that the page belongs to.
func (s *Scanner) enter(page Page) {
	if s.table != nil && page.Lang == s.lang && page.Wiki == s.wiki {
		s.page = page
		return
	}
	key := [2]string{page.Lang, page.Wiki}
	t := s.rendered[key]
	if t == nil {
		if s.rendered == nil || len(s.rendered) >= maxTables {
			s.rendered = wikiTables{}
		}
		t = rendering.NewSet(s.opt.Rendering...).Table(page.Lang, page.Wiki)
		s.rendered[key] = t
	}
	s.page, s.table, s.names = page, t, nameCache{}
	s.lang, s.wiki = page.Lang, page.Wiki
}

// finish returns the text without trailing white space. The scanner keeps no
// reference to the caller's memory.
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

// ResetTally sets all counts behind [Scanner.Dropped] and [Scanner.Holes] to 0.
func (s *Scanner) ResetTally() { s.dropped, s.holes = Tally{}, holeTally{} }
