package wikitext

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// A link is an internal link [[target|label]], given by offsets in the source.
type link struct {
	target, targetEnd int
	label, labelEnd   int  // label < 0: none
	next              int  // offset after the link
	odd               bool // the target has bytes of classOdd and must be checked
}

// linkAt parses the internal link at src[i], which is "[[", by the rules of
// MediaWiki's Parser::handleInternalLinks2: the target is one line of
// characters that a title may have; the label ends at the first "]]" and has no
// "[["; only the caption of a file may contain links. ok is false if there is
// no link.
func (f *finder) linkAt(i, e int) (l link, ok bool) {
	l = link{target: i + 2, label: -1}
	j, odd := f.targetEnd(i+2, e)
	l.targetEnd, l.odd = j, odd
	if j >= e || j == l.target {
		return l, false
	}
	if f.src[j] == ']' {
		l.next = j + 2
		return l, j+1 < e && f.src[j+1] == ']' && f.validTarget(l)
	}
	bar := barAt(f.src[j:e])
	if bar == 0 || !f.validTarget(l) {
		return l, false
	}
	l.label = j + bar
	at, closed := f.labelEnd(l.label, e)
	if !closed {
		if !l.odd || namespaceOf(f.src[l.target:l.targetEnd], &f.name) != wordFile {
			return l, false
		}
		end, ok := f.fileLinkEnd(i, at, e)
		l.labelEnd, l.next = end-2, end
		return l, ok
	}
	l.labelEnd, l.next = at, at+2
	if l.next < e && f.src[l.next] == ']' && bytes.IndexByte(f.src[l.label:at], '[') >= 0 {
		l.labelEnd++ // [[a|[b]]]: the label ends with a bracket
		l.next++
	}
	return l, true
}

// afterLink returns the offset after the link l. After a file link, it also skips a
// single "]": its "[" is in the dropped caption, or missing.
func (f *finder) afterLink(l link, e int) int {
	i := l.next
	if l.odd && i < e && f.src[i] == ']' && (i+1 == e || f.src[i+1] != ']') && namespaceOf(f.src[l.target:l.targetEnd], &f.name) == wordFile {
		return i + 1
	}
	return i
}

// targetEnd returns the end of the link target at src[i]: the first byte that
// no title may have, outside of templates. odd reports whether the target has
// bytes of classOdd.
func (f *finder) targetEnd(i, e int) (end int, odd bool) {
	var seen uint16
	for i < e {
		c := f.src[i]
		if class[c]&classTarget == 0 {
			seen |= class[c]
			i++
			continue
		}
		if c == '{' && barAt(f.src[i:e]) == 0 {
			if j := f.bracesEnd(i, e); j > i {
				i = j
				seen |= classOdd
				continue
			}
		}
		break
	}
	return i, seen&classOdd != 0
}

// barTemplate is the template that renders as "|".
const barTemplate = "{{!}}"

// barAt returns the length of the separator "|" or "{{!}}" with which rest begins,
// or 0.
func barAt(rest []byte) int {
	switch {
	case len(rest) > 0 && rest[0] == '|':
		return 1
	case len(rest) >= len(barTemplate) && string(rest[:len(barTemplate)]) == barTemplate:
		return len(barTemplate)
	}
	return 0
}

// labelEnd returns the offset of the first "]]" or "[[" in src[i:e] outside
// of templates, comments and extension tags. closed reports whether it is "]]".
func (f *finder) labelEnd(i, e int) (at int, closed bool) {
	if f.near.label.covers(i, e) {
		return e, false
	}
	start, src := i, f.src[:e]
	for {
		f.work -= i
		i = f.skip(i, e, classLabel)
		f.work += i + 1
		if i >= e {
			break
		}
		if c := src[i]; (c == '[' || c == ']') && i+1 < e && src[i+1] == c {
			return i, c == ']'
		}
		i = f.stepInLabel(i, e)
	}
	f.near.label = failure{from: start, to: e, limit: e}
	return e, false
}

