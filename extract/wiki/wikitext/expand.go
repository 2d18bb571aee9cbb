package wikitext

import (
	"bytes"
	"strconv"
	"strings"

	"pretext/extract/wiki/internal/scribunto"
	"pretext/extract/wiki/rendering"
)

// Limits of template expansion. A template beyond them is not expanded and counts as a
// [Hole].
const (
	maxExpansionDepth = 16      // nesting depth of templates
	maxExpansions     = 5000    // expansions per page
	maxExpandedBytes  = 8 << 20 // bytes of definitions and text per page; MediaWiki: 2 MiB of text
	maxTemplateAlias  = 4       // redirects followed from one template to another
)

// An expansion counts the expansions and bytes used on a page, for the limits above.
type expansion struct {
	depth, calls, bytes int
	expanded            int  // number of expanded templates
	unable              bool // the definition that is being rendered needs what the scanner cannot compute
	failed              bool // the definition that is being rendered calls a module that has no result
	catching            int  // calls of #iferror whose value is being rendered
	caught              bool // the value of the last such call shows an error message
}

// allow reports whether the limits allow another expansion of n bytes. If so, it counts
// the expansion.
func (x *expansion) allow(n int) bool {
	if x.depth >= maxExpansionDepth || x.calls >= maxExpansions || x.bytes+n > maxExpandedBytes {
		return false
	}
	x.calls++
	x.bytes += n
	return true
}

// An expander renders templates from the wiki's own definitions.
type expander struct {
	budget *expansion       // of the current page
	opt    Options          // options of inner
	inner  *Scanner         // renders expanded templates; nil until it is needed
	text   []byte           // buffer for the text of an expanded template
	subst  substitution     // replaces parameters; a buffer
	frame  *scribunto.Frame // of the expanded template, for the modules that it calls; nil if it calls none
}

// expand renders an unknown template from the wiki's own definition, or from one in the
// user's files. given is the template's name, src[i:e] the text between its braces. ok is
// false if there is no definition or a limit is reached; then nothing is written. A
// redirect to a template with a rule is rendered by that rule.
func (t *templates) expand(given span, i, e int) (from Source, ok bool) {
	if !t.wiki.expands() {
		return asHole, false
	}
	source := t.wiki.definition(t.in.bytes(given))
	for range maxTemplateAlias {
		target, isAlias := strings.CutPrefix(source, rendering.Alias)
		if !isAlias {
			break
		}
		if rule, known := t.wiki.lookUp(t.wiki.templateName([]byte(target)), []byte(target)); known && !t.ownFirst(rule, []byte(target)) {
			if rule.Op == rendering.OpDrop || rule.Op == rendering.OpVariable {
				return byRule, true
			}
			return t.call(rule, funcNone, given, i, e), true
		}
		source = t.wiki.definition([]byte(target))
	}
	text, ok := t.substituted(source, given, i, e)
	if !ok {
		return fromWiki, false
	}
	x := &t.expander
	outer := x.budget.failed
	x.budget.failed = false
	t.renderExpansion(text)
	failed := x.budget.failed
	if x.budget.failed = outer; failed && len(x.text) == 0 { // the hole is the template's, not the module's
		x.inner.losses = losses{}
		return fromWiki, false
	}
	t.putExpansion(text, given)
	x.budget.expanded++
	return fromWiki, true
}

// opWikitext renders a template from wikitext with parameters, as if it were the wiki's own
// definition.
func opWikitext(c call) {
	text, ok := c.substituted(c.rule.Text, c.given, c.all.start, c.all.end)
	if !ok {
		c.hole(c.given)
		return
	}
	c.renderExpansion(text)
	c.putExpansion(text, c.given)
}

// ownFirst reports whether a template with a rule has a definition that comes before the
// rule. It does unless the rule is the user's, or decides what is no text at all, or how
// whole lines are laid out.
func (t *templates) ownFirst(rule rendering.Rule, name []byte) bool {
	if rule.User || !t.wiki.expands() {
		return false
	}
	switch rule.Op {
	case rendering.OpDrop, rendering.OpVariable, rendering.OpBlock, rendering.OpItems, rendering.OpBreak, rendering.OpSound, rendering.OpListing, rendering.OpColumns:
		return false
	}
	return t.wiki.definition(name) != ""
}

// expandWhole renders a template that has a rule too from its definition, if the scanner can render all of the definition: no template in it leaves a hole, no function
// in it is unknown, and it shows something if the template has arguments. ok is false
// otherwise; then nothing is written or counted, and the rule is used.
func (t *templates) expandWhole(given span, i, e int) (ok bool) {
	source := t.wiki.definition(t.in.bytes(given))
	for range maxTemplateAlias {
		target, isAlias := strings.CutPrefix(source, rendering.Alias)
		if !isAlias {
			break
		}
		source = t.wiki.definition([]byte(target))
	}
	text, ok := t.substituted(source, given, i, e)
	if !ok {
		return false
	}
	x := &t.expander
	outer, failed := x.budget.unable, x.budget.failed
	x.budget.unable = false
	t.renderExpansion(text)
	ok = !x.budget.unable && x.inner.losses.holes.empty() && !bytes.Contains(x.text, []byte("{{{")) && (len(x.text) > 0 || t.in.nameEnd(i, e) == e)
	x.budget.unable, x.budget.failed = outer, failed
	if !ok {
		x.inner.losses = losses{}
		return false
	}
	t.putExpansion(text, given)
	x.budget.expanded++
	return true
}

