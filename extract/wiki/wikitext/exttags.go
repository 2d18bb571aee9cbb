package wikitext

import "bytes"

// A tags finds the ends of extension tags, HTML elements and comments, which the
// parser of MediaWiki takes out first.
type tags struct {
	source
	tagClose [tagCount]nextFinder // closing tags of extension tags, by tagInfo.id
	gt       nextFinder           // '>'
	comment  nextFinder           // "-->"
	html     tableFinder          // <table>
	hidden   hiddenFinder
}

// load starts a page with the source src.
func (g *tags) load(src []byte) {
	g.src = src
	for k := range g.tagClose {
		g.tagClose[k] = nextFinder{none: len(src)}
	}
	g.gt = nextFinder{none: len(src)}
	g.comment = g.gt
	g.html.reset()
	g.hidden.reset()
}

// A nextFinder caches the last result of searching the page for the next
// occurrence of one string or tag.
type nextFinder struct {
	from, to, end int // a search from offset from found [to, end); to = 0: no search yet
	none          int // there is no occurrence from this offset on
}

// cached returns the result [to, end) of a search from offset i, or -1 twice
// for no occurrence. known is false if the search must be made.
func (f *nextFinder) cached(i int) (to, end int, known bool) {
	if i >= f.none {
		return -1, -1, true
	}
	if f.to > 0 && i >= f.from && i <= f.to {
		return f.to, f.end, true
	}
	return 0, 0, false
}

func (f *nextFinder) found(i, to, end int) { f.from, f.to, f.end = i, to, end }

// next returns the offset of the first sub in g.src[i:], or -1. f caches the
// result.
func (g *tags) next(f *nextFinder, i int, sub []byte) int {
	if to, _, known := f.cached(i); known {
		return to
	}
	k := bytes.Index(g.src[i:], sub)
	if k < 0 {
		f.none = i
		g.work += len(g.src) - i
		return -1
	}
	g.work += k
	f.found(i, i+k, i+k+len(sub))
	return i + k
}

var gt = []byte(">")

// An extTag is an extension tag with its content, such as <ref>…</ref>.
// Brackets, tables and line ends in the content have no meaning.
type extTag struct {
	tagInfo
	inline        bool // <syntaxhighlight inline>: code inside a line
	body, bodyEnd int  // the content; empty for <ref/>
	next          int  // offset after the closing tag
}

// extTagAt parses the extension tag at g.src[i], which is "<", by the rules of
// MediaWiki's preprocessor: the tag ends at the first ">", its content at the
// first closing tag. ok is false if there is no extension tag or it is not
// closed before e. Only includeonly need not be closed.
func (g *tags) extTagAt(i, e int) (t extTag, ok bool) {
	info, nameEnd := tagName(g.src, i+1, e)
	if info.kind < firstOpaque {
		return t, false
	}
	end := g.next(&g.gt, nameEnd, gt)
	if end < 0 || end >= e || end > nameEnd && !endsTagName(g.src[nameEnd]) {
		return t, false
	}
	t = extTag{tagInfo: info, body: end + 1, next: end + 1}
	if g.src[end-1] == '/' {
		t.bodyEnd = t.body
		return t, true
	}
	to, next := g.closingTag(info, end+1)
	if to < 0 && info.kind == tagIncludeOnly {
		to, next = len(g.src), len(g.src)
	}
	if to < 0 || next > e {
		return t, false
	}
	t.bodyEnd, t.next = to, next
	t.inline = info.kind == tagCode && hasWord(g.src[nameEnd:end], "inline")
	return t, true
}

// hasWord reports whether a tag's attributes include one with the name word.
func hasWord(attributes []byte, word string) bool {
	for field := range bytes.FieldsSeq(attributes) {
		name, _, _ := bytes.Cut(field, []byte("="))
		if string(name) == word {
			return true
		}
	}
	return false
}

