package wikitext

import (
	"bytes"
	"slices"

	"pretext/extract/wiki/internal/scribunto"
	"pretext/extract/wiki/rendering"
)

// maxDepth is the maximum nesting of templates. Deeper templates are dropped. MediaWiki
// limits the nesting too.
const maxDepth = 40

// maxArguments is the maximum number of arguments of a template. Further
// arguments are ignored.
const maxArguments = 512

// templates renders templates, parser functions and parameters.
type templates struct {
	pen
	in       *finder
	wiki     *wiki
	losses   *losses
	blocks   *blocks // renders arguments of whole lines
	tables   *tables
	expander expander
	modules  *modules
	frame    *scribunto.Frame // of the template whose definition is being rendered; nil in a page

	operations [rendering.OpVariable + 1]func(call) // by rendering.Op
	args       []argument                           // stack: arguments of the templates being rendered
	stray      int                                  // closing braces to drop after the current template
}

// reset starts a page.
func (t *templates) reset() { t.args, t.aside, t.stray = t.args[:0], t.aside[:0], 0 }

// braces renders the template or parameter at src[i], which is "{{", and returns the
// offset after it. If the braces are not closed, the rest of the line is dropped; but
// if a closed template begins in the same run of braces, only the braces before that
// template are dropped.
func (t *templates) braces(i, e int) (next int) {
	el, ok := t.in.elementAt(i)
	next = int(el.end)
	if !ok || next > e {
		if el, ok := t.in.elementInRun(i, runLength(t.in.src[:e], i)); ok && int(el.end) <= e {
			t.stray = int(el.start) - i
			return int(el.start)
		}
		t.removed()
		t.tables.residue = true
		return t.in.lineEnd(i, e)
	}
	if t.inline.depth >= maxDepth && el.width == 2 {
		t.tooDeep(i+2, next-2)
	} else if t.inline.depth < maxDepth {
		t.inline.depth++
		if el.width == 3 {
			t.parameter(i+3, next-3)
		} else {
			t.template(i+2, next-2)
		}
		t.inline.depth--
	}
	t.removed()
	for ; t.stray > 0 && next < e && t.in.src[next] == '}'; next++ {
		t.stray--
	}
	t.stray = 0
	return next
}

// tooDeep drops a template that is nested too deeply. src[i:e] is the text between its
// braces.
func (t *templates) tooDeep(i, e int) {
	given := t.in.trim(i, t.in.nameEnd(i, e))
	t.hole(given)
	if t.expander.budget.depth == 0 {
		t.losses.uses.add(asHole, t.wiki.templateName(t.in.bytes(given)))
	}
}

// parameter renders {{{name|default}}} as its default, because a page has no
// parameters. src[i:e] is the text between the braces.
func (t *templates) parameter(i, e int) {
	base := len(t.args)
	t.split(i, e)
	if args := t.args[base:]; len(args) > 1 {
		lo := args[1].value.start
		if !args[1].key.empty() {
			lo = args[1].key.start
		}
		t.inline.render(lo, args[1].value.end, modeArgument)
	} else if t.expander.budget.depth > 0 { // shown as it is; see putExpansion
		t.str("{{{")
		t.text(t.in.src[i:e])
		t.str("}}}")
	}
	t.args = t.args[:base]
}

// template renders a template. src[i:e] is the text between its braces. A template is
// rendered by the first of these that applies: a rule of the user's files, the wiki's own
// definition, a rule that is compiled in. What is left is a hole.
func (t *templates) template(i, e int) {
	given := t.in.behindSubst(t.in.trim(i, t.in.nameEnd(i, e)))
	name := t.in.bytes(given)
	rule, f, known := t.wiki.resolve(name)
	source := byRule
	switch {
	case !known:
		source = t.unknown(given, i, e)
	case f == funcDrop || f == funcNone && rule.Op == rendering.OpDrop:
	case f == funcUnable:
		source = t.unable(given, i, e)
	case f == funcInvoke:
		source = t.invoke(given, i, e)
	case f == funcNone && t.ownFirst(rule, name) && (isHead(rule.Op) || t.within(i, e)) && t.expandWhole(given, i, e):
		source = fromWiki
	default:
		source = t.call(rule, f, given, i, e)
	}
	if t.expander.budget.depth == 0 {
		if known && f != funcNone {
			name = functionName(name)
		}
		t.losses.uses.add(source, t.wiki.templateName(name))
	}
}