// substituted returns a definition with its parameters replaced by the arguments in
// src[i:e], and counts it against the limits. ok is false if there is no definition or a
// limit is reached. The result is valid until the next call.
func (t *templates) substituted(definition string, given span, i, e int) (text []byte, ok bool) {
	budget := t.expander.budget
	if definition == "" || strings.HasPrefix(definition, rendering.Alias) || !budget.allow(len(definition)) {
		return nil, false
	}
	base := len(t.args)
	t.split(i, e)
	if t.expander.frame = nil; CallsModule(definition) {
		t.expander.frame = &scribunto.Frame{Title: "Template:" + string(t.wiki.templateTitle(t.in.bytes(given))), Args: t.frameArgs(t.args[base+1:]), Parent: t.frame}
	}
	text, ok = t.expander.subst.replace(definition, t.in.src, t.args[base:], maxExpandedBytes-budget.bytes)
	t.args = t.args[:base]
	budget.bytes += len(text)
	return text, ok
}

// renderExpansion renders the wikitext of an expansion to t.expander.text, without line
// breaks. What it loses is counted in the inner scanner.
func (t *templates) renderExpansion(source []byte) {
	x := &t.expander
	if x.inner == nil {
		x.inner = NewScanner(x.opt)
		x.inner.wiki.tables, x.inner.templates.expander.budget, x.inner.templates.modules = t.wiki.tables, x.budget, t.modules
	}
	x.inner.templates.frame = x.frame
	x.budget.depth++
	x.text = x.inner.AppendText(x.text[:0], source, t.wiki.page)
	x.budget.depth--
	for k, c := range x.text {
		if c == '\n' {
			x.text[k] = ' '
		}
	}
}

// putExpansion writes the text of an expansion, whose wikitext is source, and takes over
// the losses of the inner scanner.
func (t *templates) putExpansion(source []byte, given span) {
	x := &t.expander
	if x.budget.depth == 0 {
		t.dropUnset(given)
	}
	for name, hole := range x.inner.Holes() {
		t.losses.holes.add([]byte(name), hole.Uses, t.wiki.page.Title)
	}
	for name, n := range x.inner.Dropped() {
		t.losses.dropped.Add([]byte(name), n)
	}
	x.inner.losses = losses{}
	if startsBlank(source) && len(x.text) > 0 {
		t.str(" ")
	}
	t.text(x.text)
}

// dropUnset removes what stands for parameters without a value, "{{{1}}}", from the text of
// an expansion. A reader sees it as an error, so it is a hole.
func (t *templates) dropUnset(given span) {
	x := &t.expander
	for {
		i := bytes.Index(x.text, []byte("{{{"))
		if i < 0 {
			return
		}
		e := len(x.text)
		if k := bytes.Index(x.text[i:], []byte("}}}")); k >= 0 {
			e = i + k + len("}}}")
		}
		x.text = append(x.text[:i], x.text[e:]...)
		t.hole(given)
	}
}

// startsBlank reports whether an expansion begins with a space that separates it
// from the word before.
func startsBlank(source []byte) bool {
	return bytes.HasPrefix(source, []byte(" ")) || bytes.HasPrefix(source, []byte("&nbsp;")) || bytes.HasPrefix(source, []byte("&#32;"))
}

// A substitution replaces the parameters of a definition. The source of its braceFinder
// is the definition.
type substitution struct {
	braceFinder
	page source // the page, which contains the arguments
	args []argument
	out  []byte
	left int // bytes that may still be written; negative: the result is too long
}

// replace replaces the parameters of a definition, {{{1}}} and {{{name|default}}}, by the
// unexpanded arguments from the page. ok is false if the result is longer than limit. The
// result is valid until the next call.
func (b *substitution) replace(definition string, page []byte, args []argument, limit int) (text []byte, ok bool) {
	b.page.src, b.args, b.out, b.left = page, args, b.out[:0], limit
	b.load(append(b.src[:0], definition...))
	b.append(0, len(b.src), 0)
	b.page.src, b.args = nil, nil
	return b.out, b.left >= 0
}

// append appends src[i:e] with its parameters replaced.
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
		from, to := i+3, int(el.end)-3
		bar := b.nameEnd(from, to)
		if value, ok := b.value(b.bytes(b.trim(from, bar))); ok {
			b.write(value)
		} else if bar < to { // the default
			b.append(bar+1, b.nameEnd(bar+1, to), depth+1)
		} else { // a parameter without a value is shown as it is
			b.write(b.src[i:el.end])
		}
		i = int(el.end)
		start = i
	}
}

func (b *substitution) write(p []byte) {
	if b.left -= len(p); b.left >= 0 {
		b.out = append(b.out, p...)
	}
}

// value returns the argument with the given name or number; ok is false if there is
// none. If there are several, the last one is returned.
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