// closingTag returns the range [to, end) of the next closing tag with info's
// name in g.src[i:], or -1 twice.
func (g *tags) closingTag(info tagInfo, i int) (to, end int) {
	f := &g.tagClose[info.id]
	if to, end, known := f.cached(i); known {
		return to, end
	}
	start := i
	for {
		k := bytes.Index(g.src[i:], []byte("</"))
		if k < 0 {
			f.none = start
			g.work += len(g.src) - start
			return -1, -1
		}
		i += k
		closing, j := tagName(g.src, i+2, len(g.src))
		if closing.id == info.id {
			for j < len(g.src) && (isBlank(g.src[j]) || g.src[j] == '\n') {
				j++
			}
			if j < len(g.src) && g.src[j] == '>' {
				g.work += j - start
				f.found(start, i, j+1)
				return i, j + 1
			}
		}
		i += 2
	}
}

// opaqueEnd returns the end of the extension tag with its content at g.src[i],
// which is "<"; or i if there is none.
func (g *tags) opaqueEnd(i, e int) int {
	if i+1 >= e || class[g.src[i+1]]&classLetter == 0 {
		return i
	}
	if t, ok := g.extTagAt(i, e); ok {
		return t.next
	}
	return i
}

// extension renders an extension tag: the content of nowiki, pre and code, the
// placeholder of a formula. Any other is dropped.
func (s *Scanner) extension(t extTag) {
	switch t.kind {
	case tagNowiki:
		s.literal(t.body, t.bodyEnd)
	case tagPre:
		s.preformattedNowiki(t.body, t.bodyEnd)
	case tagCode:
		if t.inline {
			s.literal(t.body, t.bodyEnd)
			return
		}
		if s.opt.Code {
			s.preformatted(t.body, t.bodyEnd)
			return
		}
		s.removed()
	case tagMath:
		if s.opt.Math != "" {
			s.str(s.opt.Math)
			return
		}
		s.removed()
	default:
		s.removed()
	}
}

// literal writes s.src[i:e], in which only character references are markup.
func (s *Scanner) literal(i, e int) {
	start := i
	for i < e {
		switch s.src[i] {
		case '&', 0xC2, '\n':
			s.text(s.src[start:i])
			i = s.literalByte(i, e)
			start = i
		default:
			i++
		}
	}
	if start < e {
		s.text(s.src[start:e])
	}
}

// literalByte writes what s.src[i] begins (a character reference, a no-break
// space, a line feed or any other byte) and returns the offset after it.
func (s *Scanner) literalByte(i, e int) int {
	switch s.src[i] {
	case '&':
		if ent, ok := s.entities.at(s.src[:e], i); ok {
			s.entity(ent)
			return ent.next
		}
	case '\n':
		s.str(" ")
		return i + 1
	default:
		if i+1 < e && s.src[i+1] == 0xA0 {
			s.str(" ")
			return i + 2
		}
	}
	s.text(s.src[i : i+1])
	return i + 1
}

// preformatted writes the literal text s.src[i:e] as output lines of its own,
// one for each source line.
func (s *Scanner) preformatted(i, e int) {
	s.breakLine()
	s.literalLines(i, e)
	s.breakLine()
}

// literalLines writes literal text and ends a line at each line feed.
func (s *Scanner) literalLines(i, e int) {
	for {
		k := bytes.IndexByte(s.src[i:e], '\n')
		if k < 0 {
			s.literal(i, e)
			return
		}
		s.literal(i, i+k)
		s.breakLine()
		i += k + 1
	}
}

var nowikiStart, nowikiEnd = []byte("<nowiki>"), []byte("</nowiki>")

// preformattedNowiki writes s.src[i:e], the content of <pre>, as output lines.
// Pairs of nowiki tags in it are removed.
func (s *Scanner) preformattedNowiki(i, e int) {
	s.breakLine()
	for {
		open := bytes.Index(s.src[i:e], nowikiStart)
		if open < 0 {
			break
		}
		body := i + open + len(nowikiStart)
		shut := bytes.Index(s.src[body:e], nowikiEnd)
		if shut < 0 {
			break
		}
		s.literalLines(i, i+open)
		s.literalLines(body, body+shut)
		i = body + shut + len(nowikiEnd)
	}
	s.literalLines(i, e)
	s.breakLine()
}