// isHead reports whether an operation renders the headword of a dictionary, which stands alone
// on a line and is text all the same.
func isHead(op rendering.Op) bool {
	switch op {
	case rendering.OpTitle, rendering.OpHead, rendering.OpHeadNoun, rendering.OpHeadEnglish:
		return true
	}
	return false
}

// behindSubst returns a name without the words "subst:" and "safesubst:" before it. When a page
// is shown they change nothing; many definitions begin their calls with them.
func (s *source) behindSubst(name span) span {
	for !name.empty() && s.src[name.start]|0x20 == 's' {
		text := s.bytes(name)
		k := bytes.IndexByte(text, ':')
		if k < 0 || !bytes.EqualFold(text[:k], []byte("subst")) && !bytes.EqualFold(text[:k], []byte("safesubst")) {
			break
		}
		name = s.trim(name.start+k+1, name.end)
	}
	return name
}

// functionName returns the name of a parser function without its first argument, which
// stands in the same place: "#if:" ends the name of "#if: x". The module of #invoke is part
// of its name.
func functionName(given []byte) []byte {
	if function, _, ok := bytes.Cut(given, []byte(":")); ok && !bytes.EqualFold(function, []byte("#invoke")) {
		return function
	}
	return given
}

// ruleSource returns the source of a text that a rule gives.
func ruleSource(rule rendering.Rule) Source {
	switch {
	case rule.User:
		return fromUser
	case rule.Confirmed:
		return fromConfirmed
	}
	return fromUnconfirmed
}

// call renders a template by a rule, or by the function f if f is not funcNone. given
// is the name and src[i:e] the text between the braces.
func (t *templates) call(rule rendering.Rule, f function, given span, i, e int) (source Source) {
	base := len(t.args)
	t.split(i, e)
	c := call{templates: t, rule: rule, given: given, all: span{i, e}, args: t.args[base:]}
	c.args[0].value.start = given.start
	source = ruleSource(rule)
	if f != funcNone {
		for k, a := range c.args { // parser functions have no named arguments
			c.args[k] = argument{value: t.in.trim(a.from, a.value.end), from: a.from, equal: a.equal}
		}
		c.args[0].value.start = given.start
		c.from = fromFunction
		c.function(f)
		source = c.from
	} else if op := t.operations[rule.Op]; op != nil {
		before, others := len(t.writer.out), t.losses.holes.page-t.losses.uses.page[asHole]
		op(c)
		switch {
		case len(t.writer.out) != before:
		case t.losses.holes.page-t.losses.uses.page[asHole] != others: // not those of templates in arguments
			source = asHole
		case c.vanished() && t.within(i, e):
			t.hole(given)
			source = asHole
		}
	}
	t.args = t.args[:base]
	return source
}

// vanished reports whether a template whose rule has written nothing should have shown
// something: it has an argument that is text, and the rule does not drop texts on purpose.
func (c *call) vanished() bool {
	switch c.rule.Op {
	case rendering.OpBreak, rendering.OpSound, rendering.OpText: // a pronunciation in parentheses is dropped; {{FRA|#}} is a flag alone
		return false
	case rendering.OpWikitext:
		if c.rule.N == 1 {
			return false
		}
	}
	return slices.ContainsFunc(c.args[1:], func(a argument) bool {
		// Rendering arguments again would cost exponential time in their depth. One
		// that begins with markup may show nothing, such as an image.
		return a.key.empty() && !a.value.empty() && bytes.IndexByte([]byte("[{<'"), c.in.src[a.value.start]) < 0
	})
}

// unknown handles a template without a rule. In a sentence, the template is expanded if
// the wiki's definition is available. Otherwise it is dropped and counted. The result is
// the source of the text, or why there is none.
func (t *templates) unknown(given span, i, e int) Source {
	if given.empty() {
		return byRule
	}
	name := t.in.bytes(given)
	// On most wikis, a template named like a country, such as {{Polen}} on the German
	// Wikipedia, shows a flag and the name. On English wikis it is a navigation box.
	if !t.wiki.table.English() && t.wiki.table.IsOwnCountry(name) && inSentence(t.in.src, i-2, e+2) {
		t.put(given)
		return fromUnconfirmed
	}
	within := t.within(i, e)
	if within {
		if source, ok := t.expand(given, i, e); ok {
			return source
		}
	}
	t.losses.dropped.Add(t.wiki.templateName(name), 1)
	if within {
		t.hole(given)
		return asHole
	}
	return apart
}

