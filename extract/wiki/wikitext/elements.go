package wikitext

import "bytes"

// tags renders HTML tags and extension tags.
type tags struct {
	opt    Options
	in     *finder
	w      *writer
	tables *tables // tables.residue: may a dropped template have opened a <div>?

	open    int  // HTML tags open on this line of a definition list
	divs    int  // number of open HTML block elements, such as <div>
	poemEnd int  // end of the <poem> being rendered
	pre     bool // inside a <pre> for which no closing tag was found: no lists
}

// reset starts a page.
func (g *tags) reset() { g.open, g.divs, g.poemEnd, g.pre = 0, 0, 0, false }

// angle renders the tag at src[i], after writing the plain text src[start:i]. It
// returns the offset after it, or i if there is none. MediaWiki shows an unclosed
// extension tag as text; unclosed tags such as <ref> count as markup here and are
// dropped. A <table>, and an element that is not prose, is dropped with its content.
func (g *tags) angle(start, i, e int) (next int) {
	src := g.in.src
	if i+1 >= e || src[i+1] != '/' && class[src[i+1]]&classLetter == 0 {
		return i
	}
	if t, ok := g.in.extTagAt(i, e); ok {
		g.w.text(src[start:i])
		g.extension(t)
		return t.next
	}
	t, ok := g.in.tagAt(i, e)
	if !ok || t.kind == tagNowiki || t.kind == tagMeta && !bytes.Contains(src[i:t.next], []byte("itemprop")) {
		return i
	}
	g.w.text(src[start:i])
	switch {
	case t.closing || t.selfClosed:
	case t.kind == tagTable:
		if end, ok := g.in.htmlTableEnd(i, e); ok {
			g.w.breakLine()
			return end
		}
	case t.kind == tagInline || t.kind == tagBlock || t.kind == tagLine:
		if end, ok := g.in.hiddenEnd(i, t.next, e); ok {
			if t.kind == tagInline {
				g.w.removed()
			} else {
				g.w.breakLine()
			}
			return end
		}
	case t.kind == tagPre:
		g.pre = true
	case t.kind == tagPoem:
		g.poemEnd, _ = g.in.closingTag(t.tagInfo, t.next)
	}
	if !g.isOrphan(t) {
		g.tag(t)
	}
	return t.next
}

// isOrphan reports whether t is a closing tag whose element was not opened, neither on
// the page nor by a dropped template. It also counts the open elements.
func (g *tags) isOrphan(t htmlTag) bool {
	switch {
	case t.kind == tagPre && t.closing:
		orphan := !g.pre
		g.pre = false
		return orphan
	case t.kind != tagBlock || t.selfClosed:
		return false
	case !t.closing:
		g.divs++
		return false
	case g.divs > 0:
		g.divs--
		return false
	}
	return !g.tables.residue
}

// tag renders an HTML tag: depending on the kind of tag, it ends the line, separates
// words, or only marks a removal.
func (g *tags) tag(t htmlTag) {
	if t.closing {
		g.open--
	} else if !t.selfClosed {
		g.open++
	}
	switch t.kind {
	case tagInline, tagInclusion, tagMeta:
	case tagSpace:
		g.w.str(" ")
	case tagLine, tagBlock, tagTable, tagPre, tagPoem:
		g.w.breakLine()
	default:
		g.w.removed()
	}
}

// extension renders an extension tag: the content of nowiki, pre and code, or the
// placeholder of a formula. All other extension tags are dropped.
func (g *tags) extension(t extTag) {
	switch t.kind {
	case tagNowiki:
		g.literal(t.body, t.bodyEnd)
	case tagPre:
		g.preformattedNowiki(t.body, t.bodyEnd)
	case tagCode:
		if t.inline {
			g.literal(t.body, t.bodyEnd)
			return
		}
		if g.opt.Code {
			g.w.breakLine()
			g.literalLines(t.body, t.bodyEnd)
			g.w.breakLine()
			return
		}
		g.w.removed()
	case tagMath:
		if g.opt.Math != "" {
			g.w.str(g.opt.Math)
			return
		}
		g.w.removed()
	default:
		g.w.removed()
	}
}

// literal writes src[i:e], in which only character references are markup.
func (g *tags) literal(i, e int) {
	src, start := g.in.src[:e], i
	for i < e {
		next, shown := i+1, " " // shown replaces src[i:next] in the output
		switch c := src[i]; {
		case c == '&':
			ent, ok := g.in.entities.at(src, i)
			if ok {
				g.w.text(src[start:i])
				g.w.entity(ent)
				i, start = ent.next, ent.next
				continue
			}
			shown = "&"
		case c == 0xC2 && next < e && src[next] == 0xA0:
			next++
		case c == 0xC2:
			shown = "\xC2"
		case c != '\n':
			i++
			continue
		}
		g.w.text(src[start:i])
		g.w.str(shown)
		i, start = next, next
	}
	g.w.text(src[start:])
}

// literalLines writes literal text and ends a line at each line feed.
func (g *tags) literalLines(i, e int) {
	for {
		k := bytes.IndexByte(g.in.src[i:e], '\n')
		if k < 0 {
			g.literal(i, e)
			return
		}
		g.literal(i, i+k)
		g.w.breakLine()
		i += k + 1
	}
}

var nowikiStart, nowikiEnd = []byte("<nowiki>"), []byte("</nowiki>")

// preformattedNowiki writes src[i:e], the content of <pre>, as output lines.
// Pairs of nowiki tags in it are removed.
func (g *tags) preformattedNowiki(i, e int) {
	g.w.breakLine()
	for {
		open := bytes.Index(g.in.src[i:e], nowikiStart)
		if open < 0 {
			break
		}
		body := i + open + len(nowikiStart)
		shut := bytes.Index(g.in.src[body:e], nowikiEnd)
		if shut < 0 {
			break
		}
		g.literalLines(i, i+open)
		g.literalLines(body, body+shut)
		i = body + shut + len(nowikiEnd)
	}
	g.literalLines(i, e)
	g.w.breakLine()
}
