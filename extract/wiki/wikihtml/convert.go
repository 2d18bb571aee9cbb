package wikihtml

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// A converter converts the HTML of a page to plain wikitext. It is reused for the
// next page.
type converter struct {
	writer
	page  *page
	attrs attributes
	title []byte // inside the title in the head of the HTML

	inTitle bool
	skip    within // is the parser inside a dropped element?
	poem    within // inside a poem? Its line ends are kept
	entity  within // inside a former character reference of the wikitext?
	code    within // inside a block of source code?

	variant      string // HTML to write if the element that begins is empty
	variantDepth int
	limit        int // maximum size of the wikitext in bytes

	transcluded *transclusions // collects uses of templates; nil: not needed
}

// A within tracks whether the parser is inside a certain element. It counts open
// elements with the same name, so it needs no tree and works for any well-formed
// nesting.
type within struct {
	name  string
	depth int // number of open elements of the name; 0: outside
}

// enter records that an element begins, unless the parser is already inside one.
func (w *within) enter(name string) {
	if w.depth == 0 {
		*w = within{name, 1}
	}
}

func (w *within) start(name string) {
	if w.depth > 0 && name == w.name {
		w.depth++
	}
}

// end records an end tag and reports whether it ended the element.
func (w *within) end(name string) bool {
	if w.depth == 0 || name != w.name {
		return false
	}
	w.depth--
	return w.depth == 0
}

// convert appends the page with the HTML src to c.w.out as wikitext, and adds the facts
// in the head of the HTML to p. ok is false if it stopped because the wikitext exceeds
// limit bytes.
func (c *converter) convert(src []byte, p *page, limit int) (ok bool) {
	*c = converter{writer: writer{out: c.out[:0], bol: true}, page: p, title: c.title[:0], limit: limit, transcluded: c.transcluded}
	if c.transcluded != nil {
		c.transcluded.uses, c.transcluded.elem, c.transcluded.group = c.transcluded.uses[:0], within{}, false
	}
	c.read(html.NewTokenizer(bytes.NewReader(src)))
	c.endHeading()
	return len(c.out) <= limit
}

