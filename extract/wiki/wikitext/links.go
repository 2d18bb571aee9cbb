package wikitext

import (
	"bytes"
	"unicode/utf8"
)

// A link is an internal link [[target|label]], given by offsets in the source.
type link struct {
	target, targetEnd int
	label, labelEnd   int  // label < 0: none
	next              int  // offset after the link
	odd               bool // the target has bytes of classOdd and must be checked
}

// linkAt parses the internal link at s.src[i], which is "[[", by the rules of
// MediaWiki's Parser::handleInternalLinks2: the target is one line of
// characters that a title may have; the label ends at the first "]]" and has no
// "[["; only the caption of a file may contain links. ok is false if there is
// no link.
func (s *Scanner) linkAt(i, e int) (l link, ok bool) {
	l = link{target: i + 2, label: -1}
	j, odd := s.targetEnd(i+2, e)
	l.targetEnd, l.odd = j, odd
	if j >= e || j == l.target {
		return l, false
	}
	if s.src[j] == ']' {
		l.next = j + 2
		return l, j+1 < e && s.src[j+1] == ']' && s.validTarget(l)
	}
	bar := s.barAt(j, e)
	if bar == 0 || !s.validTarget(l) {
		return l, false
	}
	l.label = j + bar
	at, closed := s.labelEnd(l.label, e)
	if !closed {
		if !l.odd || namespaceOf(s.src[l.target:l.targetEnd], &s.name) != wordFile {
			return l, false
		}
		end, ok := s.fileLinkEnd(i, at, e)
		l.labelEnd, l.next = end-2, end
		return l, ok
	}
	l.labelEnd, l.next = at, at+2
	if l.next < e && s.src[l.next] == ']' && bytes.IndexByte(s.src[l.label:at], '[') >= 0 {
		l.labelEnd++ // [[a|[b]]]: the label ends with a bracket
		l.next++
	}
	return l, true
}

// afterLink returns the offset after the link l: after a file also a single "]",
// whose "[" is in the dropped caption, or nowhere.
func (s *Scanner) afterLink(l link, e int) int {
	i := l.next
	if l.odd && i < e && s.src[i] == ']' && (i+1 == e || s.src[i+1] != ']') && namespaceOf(s.src[l.target:l.targetEnd], &s.name) == wordFile {
		return i + 1
	}
	return i
}

