package wikitext

// A Scanner converts wikitext to plain text. It reuses its buffers; results do
// not depend on earlier pages. It must not be used by several goroutines at
// once.
type Scanner struct {
	opt      Options
	comments comments
	finder
	wiki
	writer
	losses

	given        span          // name of the template being rendered
	budget       *expansion    // of the page
	inner        *Scanner      // renders expanded templates; nil until the first
	expanded     []byte        // buffer: the text of an expanded template
	subst        *substitution // buffer: replaces parameters
	mode         mode          // of the inline scan
	variantClass uint16        // classVariant if the language has variants

	args     []argument // of the templates being rendered, a stack
	name     []byte     // scratch: a folded name
	aside    []byte     // text captured for examination, a stack
	depth    int        // templates and parameters being rendered
	prefix   []byte     // list markers of the line above, with ":" for ";"
	residue  bool       // a dropped template may have opened a table
	stray    int        // closing braces to drop after the current template
	openTags int        // open HTML tags on this line of a definition list
	freeURL  int        // end of the last URL in plain text on this line
	poemEnd  int        // end of the <poem> being rendered
	divs     int        // open HTML block elements, such as <div>
	pre      bool       // inside a <pre> without closing tag: no lists
}

// NewScanner returns a scanner with the options o. It panics if o is invalid
// ([Options.Validate]).
func NewScanner(o Options) *Scanner {
	if err := o.Validate(); err != nil {
		panic("BUG: wikitext options: " + err.Error())
	}
	s := &Scanner{opt: o}
	s.files = o.Rendering
	s.finder.wiki = &s.wiki
	return s
}

// AppendText appends the plain text of a page to dst and returns the extended
// slice. src is wikitext as an editor of the page sees it: the XML entities of
// the dump must be decoded. If src is valid UTF-8, the text is valid too.
//
// The text has no empty lines and no white space at its ends. A redirect has no
// text.
func (s *Scanner) AppendText(dst, src []byte, page Page) []byte {
	s.finder.work, s.comments.work, s.holes.page = 0, 0, 0
	if s.budget == nil {
		s.budget = &expansion{}
	}
	if s.budget.depth == 0 { // not inside of an expanded template
		*s.budget = expansion{}
	}
	if IsRedirect(src) {
		return dst
	}
	s.finder.load(s.comments.remove(src[:min(len(src), maxPage)]))
	s.enter(page)
	s.variantClass = 0
	if hasVariants(page.Lang) {
		s.variantClass = classVariant
	}
	s.writer.start(dst)
	s.args, s.prefix, s.aside = s.args[:0], s.prefix[:0], s.aside[:0]
	s.depth, s.residue, s.stray, s.openTags, s.freeURL, s.poemEnd, s.divs, s.pre = 0, false, 0, 0, 0, 0, 0, false
	s.blocks(0, len(s.src))
	s.src, s.page = nil, Page{} // keep no reference to the caller's memory
	return s.finish()
}