// stepInLabel returns the end of the template, comment, extension tag or HTML tag at
// src[i], or i+1 if there is none. Brackets in the attributes of an HTML tag do not end
// a link, because MediaWiki cleans tags before it looks for links.
func (f *finder) stepInLabel(i, e int) int {
	next := f.step(i, e)
	if f.src[i] == '<' && next == i+1 {
		if t, ok := f.tagAt(i, e); ok && !t.closing {
			return t.next
		}
	}
	return next
}

// A failure records that no construct (of one kind) that begins in [from, to)
// ends before limit.
type failure struct{ from, to, limit int }

// covers reports whether f shows that a construct at offset i does not end
// before e.
func (f failure) covers(i, e int) bool { return i >= f.from && i < f.to && e == f.limit }

// An imageFinder caches the end of the last file link whose caption contains links.
// MediaWiki splits the text at each "[[" and examines the parts in order. A part with
// one "]]" is a link in the caption, and the caption continues. The first part with two
// "]]" ends the caption at the second. If a part has no "]]", the file link is not
// closed.
type imageFinder struct {
	from, to int // the result holds for file links in this range
	limit    int
	last     int // end of the file link, -1: not closed
}

// fileLinkEnd returns the end of the file link at src[i] whose caption has
// its first "[[" at src[j]. ok is false if the link is not closed before e.
func (f *finder) fileLinkEnd(i, j, e int) (end int, ok bool) {
	image := &f.near.image
	if image.to > 0 && i >= image.from && j <= image.to && e == image.limit {
		return image.last, image.last >= 0
	}
	*image = imageFinder{from: i, limit: e, last: -1}
	for {
		if j >= e {
			break
		}
		at, closed := f.labelEnd(j+2, e)
		if !closed {
			j = at
			break
		}
		at, closed = f.labelEnd(at+2, e)
		if closed {
			image.last = at + 2
			break
		}
		j = at
	}
	image.to = j
	return image.last, image.last >= 0
}

// validTarget reports whether the target of l is a valid title. If it is not,
// MediaWiki shows the source as text.
func (f *finder) validTarget(l link) bool {
	t := trimSpace(f.src[l.target:l.targetEnd])
	if !l.odd {
		return len(t) > 0 && len(t) <= maxTitleBytes && string(t) != "." && string(t) != ".."
	}
	if len(t) == 0 || protocolLength(t) > 0 {
		return false
	}
	if bytes.Contains(t, []byte("{{")) {
		return true // the template's output is unknown
	}
	if t[0] == ':' {
		t = trimSpace(t[1:])
	}
	switch {
	case len(t) == 0, t[0] == ':', len(t) > maxTitleBytes, bytes.Contains(t, []byte("~~~")):
		return false
	case bytes.IndexByte(t, '%') >= 0 && badPercent(t), bytes.IndexByte(t, '&') >= 0 && f.badEntity(t):
		return false
	case t[len(t)-1] == ':' && isShownNamespace(fold(&f.name, trimSpace(t[:len(t)-1]))):
		return false // a link of another namespace is dropped even with an empty title
	}
	return !relative(t)
}

// maxTitleBytes is the maximum length of a link target in bytes. A title has up
// to 255 bytes, but a section name may follow.
const maxTitleBytes = 1024

// relative reports whether a title contains a part "." or "..", which is not allowed.
func relative(t []byte) bool {
	if t[0] == '.' && (len(t) == 1 || string(t) == ".." || bytes.HasPrefix(t, []byte("./")) || bytes.HasPrefix(t, []byte("../"))) {
		return true
	}
	if k := bytes.IndexByte(t, '#'); k >= 0 {
		t = t[:k]
	}
	return bytes.Contains(t, []byte("/./")) || bytes.Contains(t, []byte("/../")) ||
		bytes.HasSuffix(t, []byte("/.")) || bytes.HasSuffix(t, []byte("/.."))
}

