package wikitext

import (
	"bytes"
	"strconv"
	"strings"

	"pretext/extract/wiki/rendering"
)

// Limits of the expansion of templates. A use beyond them is a hole.
const (
	maxExpansionDepth = 16      // templates inside of templates
	maxExpansions     = 5000    // of a page
	maxExpandedBytes  = 8 << 20 // of definitions and of their text on a page; MediaWiki's limit for the text is 2 MiB
	maxTemplateAlias  = 4       // redirects from one template to the next
)

// An expansion counts what the expansion of templates has used of its limits on
// a page.
type expansion struct {
	depth, calls, bytes int
	expanded            int // templates
}

// allow reports whether a text of n bytes may be expanded too, and counts it.
func (x *expansion) allow(n int) bool {
	if x.depth >= maxExpansionDepth || x.calls >= maxExpansions || x.bytes+n > maxExpandedBytes {
		return false
	}
	x.calls++
	x.bytes += n
	return true
}

// expand renders the template whose name is in given, and whose text is
// s.src[i:e], from the wiki's own definition: the parameters in it are replaced by
// the arguments, and the result is rendered as wikitext, in one line. ok is false
// if there is no definition, or a limit is reached; then nothing is written.
func (s *Scanner) expand(given span, i, e int) (ok bool) {
	if !s.expands() {
		return false
	}
	source := s.definition(s.bytes(given))
	for range maxTemplateAlias {
		target, isAlias := strings.CutPrefix(source, rendering.Alias)
		if !isAlias {
			break
		}
		if t, known := s.lookUp(s.templateName([]byte(target)), []byte(target)); known {
			return s.renderAlias(t, given, i, e)
		}
		source = s.definition([]byte(target))
	}
	if source == "" || strings.HasPrefix(source, rendering.Alias) || !s.budget.allow(len(source)) {
		return false
	}
	base := len(s.args)
	s.split(i, e)
	text, ok := s.substitute(source, s.args[base:])
	s.args = s.args[:base]
	if ok {
		s.budget.expanded++
		s.putExpanded(text)
	}
	return ok
}

// PageExpanded returns the number of templates of the wiki that were expanded in
// the last text of [Scanner.AppendText].
func (s *Scanner) PageExpanded() int { return s.budget.expanded }

// renderAlias renders a template whose name is a redirect to one that the data
// know.
func (s *Scanner) renderAlias(t rendering.Rule, given span, i, e int) bool {
	if t.Op == rendering.OpDrop || t.Op == rendering.OpVariable {
		return true
	}
	base, enclosing := len(s.args), s.given
	s.given = given
	s.split(i, e)
	s.render(t, s.args[base:])
	s.args, s.given = s.args[:base], enclosing
	return true
}

// putExpanded renders wikitext that an expansion gave, and writes it in one line.
func (s *Scanner) putExpanded(source []byte) {
	if s.inner == nil {
		s.inner = NewScanner(s.opt)
		s.inner.wiki.tables, s.inner.budget = s.wiki.tables, s.budget
		s.inner.opt.Headings, s.inner.opt.Lists = true, true
	}
	s.budget.depth++
	s.expanded = s.inner.AppendText(s.expanded[:0], source, s.page)
	s.budget.depth--
	for name, hole := range s.inner.Holes() {
		s.holes.add([]byte(name), hole.Uses, s.page.Title)
	}
	for name, n := range s.inner.Dropped() {
		s.dropped.Add([]byte(name), n)
	}
	s.inner.ResetTally()
	text := s.expanded
	for k := bytes.IndexByte(text, '\n'); k >= 0; k = bytes.IndexByte(text, '\n') {
		text[k] = ' '
	}
	if startsBlank(source) && len(text) > 0 {
		s.str(" ")
	}
	s.text(text)
}

// startsBlank reports whether an expansion begins with a space that separates it
// from the word before.
func startsBlank(source []byte) bool {
	return bytes.HasPrefix(source, []byte(" ")) || bytes.HasPrefix(source, []byte("&nbsp;")) || bytes.HasPrefix(source, []byte("&#32;"))
}

// substitute returns, in a buffer, a definition with its parameters, {{{1}}} and
// {{{name|default}}}, replaced by the arguments as they stand in the page. ok is
// false if the result is longer than a limit.
func (s *Scanner) substitute(definition string, args []argument) (text []byte, ok bool) {
	if s.subst == nil {
		s.subst = &substitution{page: &s.source}
	}
	b := s.subst
	b.args, b.out, b.left = args, b.out[:0], maxExpandedBytes-s.budget.bytes
	b.load(append(b.src[:0], definition...))
	b.append(0, len(b.src), 0)
	s.budget.bytes += len(b.out)
	return b.out, b.left >= 0
}

// A substitution replaces the parameters of a definition, which is the source of
// its braces.
type substitution struct {
	braces
	page *source // has the arguments
	args []argument
	out  []byte
	left int // bytes that may be written; negative: too long
}

// append appends b.src[i:e] with its parameters replaced.
func (b *substitution) append(i, e, depth int) {
	for start := i; ; {
		k := bytes.Index(b.src[i:e], []byte("{{{"))
		if k < 0 || b.left < 0 {
			b.write(b.src[start:e])
			return
		}
		i += k
		el, ok := b.elementAt(i)
		if !ok || el.width != 3 || int(el.end) > e || depth >= maxDepth {
			i++
			continue
		}
		b.write(b.src[start:i])
		b.parameterValue(i+3, int(el.end)-3, depth)
		i = int(el.end)
		start = i
	}
}

func (b *substitution) write(p []byte) {
	if b.left -= len(p); b.left >= 0 {
		b.out = append(b.out, p...)
	}
}

// parameterValue appends the value of the parameter whose name and default are
// b.src[i:e].
func (b *substitution) parameterValue(i, e, depth int) {
	bar := b.nameEnd(i, e)
	key := b.trim(i, bar)
	if value, ok := b.value(b.bytes(key)); ok {
		b.write(value)
		return
	}
	if bar < e {
		b.append(bar+1, b.nameEnd(bar+1, e), depth+1)
	}
}

// value returns the argument with a name or number; ok is false if it is not
// given. Of several, the last counts.
func (b *substitution) value(key []byte) (value []byte, ok bool) {
	place := 0
	for _, a := range b.args[1:] {
		name := b.page.bytes(a.key)
		if a.key.empty() {
			place++
			var buf [8]byte
			name = strconv.AppendInt(buf[:0], int64(place), 10)
		}
		if bytes.Equal(name, key) {
			value, ok = b.page.bytes(a.value), true
		}
	}
	return value, ok
}
