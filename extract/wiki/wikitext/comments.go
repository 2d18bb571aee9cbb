package wikitext

import (
	"bytes"
	"slices"
)

var (
	commentStart = []byte("<!--")
	commentEnd   = []byte("-->")
)

// maxKeptPage is the maximum capacity, in bytes, of comments.clean that is reused for
// the next page. Larger buffers, which only hostile pages need, are released.
const maxKeptPage = 4 << 20

// mayVanish reports whether src may contain a comment, or a tag that controls
// inclusion ([comments.inclusionEnd]).
func mayVanish(src []byte) bool {
	for i := 0; ; i++ {
		k := bytes.IndexByte(src[i:], '<')
		if k < 0 || i+k+1 >= len(src) {
			return false
		}
		i += k
		if src[i+1] == '!' && bytes.HasPrefix(src[i:], commentStart) || mayBeInclusion(src[i+1:]) {
			return true
		}
	}
}

// mayBeInclusion reports whether tag, the text after "<", may begin with the name of
// a tag that controls inclusion. It is fast and may return true for other text.
func mayBeInclusion(tag []byte) bool {
	if len(tag) > 0 && tag[0] == '/' {
		tag = tag[1:]
	}
	if len(tag) < len("noinclude>") {
		return false
	}
	switch tag[0] | 0x20 {
	case 'n':
		return tag[2]|0x20 == 'i'
	case 'o':
		return tag[4]|0x20 == 'i'
	case 'i':
		return tag[2]|0x20 == 'c'
	}
	return false
}

// inclusionEnd returns the end of the opening or closing tag <noinclude> or
// <onlyinclude> at src[i]; or i if there is none. These tags are removed before the
// page is parsed, because a list, heading or attribute may follow. An <includeonly> at
// the start of a line or inside a tag is removed here with its content; others are left
// for [tags.extension], which repairs the place. tag tracks whether src[i] is inside a
// tag.
func (c *comments) inclusionEnd(i int, tag *openTag) int {
	if !mayBeInclusion(c.src[i+1:]) {
		return i
	}
	e := len(c.src)
	j := i + 1
	closing := j < e && c.src[j] == '/'
	if closing {
		j++
	}
	info, end := tagName(c.src, j, e)
	switch info.kind {
	case tagInclusion:
		for end < e && (isBlank(c.src[end]) || c.src[end] == '/') {
			end++
		}
		if end < e && c.src[end] == '>' {
			return end + 1
		}
	case tagIncludeOnly:
		atStart := i == 0 || c.src[i-1] == '\n'
		if t, ok := c.extTagAt(i, e); !closing && ok && (atStart || tag.at(i)) {
			return t.next
		}
	}
	return i
}

// An openTag tracks whether the text is inside a tag: after "<" and a letter, and
// before the ">", ignoring removed text.
type openTag struct {
	src  []byte
	open bool
	seen int // the text before this offset was processed
}

// begin records the "<" at src[i].
func (t *openTag) begin(i int) {
	t.open, t.seen = i+1 < len(t.src) && class[t.src[i+1]]&classLetter != 0, i
}

// at reports whether src[i] is inside a tag.
func (t *openTag) at(i int) bool {
	if t.open && t.seen < i {
		t.open = bytes.IndexByte(t.src[t.seen:i], '>') < 0
	}
	t.seen = max(t.seen, i)
	return t.open
}

// skip records that src[i:next] is removed.
func (t *openTag) skip(i, next int) {
	t.at(i)
	t.seen = next
}

// comments removes comments, and the tags that control inclusion, before a page is
// parsed. Its tagFinder searches the page before the removal.
type comments struct {
	tagFinder
	clean      []byte // buffer: a page without its comments
	asTemplate bool   // the page is read as a template, see Included
}

// remove returns src without comments. They are removed first, as in
// MediaWiki's preprocessor, because a comment may be inside any markup. So are
// the tags <noinclude> and <onlyinclude>, unless the page is read as a template.
// Comments in the content of extension tags are kept. An unclosed comment
// extends to the end of the page. If a line contains only comments and white
// space, the whole line is removed.
//
// The result is src itself, or is in c.clean until the next call.
func (c *comments) remove(src []byte) []byte {
	if !mayVanish(src) {
		return src
	}
	c.load(src)
	if cap(c.clean) > maxKeptPage {
		c.clean = nil
	}
	out, start, tag := slices.Grow(c.clean[:0], len(src)), 0, openTag{src: src}
	for i := 0; ; {
		k := bytes.IndexByte(src[i:], '<')
		if k < 0 {
			break
		}
		i += k
		if next := c.inclusionEnd(i, &tag); next > i && !c.asTemplate {
			tag.skip(i, next)
			out = append(out, src[start:i]...)
			i, start = next, next
			continue
		}
		if next := c.opaqueEnd(i, len(src)); next > i {
			tag.skip(i, next)
			i = next
		} else if from, to := c.commentAt(i, start); to > from {
			out = append(out, src[start:from]...)
			if i = to; to < len(src) && src[to] == ' ' && len(out) > 0 && out[len(out)-1] == ' ' {
				to++ // keep one of the two spaces around the comment
			}
			start = to
			tag.skip(from, to)
		} else {
			tag.begin(i)
			i++
		}
	}
	c.work += len(src)
	c.clean = append(out, src[start:]...)
	return c.clean
}

// commentAt returns the range of bytes to remove for the comment at src[i].
// The range is empty if there is no comment, and does not begin before start.
func (c *comments) commentAt(i, start int) (from, to int) {
	to = c.commentEndAt(i)
	if to == i {
		return i, i
	}
	for from = i; from > start && isBlank(c.src[from-1]); {
		from--
	}
	if from == 0 || c.src[from-1] != '\n' {
		return i, to
	}
	end := to
	for end < len(c.src) && (isBlank(c.src[end]) || c.commentEndAt(end) > end) {
		end = max(end+1, c.commentEndAt(end))
	}
	if end < len(c.src) && c.src[end] == '\n' {
		return from, end + 1
	}
	return i, to
}

// commentEndAt returns the end of the comment at src[i], or i if there is
// none.
func (g *tagFinder) commentEndAt(i int) int {
	if !bytes.HasPrefix(g.src[i:], commentStart) {
		return i
	}
	k := g.next(&g.comment, i+len(commentStart), commentEnd)
	if k < 0 {
		return len(g.src)
	}
	return k + len(commentEnd)
}