// within reports whether the template whose text is src[i:e] stands in a sentence of the
// page, or in a definition that is being expanded. Only such templates are expanded.
func (t *templates) within(i, e int) bool {
	return t.expander.budget.depth > 0 || inSentence(t.in.src, i-2, e+2)
}

// unable drops a function whose value is not in the dump. In a sentence this leaves a hole; a definition that needs the value is not used.
func (t *templates) unable(given span, i, e int) Source {
	t.expander.budget.unable = true
	if !t.within(i, e) {
		return apart
	}
	name := functionName(t.in.bytes(given))
	t.losses.dropped.Add(t.wiki.templateName(name), 1)
	t.losses.holes.add(t.wiki.templateName(name), 1, t.wiki.page.Title)
	return asHole
}

// nameEnd returns the end of the name of the template whose text is src[i:e]:
// the first bar outside of templates and comments.
func (b *braceFinder) nameEnd(i, e int) int { return b.outside(i, e, '|') }

// outside returns the offset of the first byte stop (a line feed or a bar) in src[i:e]
// outside of templates, comments and extension tags. It returns e if there is none.
func (b *braceFinder) outside(i, e int, stop byte) int {
	mask := class[stop] & (classLine | classArgument) // these classes include "{" and "<"
	for {
		if i = b.skip(i, e, mask); i >= e || b.src[i] == stop {
			return i
		}
		if stop == '|' && b.src[i] == '[' { // bars in links do not count
			if el, ok := b.elementAt(i); ok && int(el.end) <= e {
				i = int(el.end)
				continue
			}
		}
		i = b.step(i, e)
	}
}

// split pushes the name and the arguments of the template text src[i:e] on the stack
// t.args. They are separated by bars; bars inside templates, links, comments and
// extension tags do not count. The name is pushed like a positional argument.
func (t *templates) split(i, e int) {
	base := len(t.args)
	start, equal := i, -1
	work := 0
	for {
		from := i
		i = t.in.skip(i, e, classArgument)
		work += i + 1 - from
		if i >= e {
			break
		}
		switch t.in.src[i] {
		case '[':
			if el, ok := t.in.elementAt(i); ok && int(el.end) <= e {
				i = int(el.end)
				continue
			}
		case '=':
			if equal < 0 && len(t.args) > base {
				equal = i
			}
		case '|':
			if len(t.args)-base < maxArguments {
				t.addArgument(start, i, equal)
			}
			start, equal = i+1, -1
		}
		i = t.in.step(i, e)
	}
	t.addArgument(start, e, equal)
	t.in.work += work
}

// addArgument pushes the argument src[i:e]. equal is the offset of its first "=", or
// -1. The argument is named if the text before "=" is a valid name.
func (t *templates) addArgument(i, e, equal int) {
	a := argument{from: i, equal: equal}
	if equal >= 0 {
		if key := t.in.trim(i, equal); isKey(t.in.src[key.start:key.end]) {
			a.key = key
			i = equal + 1
		}
	}
	a.value = t.in.trim(i, e)
	t.args = append(t.args, a)
}

// maxKey is the maximum length of an argument's name in bytes.
const maxKey = 64

// isKey reports whether b can be the name of an argument. MediaWiki accepts any text
// before an equals sign. isKey rejects tag attributes and URL queries, because their
// authors did not mean a named argument.
func isKey(b []byte) bool {
	return len(b) > 0 && len(b) <= maxKey && skip(b, 0, classNoKey) == len(b)
}

// trim returns the span of src[i:e] without white space at both ends.
func (s *source) trim(i, e int) span {
	for i < e && class[s.src[i]]&classSpace != 0 {
		i++
	}
	for e > i && class[s.src[e-1]]&classSpace != 0 {
		e--
	}
	return span{i, e}
}

// hole counts a [Hole] of the template whose name is in given.
func (t *templates) hole(given span) {
	t.losses.holes.add(t.wiki.templateName(t.in.bytes(given)), 1, t.wiki.page.Title)
}
