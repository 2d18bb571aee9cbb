package wikitext

import "iter"

// A Scanner converts wikitext to plain text. It reuses its buffers; results do
// not depend on earlier pages. It must not be used by several goroutines at
// once.
type Scanner struct {
	comments  comments
	in        finder
	wiki      wiki
	w         writer
	losses    losses
	blocks    blocks
	tables    tables
	inline    inline
	links     links
	tags      tags
	templates templates
}

// NewScanner returns a scanner with the options o. It panics if o is invalid
// ([Options.Validate]).
func NewScanner(o Options) *Scanner {
	if err := o.Validate(); err != nil {
		panic("BUG: wikitext options: " + err.Error())
	}
	s := &Scanner{}
	s.wiki.files = o.Rendering
	s.in.wiki = &s.wiki
	s.blocks = blocks{opt: o, in: &s.in, w: &s.w, tables: &s.tables, inline: &s.inline, tags: &s.tags}
	s.tables = tables{in: &s.in, w: &s.w, inline: &s.inline}
	s.inline = inline{in: &s.in, w: &s.w, links: &s.links, tags: &s.tags, templates: &s.templates}
	s.links = links{in: &s.in, w: &s.w, inline: &s.inline}
	s.tags = tags{opt: o, in: &s.in, w: &s.w, tables: &s.tables}
	s.templates = templates{pen: pen{writer: &s.w, inline: &s.inline}, in: &s.in, wiki: &s.wiki, losses: &s.losses,
		blocks: &s.blocks, tables: &s.tables, operations: operations()}
	o.Headings, o.Lists = true, true
	s.templates.expander.opt, s.templates.expander.budget, s.templates.modules = o, &expansion{}, &modules{}
	return s
}

// AppendText appends the plain text of a page to dst and returns the extended
// slice. src is wikitext as an editor of the page sees it: the XML entities of
// the dump must be decoded. If src is valid UTF-8, the text is valid too.
//
// The text has no empty lines and no white space at its ends. A redirect has no
// text.
func (s *Scanner) AppendText(dst, src []byte, page Page) []byte {
	s.in.work, s.comments.work, s.losses.holes.page, s.losses.uses.page = 0, 0, 0, [numSources]int{}
	if budget := s.templates.expander.budget; budget.depth == 0 { // not inside an expanded template
		*budget = expansion{}
		s.templates.modules.begun = false
	}
	if IsRedirect(src) {
		return dst
	}
	s.in.load(s.comments.remove(src[:min(len(src), maxPage)]))
	s.wiki.enter(page)
	s.w.start(dst)
	s.blocks.prefix, s.tables.residue, s.tables.open = s.blocks.prefix[:0], false, false
	s.inline.reset(page.Lang)
	s.tags.reset()
	s.templates.reset()
	s.blocks.render(0, len(s.in.src))
	s.in.src, s.wiki.page = nil, Page{} // keep no reference to the caller's memory
	if s.blocks.opt.Code {
		return s.w.finish() // spaces of source code stay
	}
	return singleSpaces(s.w.finish(), len(dst))
}

// Dropped yields the names of the templates that were dropped because the scanner has
// no rule for them, with the number of uses so far, in order of decreasing number.
// Names are in lower case.
func (s *Scanner) Dropped() iter.Seq2[string, int] { return s.losses.dropped.All() }

// Tally returns the counts that [Scanner.Dropped] yields. The next page changes them.
func (s *Scanner) Tally() *Tally { return &s.losses.dropped }

// ResetTally sets all counts of [Scanner.Dropped], [Scanner.Holes], [Scanner.Uses] and
// [Scanner.ModuleCalls] to 0.
func (s *Scanner) ResetTally() {
	s.losses = losses{}
	s.templates.modules.calls, s.templates.modules.failed, s.templates.modules.assumed = 0, nil, nil
}

// Holes yields the templates whose dropped uses left a [Hole] in a sentence, in order
// of decreasing number of holes. Names are in lower case.
func (s *Scanner) Holes() iter.Seq2[string, Hole] {
	holes := &s.losses.holes
	return func(yield func(string, Hole) bool) {
		for name, n := range holes.uses.All() {
			if !yield(name, Hole{n, holes.first[name]}) {
				return
			}
		}
	}
}

// PageHoles returns the number of holes in the page last passed to
// [Scanner.AppendText].
func (s *Scanner) PageHoles() int { return s.losses.holes.page }

// PageExpanded returns how many of the wiki's own templates were expanded in the page
// last passed to [Scanner.AppendText].
func (s *Scanner) PageExpanded() int { return s.templates.expander.budget.expanded }
