package wikitext

import "bytes"

// A tagFinder finds the ends of extension tags, HTML elements and comments. MediaWiki's
// parser removes these before other markup.
type tagFinder struct {
	source
	tagClose [tagCount]nextFinder // closing tags of extension tags, by tagInfo.id
	gt       nextFinder           // '>'
	comment  nextFinder           // "-->"
	html     tableFinder          // <table>
	hidden   hiddenFinder
}

// load starts a page with the source src.
func (g *tagFinder) load(src []byte) {
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
	from, to, end int // the search from offset from found [to, end); to = 0: not searched yet
	none          int // no occurrence at or after this offset
}

// cached returns the result [to, end) of a search from offset i; -1, -1 if there is no
// occurrence. known is false if the result is not cached.
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

// next returns the offset of the first sub in src[i:], or -1. f caches the
// result.
func (g *tagFinder) next(f *nextFinder, i int, sub []byte) int {
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

// extTagAt parses the extension tag at src[i], which is "<", by the rules of
// MediaWiki's preprocessor: the tag ends at the first ">", its content at the
// first closing tag. ok is false if there is no extension tag or it is not
// closed before e. Only includeonly need not be closed.
func (g *tagFinder) extTagAt(i, e int) (t extTag, ok bool) {
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

// closingTag returns the range [to, end) of the first closing tag in src[i:] with the
// same name as info; -1, -1 if there is none.
func (g *tagFinder) closingTag(info tagInfo, i int) (to, end int) {
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

// opaqueEnd returns the end of the extension tag with its content at src[i],
// which is "<"; or i if there is none.
func (g *tagFinder) opaqueEnd(i, e int) int {
	if i+1 >= e || class[g.src[i+1]]&classLetter == 0 {
		return i
	}
	if t, ok := g.extTagAt(i, e); ok {
		return t.next
	}
	return i
}