// badPercent reports whether a title has a percent escape (%7C) of a character
// that is not allowed in titles.
func badPercent(t []byte) bool {
	for i := range t {
		if c, ok := percentAt(t, i); ok && (class[c]&classTarget != 0 || c < 0x20 || c == 0x7F) {
			return true
		}
	}
	return false
}

// badEntity reports whether a title has a character reference (&#124;) of a
// character that is not allowed in titles.
func (f *finder) badEntity(t []byte) bool {
	for i, c := range t {
		if c != '&' {
			continue
		}
		ent, ok := f.entities.at(t, i)
		if !ok {
			continue
		}
		shows := ent.char
		if len(ent.text) == 1 {
			shows = rune(ent.text[0])
		}
		if shows > 0x20 && shows < 0x80 && class[shows]&classTarget != 0 {
			return true
		}
	}
	return false
}

// percentAt decodes the percent escape %XX at t[i]; ok is false if there is
// none.
func percentAt(t []byte, i int) (c byte, ok bool) {
	if t[i] != '%' || i+2 >= len(t) {
		return 0, false
	}
	h, ok1 := hexDigit(t[i+1])
	l, ok2 := hexDigit(t[i+2])
	return h<<4 | l, ok1 && ok2
}

func hexDigit(c byte) (v byte, ok bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// links renders links as their labels.
type links struct {
	in     *finder
	w      *writer
	inline *inline // renders labels
	name   []byte  // scratch: a folded name
}

// bracket renders the internal or external link at src[i], after writing the
// plain text src[start:i]. It returns i if there is none.
func (lk *links) bracket(start, i, e int) (next int) {
	if i+1 < e && lk.in.src[i+1] == '[' {
		if l, ok := lk.in.linkAt(i, e); ok {
			lk.w.text(lk.in.src[start:i])
			lk.link(l)
			return lk.in.afterLink(l, e)
		}
		if l, ok := lk.in.extLinkAt(i+1, e); ok {
			// [[http://a b]] is "[b]". In [[http://a|b]] MediaWiki takes "|b" for a part of
			// the address and shows "[[1]]"; the author meant the label "b", which is shown.
			bar := bytes.IndexByte(lk.in.src[i:l.label], '|')
			if bar < 0 || l.label < l.labelEnd || l.next >= e || lk.in.src[l.next] != ']' {
				lk.w.text(lk.in.src[start : i+1])
				lk.extLink(l)
				return l.next
			}
			lk.w.text(lk.in.src[start:i])
			lk.inline.render(i+bar+1, l.labelEnd, modeArgument)
			return l.next + 1
		}
		lk.w.text(lk.in.src[start : i+2])
		return i + 2
	}
	if l, ok := lk.in.extLinkAt(i, e); ok {
		lk.w.text(lk.in.src[start:i])
		lk.extLink(l)
		return l.next
	}
	return i
}

// link renders the label of an internal link, or its target if it has no label.
// Links to files, categories and other languages are dropped.
func (lk *links) link(l link) {
	escaped := false
	if l.odd {
		target := trimSpace(lk.in.src[l.target:l.targetEnd])
		escaped = target[0] == ':'
		if w := namespaceOf(target, &lk.name); w != wordOther && w != wordMedia { // none if escaped
			if w == wordFile && lk.splits(l) {
				lk.w.str(" ")
			}
			lk.w.removed()
			return
		}
		if l.label < 0 && !escaped && isSister(target, &lk.name) && lk.in.standsAlone(l) {
			lk.w.removed()
			return
		}
	}
	switch {
	case l.label < 0:
		lk.title(l, escaped)
	case l.label == l.labelEnd:
		lk.pipeTrick(l)
	default:
		saved := lk.w.quotes
		lk.w.quotes.reset(len(lk.w.out))
		lk.inline.render(l.label, l.labelEnd, modeLabel)
		lk.w.endQuotes()
		lk.w.quotes = saved
	}
	lk.w.linkEnd = len(lk.w.out)
}

// splits reports whether a file with options stands between two words without a space: a thumbnail
// ends the paragraph there. In scripts without spaces nothing has to be written.
func (lk *links) splits(l link) bool {
	if l.label < 0 || bytes.IndexByte(lk.in.src[l.label:l.labelEnd], '|') < 0 {
		return false
	}
	before, _ := utf8.DecodeLastRune(lk.w.out[lk.w.line:])
	after, _ := utf8.DecodeRune(lk.in.src[l.next:])
	return unicode.IsLetter(before) && unicode.IsLetter(after) && !isIdeographic(before) && !isIdeographic(after)
}

// isSister reports whether target is the page on the same subject at another project,
// such as [[commons:Berlin]]. The link has no label. Wikivoyage shows such links only
// in its side bar.
func isSister(target []byte, scratch *[]byte) bool {
	prefix, rest, _ := bytes.Cut(target, []byte(":"))
	switch string(fold(scratch, trimSpace(prefix))) {
	case "commons", "c", "dmoz", "open directory":
		return true
	case "wikipedia", "w":
		return bytes.IndexByte(rest, ':') > 0
	}
	return false
}

// standsAlone reports whether a link is the only text on its line.
func (f *finder) standsAlone(l link) bool {
	i, e := l.target-2, l.next
	for i > 0 && isBlank(f.src[i-1]) {
		i--
	}
	for e < len(f.src) && isBlank(f.src[e]) {
		e++
	}
	return (i == 0 || f.src[i-1] == '\n') && (e == len(f.src) || f.src[e] == '\n')
}

// title renders the target of a link without a label. It decodes percent escapes.
// escaped reports whether the target begins with a colon, as in [[:Category:Birds]],
// which is not shown.
func (lk *links) title(l link, escaped bool) {
	i, e := l.target, l.targetEnd
	for i < e && (isBlank(lk.in.src[i]) || escaped && lk.in.src[i] == ':') {
		escaped = escaped && lk.in.src[i] != ':'
		i++
	}
	for e > i && isBlank(lk.in.src[e-1]) {
		e--
	}
	if !l.odd {
		lk.w.text(lk.in.src[i:e])
		return
	}
	if bytes.IndexByte(lk.in.src[i:e], '{') >= 0 || bytes.IndexByte(lk.in.src[i:e], '<') >= 0 {
		lk.inline.render(i, e, modeLabel)
		return
	}
	if bytes.IndexByte(lk.in.src[i:e], '%') < 0 {
		lk.inline.tags.literal(i, e)
		return
	}
	lk.name = lk.name[:0]
	for ; i < e; i++ {
		if c, ok := percentAt(lk.in.src[:e], i); ok {
			lk.name = append(lk.name, c)
			i += 2
			continue
		}
		lk.name = append(lk.name, lk.in.src[i])
	}
	if utf8.Valid(lk.name) {
		lk.w.text(lk.name)
	} else {
		lk.w.text(bytes.ToValidUTF8(lk.name, nil))
	}
}

// pipeTrick renders a link with an empty label, [[Help:Title (x)|]], as
// "Title": MediaWiki removes the namespace and the words in parentheses when a
// page is saved. Some saved pages still have such links.
func (lk *links) pipeTrick(l link) {
	t := trimSpace(lk.in.src[l.target:l.targetEnd])
	if k := bytes.IndexByte(t, ':'); k >= 0 {
		t = trimSpace(t[k+1:])
	}
	if k := bytes.Index(t, []byte(" (")); k > 0 {
		t = t[:k]
	} else if k := bytes.Index(t, []byte(", ")); k > 0 {
		t = t[:k]
	}
	lk.w.text(t)
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && (isBlank(b[len(b)-1]) || b[len(b)-1] == '\n') {
		b = b[:len(b)-1]
	}
	for len(b) > 0 && (isBlank(b[0]) || b[0] == '\n') {
		b = b[1:]
	}
	return b
}
