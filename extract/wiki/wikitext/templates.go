package wikitext

import (
	"pretext/extract/wiki/rendering"
)

// maxDepth is the maximum nesting of templates, which MediaWiki limits too.
// Deeper templates are dropped.
const maxDepth = 40

// maxArguments is the maximum number of arguments of a template. Further
// arguments are ignored.
const maxArguments = 512

// A templates renders templates, parser functions and parameters.
type templates struct {
	pen
	in       *finder
	wiki     *wiki
	losses   *losses
	blocks   *blocks // renders arguments of whole lines
	tables   *tables
	expander expander

	operations [rendering.OpVariable + 1]func(call) // by rendering.Op
	args       []argument                           // of the templates being rendered, a stack
	stray      int                                  // closing braces to drop after the current template
}

// reset starts a page.
func (t *templates) reset() { t.args, t.aside, t.stray = t.args[:0], t.aside[:0], 0 }

// braces renders the template or parameter at src[i], which is "{{", and
// returns the offset after it. Of unclosed braces, the rest of the line is dropped;
// but if a closed template begins in the same run, only the braces before it.
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
	if t.inline.depth < maxDepth {
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

// parameter renders {{{name|default}}}, whose name and default are in
// src[i:e], as the default, because a page has no parameters.
func (t *templates) parameter(i, e int) {
	base := len(t.args)
	t.split(i, e)
	if args := t.args[base:]; len(args) > 1 {
		lo := args[1].value.start
		if !args[1].key.empty() {
			lo = args[1].key.start
		}
		t.inline.render(lo, args[1].value.end, modeArgument)
	}
	t.args = t.args[:base]
}

// template renders the template whose name and arguments are in src[i:e].
func (t *templates) template(i, e int) {
	given := t.in.trim(i, t.in.nameEnd(i, e))
	rule, f, known := t.wiki.resolve(t.in.bytes(given))
	switch {
	case !known:
		t.unknown(given, i, e)
	case f == funcDrop || f == funcNone && rule.Op == rendering.OpDrop:
	default:
		t.call(rule, f, given, i, e)
	}
}

// call renders the template with the name given and the text src[i:e] by a rule, or
// the function f.
func (t *templates) call(rule rendering.Rule, f function, given span, i, e int) {
	base := len(t.args)
	t.split(i, e)
	c := call{templates: t, rule: rule, given: given, args: t.args[base:]}
	if f != funcNone {
		c.function(f)
	} else if op := t.operations[rule.Op]; op != nil {
		op(c)
	}
	t.args = t.args[:base]
}

// unknown handles a template that the data do not know. In a sentence it is
// expanded if the wiki's definition is known; else it is dropped and counted.
func (t *templates) unknown(given span, i, e int) {
	if given.empty() {
		return
	}
	name := t.in.bytes(given)
	// On many wikis, such as {{Polen}} on the German Wikipedia, the name of a country
	// shows a flag and the name; on English ones it is a navigation box.
	if !t.wiki.table.English() && t.wiki.table.IsOwnCountry(name) && inSentence(t.in.src, i-2, e+2) {
		t.put(given)
		return
	}
	within := t.expander.budget.depth > 0 || inSentence(t.in.src, i-2, e+2) // what is expanded is in one
	if within && t.expand(given, i, e) {
		return
	}
	t.losses.dropped.Add(t.wiki.templateName(name), 1)
	if within {
		t.hole(given)
	}
}

// nameEnd returns the end of the name of the template whose text is src[i:e]:
// the first bar outside of templates and comments.
func (b *braceFinder) nameEnd(i, e int) int { return b.outside(i, e, '|') }

// outside returns the offset of the first byte stop, a line feed or a bar, in
// src[i:e] outside of templates, comments and extension tags; e if there is
// none.
func (b *braceFinder) outside(i, e int, stop byte) int {
	mask := class[stop] & (classLine | classArgument) // these have "{" and "<" too
	for {
		if i = b.skip(i, e, mask); i >= e || b.src[i] == stop {
			return i
		}
		i = b.step(i, e)
	}
}

// split pushes the name and the arguments of the template text src[i:e] on
// the stack t.args. They are separated by bars outside of templates, links,
// comments and extension tags. The name is pushed like a positional argument.
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

// addArgument pushes the argument src[i:e]. It is a named argument if equal,
// the offset of its first "=" or -1, follows a valid name.
func (t *templates) addArgument(i, e, equal int) {
	if equal >= 0 {
		if key := t.in.trim(i, equal); isKey(t.in.src[key.start:key.end]) {
			t.args = append(t.args, argument{key: key, value: t.in.trim(equal+1, e)})
			return
		}
	}
	t.args = append(t.args, argument{value: t.in.trim(i, e)})
}

// maxKey is the maximum length of an argument's name in bytes.
const maxKey = 64

// isKey reports whether b can be the name of an argument. MediaWiki accepts any
// text before an equals sign; here tag attributes and URL queries are excluded,
// because their authors did not mean a named argument.
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

// hole counts a hole of the template with the name in given.
func (t *templates) hole(given span) {
	t.losses.holes.add(t.wiki.templateName(t.in.bytes(given)), 1, t.wiki.page.Title)
}