// read converts HTML until its end, or until the wikitext exceeds the limit.
func (c *converter) read(z *html.Tokenizer) {
	for len(c.out) <= c.limit {
		switch z.Next() {
		case html.ErrorToken:
			return // the end; reading from memory cannot fail
		case html.TextToken:
			c.textToken(z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			c.startTag(z)
		case html.EndTagToken:
			name, _ := z.TagName()
			c.endTag(string(name))
		}
	}
}

func (c *converter) textToken(text []byte) {
	c.variant = ""
	if c.transcluded != nil {
		c.transcluded.textToken(text, c.skip.depth == 0 && c.code.depth == 0)
	}
	switch {
	case c.inTitle:
		c.title = append(c.title, text...)
	case c.skip.depth > 0:
	case c.code.depth > 0:
		for _, b := range text {
			if b == '<' || b == '&' {
				c.escape(b)
			} else {
				c.out = append(c.out, b)
			}
		}
	case c.entity.depth > 0:
		c.text(visible(text))
	default:
		c.text(text)
	}
}

// visible returns the text of a character reference in the form that package wikitext
// gives it: special spaces become spaces, and zero-width marks are dropped.
func visible(text []byte) []byte {
	switch string(text) {
	case "\u00a0", "\u2002", "\u2003", "\u2009", "\u202f":
		return []byte{' '}
	case "\u00ad", "\u200e", "\u200f":
		return nil
	}
	return text
}

// startTag processes a start tag.
func (c *converter) startTag(z *html.Tokenizer) {
	c.variant = ""
	raw, more := z.TagName()
	name := string(raw)
	empty := voids[name]
	if c.skip.depth > 0 {
		c.skip.start(name)
		c.transcluded.nested(name)
		return
	}
	c.attrs.n = 0
	if more {
		c.attrs.read(z)
	}
	switch name {
	case "html", "link", "meta":
		c.page.element(name, &c.attrs)
		if !c.bol && c.code.depth == 0 {
			c.markup(gap) // as where a template or category was removed
		}
		if c.transcluded != nil && c.code.depth == 0 {
			c.transcluded.startTag(name, inline, &c.attrs, len(c.out))
		}
		return
	case "title":
		c.inTitle = len(c.title) == 0
		return
	}
	c.noteTemplates()
	if c.code.depth > 0 {
		c.code.start(name)
		c.transcluded.nested(name)
		return
	}
	c.poem.start(name)
	c.entity.start(name)
	e := effectOf(name, &c.attrs)
	if c.transcluded != nil {
		c.transcluded.startTag(name, e, &c.attrs, len(c.out))
	}
	c.apply(e, name)
	if !empty {
		c.enter(e, name)
	}
}

// enter updates the converter's state at the start tag of an element with effect e.
func (c *converter) enter(e effect, name string) {
	switch e {
	case dropped, removed, formula:
		c.skip.enter(name)
	case list:
		c.lists++
	case lines:
		c.pre++
	case source:
		c.code.enter(name)
	case block:
		if hasClass(c.attrs.get("class"), "poem") {
			c.poem.enter(name)
		}
	case inline:
		switch c.attrs.get("typeof") {
		case "mw:Entity", "mw:DisplaySpace":
			c.entity.enter(name)
		case "mw:LanguageVariant":
			c.variant = variantHTML(c.attrs.get("data-mw-variant"))
		}
	}
}

// apply writes the beginning of an element with an effect.
func (c *converter) apply(e effect, name string) {
	if c.level > 0 && (e == block || e == list || e == item || e == lines || e == source || e == heading) {
		c.endHeading() // the end tag is missing
	}
	switch e {
	case block, list, item, lines, dropped:
		c.newline()
	case heading:
		c.heading(int(name[1] - '0'))
	case lineEnd:
		if c.poem.depth > 0 || c.pre > 0 {
			c.newline()
		} else {
			c.space = true
		}
	case removed:
		if !c.bol {
			c.markup(gap)
		}
	case formula:
		c.markup("<math>x</math>")
	case source:
		c.newline()
		c.out = append(c.out, "<syntaxhighlight>"...)
	}
}

// endTag processes an end tag.
func (c *converter) endTag(name string) {
	if text := c.variant; text != "" { // the element had variants and no text of its own
		c.variant = ""
		if c.variantDepth < maxVariantDepth {
			c.variantDepth++
			c.read(html.NewTokenizerFragment(strings.NewReader(text), "span"))
			c.variantDepth--
		}
	}
	switch {
	case name == "title":
		c.inTitle = false
	case c.skip.depth > 0:
		c.skip.end(name)
	case c.code.depth > 0:
		if c.code.end(name) {
			c.out = append(c.out, "</syntaxhighlight>"...)
			c.bol = false
			c.newline()
		}
	default:
		c.poem.end(name)
		c.entity.end(name)
		switch effects[name] {
		case block, item:
			c.newline()
		case list:
			c.newline()
			c.lists = max(c.lists-1, 0)
		case lines:
			c.newline()
			c.pre = max(c.pre-1, 0)
		case heading:
			c.endHeading()
		}
	}
	if c.transcluded != nil {
		c.transcluded.endTag(name, len(c.out))
	}
}

func hasClass(classes, class string) bool {
	for c := range strings.FieldsSeq(classes) {
		if c == class {
			return true
		}
	}
	return false
}

// maxTemplates is the maximum size of page.templates, in bytes.
const maxTemplates = 64 << 10

// noteTemplates adds to page.templates the names of the templates that produced the
// element.
func (c *converter) noteTemplates() {
	if !strings.Contains(c.attrs.get("typeof"), "mw:Transclusion") {
		return
	}
	rest := c.attrs.get("data-mw")
	for {
		_, after, ok := strings.Cut(rest, `"target":{"wt":"`)
		if !ok || len(c.page.templates) > maxTemplates {
			return
		}
		name, tail, _ := strings.Cut(after, `"`)
		rest = tail
		if !strings.ContainsAny(name, "{}\\") {
			c.page.templates = append(append(append(c.page.templates, "{{"...), name...), "}}"...)
		}
	}
}