// targetEnd returns the end of the link target at s.src[i]: the first byte that
// no title may have, outside of templates. odd reports whether the target has
// bytes of classOdd.
func (s *Scanner) targetEnd(i, e int) (end int, odd bool) {
	var seen uint16
	for i < e {
		c := s.src[i]
		if class[c]&classTarget == 0 {
			seen |= class[c]
			i++
			continue
		}
		if c == '{' && s.barAt(i, e) == 0 {
			if j := s.bracesEnd(i, e); j > i {
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

// barAt returns the length of the separator "|" or "{{!}}" at s.src[i], or 0 if
// there is none.
func (s *Scanner) barAt(i, e int) int {
	switch {
	case i < e && s.src[i] == '|':
		return 1
	case e-i >= len(barTemplate) && string(s.src[i:i+len(barTemplate)]) == barTemplate:
		return len(barTemplate)
	}
	return 0
}

// labelEnd returns the offset of the first "]]" or "[[" in s.src[i:e] outside
// of templates, comments and extension tags. closed reports whether it is "]]".
func (s *Scanner) labelEnd(i, e int) (at int, closed bool) {
	if s.near.label.covers(i, e) {
		return e, false
	}
	start, src := i, s.src[:e]
	for {
		s.work -= i
		i = s.skip(i, e, classLabel)
		s.work += i + 1
		if i >= e {
			break
		}
		if c := src[i]; (c == '[' || c == ']') && i+1 < e && src[i+1] == c {
			return i, c == ']'
		}
		i = s.stepInLabel(i, e)
	}
	s.near.label = failure{from: start, to: e, limit: e}
	return e, false
}

// stepInLabel returns the end of the template, comment, extension tag or HTML
// tag at s.src[i], or i+1 if there is none. MediaWiki cleans HTML tags before it
// looks for links, so brackets in their attributes are no ends of links.
func (s *Scanner) stepInLabel(i, e int) int {
	next := s.step(i, e)
	if s.src[i] == '<' && next == i+1 {
		if t, ok := s.tagAt(i, e); ok && !t.closing {
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

// An imageFinder caches the end of the last file link whose caption contains
// links. MediaWiki splits the text at each "[[". The caption continues over
// parts with one "]]" (a link) and ends at the second "]]" of the first part
// with two. A part without "]]" means that the file link is not closed.
type imageFinder struct {
	from, to int // the result holds for file links in this range
	limit    int
	last     int // end of the file link, -1: not closed
}

// fileLinkEnd returns the end of the file link at s.src[i] whose caption has
// its first "[[" at s.src[j]. ok is false if the link is not closed before e.
func (s *Scanner) fileLinkEnd(i, j, e int) (end int, ok bool) {
	f := &s.near.image
	if f.to > 0 && i >= f.from && j <= f.to && e == f.limit {
		return f.last, f.last >= 0
	}
	*f = imageFinder{from: i, limit: e, last: -1}
	for {
		if j >= e {
			break
		}
		at, closed := s.labelEnd(j+2, e)
		if !closed {
			j = at
			break
		}
		at, closed = s.labelEnd(at+2, e)
		if closed {
			f.last = at + 2
			break
		}
		j = at
	}
	f.to = j
	return f.last, f.last >= 0
}

// validTarget reports whether the target of l is a valid title. If it is not,
// MediaWiki shows the source as text.
func (s *Scanner) validTarget(l link) bool {
	t := trimSpace(s.src[l.target:l.targetEnd])
	if !l.odd {
		return len(t) > 0 && len(t) <= maxTitleBytes && string(t) != "." && string(t) != ".."
	}
	if len(t) == 0 || hasProtocol(t) {
		return false
	}
	if bytes.Contains(t, []byte("{{")) {
		return true // its rendering is unknown
	}
	if t[0] == ':' {
		t = trimSpace(t[1:])
	}
	switch {
	case len(t) == 0, t[0] == ':', len(t) > maxTitleBytes, bytes.Contains(t, []byte("~~~")):
		return false
	case bytes.IndexByte(t, '%') >= 0 && badPercent(t), bytes.IndexByte(t, '&') >= 0 && s.badEntity(t):
		return false
	case t[len(t)-1] == ':' && isShownNamespace(fold(&s.name, trimSpace(t[:len(t)-1]))):
		return false // a link of another namespace is dropped even with an empty title
	}
	return !relative(t)
}

// maxTitleBytes is the maximum length of a link target in bytes. A title has up
// to 255 bytes, but a section name may follow.
const maxTitleBytes = 1024

// relative reports whether a title has a part "." or "..", which is not allowed.
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
func (s *Scanner) badEntity(t []byte) bool {
	for i, c := range t {
		if c != '&' {
			continue
		}
		ent, ok := s.entityAt(t, i)
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

// link renders the label of an internal link, or its target if it has no label.
// Links to files, categories and other languages are dropped.
func (s *Scanner) link(l link) {
	escaped := false
	if l.odd {
		target := trimSpace(s.src[l.target:l.targetEnd])
		escaped = target[0] == ':'
		if w := namespaceOf(target, &s.name); w != wordOther && w != wordMedia { // none if escaped
			s.removed()
			return
		}
		if l.label < 0 && !escaped && isSister(target, &s.name) && s.standsAlone(l) {
			s.removed()
			return
		}
	}
	switch {
	case l.label < 0:
		s.title(l, escaped)
	case l.label == l.labelEnd:
		s.pipeTrick(l)
	default:
		saved := s.quotes
		s.quotes.reset(len(s.out))
		s.inline(l.label, l.labelEnd, modeLabel)
		s.endQuotes()
		s.quotes = saved
	}
	s.linkEnd = len(s.out)
}

// isSister reports whether target, of a link without a label, is the page on
// the same subject at another project, such as [[commons:Berlin]]. Wikivoyage
// shows such links only in its side bar.
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

// standsAlone reports whether a link is the only text of its line.
func (s *Scanner) standsAlone(l link) bool {
	i, e := l.target-2, l.next
	for i > 0 && isBlank(s.src[i-1]) {
		i--
	}
	for e < len(s.src) && isBlank(s.src[e]) {
		e++
	}
	return (i == 0 || s.src[i-1] == '\n') && (e == len(s.src) || s.src[e] == '\n')
}

// title renders the target of a link without a label. It decodes percent
// escapes. escaped means that the target begins with a colon,
// [[:Category:Birds]], which is not shown.
func (s *Scanner) title(l link, escaped bool) {
	i, e := l.target, l.targetEnd
	for i < e && (isBlank(s.src[i]) || escaped && s.src[i] == ':') {
		escaped = escaped && s.src[i] != ':'
		i++
	}
	for e > i && isBlank(s.src[e-1]) {
		e--
	}
	if !l.odd {
		s.text(s.src[i:e])
		return
	}
	if bytes.IndexByte(s.src[i:e], '{') >= 0 || bytes.IndexByte(s.src[i:e], '<') >= 0 {
		s.inline(i, e, modeLabel)
		return
	}
	if bytes.IndexByte(s.src[i:e], '%') < 0 {
		s.literal(i, e)
		return
	}
	s.name = s.name[:0]
	for ; i < e; i++ {
		if c, ok := percentAt(s.src[:e], i); ok {
			s.name = append(s.name, c)
			i += 2
			continue
		}
		s.name = append(s.name, s.src[i])
	}
	if utf8.Valid(s.name) {
		s.text(s.name)
	} else {
		s.text(bytes.ToValidUTF8(s.name, nil))
	}
}

// pipeTrick renders a link with an empty label, [[Help:Title (x)|]], as
// "Title": MediaWiki removes the namespace and the words in parentheses when a
// page is saved. Some saved pages still have such links.
func (s *Scanner) pipeTrick(l link) {
	t := trimSpace(s.src[l.target:l.targetEnd])
	if k := bytes.IndexByte(t, ':'); k >= 0 {
		t = trimSpace(t[k+1:])
	}
	if k := bytes.Index(t, []byte(" (")); k > 0 {
		t = t[:k]
	} else if k := bytes.Index(t, []byte(", ")); k > 0 {
		t = t[:k]
	}
	s.text(t)
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
