package wikitext

import (
	"bytes"
	"iter"
)

// maxDepth is the maximum nesting of templates, as in MediaWiki. Deeper templates are
// dropped.
const maxDepth = 40

// maxArguments is the maximum number of arguments of a template; further ones are
// ignored.
const maxArguments = 512

// A span is a piece of the source.
type span struct{ start, end int }

func (p span) empty() bool { return p.start >= p.end }

// An argument of a template, named or positional.
type argument struct {
	key   span // empty: positional
	value span // without surrounding white space
}

// braces renders the template or parameter at i, "{{".
func (s *Scanner) braces(i, e int) (next int) {
	el, ok := s.elementAt(i)
	next = int(el.end)
	if !ok || next > e {
		return s.openBraces(i, e)
	}
	if s.depth < maxDepth {
		s.depth++
		if el.width == 3 {
			s.parameter(i+3, next-3)
		} else {
			s.template(i+2, next-2)
		}
		s.depth--
	}
	s.removed()
	for ; s.stray > 0 && next < e && s.src[next] == '}'; next++ {
		s.stray--
	}
	s.stray = 0
	return next
}

// openBraces drops unclosed braces: those before a template in the same run, or
// else the rest of the line.
func (s *Scanner) openBraces(i, e int) (next int) {
	if el, ok := s.elementInRun(i, runLength(s.src[:e], i)); ok && int(el.end) <= e {
		s.stray = int(el.start) - i
		return int(el.start)
	}
	s.removed()
	s.residue = true
	return s.lineEnd(i, e)
}

// parameter renders {{{name|default}}}, which shows its default on a page.
func (s *Scanner) parameter(i, e int) {
	base := len(s.args)
	s.split(i, e)
	if args := s.args[base:]; len(args) > 1 {
		lo := args[1].value.start
		if !args[1].key.empty() {
			lo = args[1].key.start
		}
		s.inline(lo, args[1].value.end, modeArgument)
	}
	s.args = s.args[:base]
}

// template renders the template with the text src[i:e] between its braces.
func (s *Scanner) template(i, e int) {
	given := s.trim(i, s.nameEnd(i, e))
	t, f := s.resolve(s.bytes(given))
	if f == funcDrop || f == funcNone && t.op == opDrop {
		return
	}
	base := len(s.args)
	s.split(i, e)
	if f != funcNone {
		s.function(f, s.args[base:])
	} else {
		s.render(t, s.args[base:])
	}
	s.args = s.args[:base]
}

// resolve returns the template or function with a name, given as in the source.
// Unknown names are counted.
func (s *Scanner) resolve(given []byte) (t template, f function) {
	slot := s.names.slot(given)
	if slot != nil && string(slot.name[:slot.length]) == string(given) {
		return slot.template, slot.function
	}
	name := s.templateName(given)
	if f = functionOf(name); f == funcNone {
		known := false
		if t, known = lookUp(name, given); !known {
			if len(name) > 0 {
				s.dropped.Add(name, 1)
			}
			return t, f
		}
		if t.op == opVariable {
			f = function(t.n)
		}
	}
	if slot != nil {
		slot.length = uint8(copy(slot.name[:], given))
		slot.template, slot.function = t, f
	}
	return t, f
}

// A nameCache caches what template names refer to. It is direct-mapped; most
// uses on a page are of few names.
type nameCache [64]nameSlot

type nameSlot struct {
	name     [23]byte // as in the source
	length   uint8
	template template
	function function
}

// slot returns the slot of a name; nil for an empty or too long name.
func (c *nameCache) slot(name []byte) *nameSlot {
	n := len(name)
	if n == 0 || n > len(c[0].name) {
		return nil
	}
	return &c[(uint(name[0])+3*uint(name[n-1])+7*uint(name[n/2])+13*uint(n))%uint(len(c))]
}

// nameEnd returns the end of the name of a template: the first bar outside of
// templates and comments.
func (s *Scanner) nameEnd(i, e int) int { return s.outside(i, e, '|') }

// outside returns where stop, a line feed or a bar, first occurs in src[i:e]
// outside of templates, comments and extension tags; e if it does not.
func (s *Scanner) outside(i, e int, stop byte) int {
	mask := class[stop] & (classLine | classArgument) // these have "{" and "<" too
	for {
		if i = s.skip(i, e, mask); i >= e || s.src[i] == stop {
			return i
		}
		i = s.step(i, e)
	}
}

// templateName folds the name of a template and removes its namespace. The
// result is valid until the next name is folded.
func (s *Scanner) templateName(b []byte) []byte {
	if len(b) > maxTemplateName && bytes.IndexByte(b[:maxTemplateName], ':') < 0 {
		return nil
	}
	b = b[:min(len(b), maxTemplateName)]
	name := fold(&s.name, trimSpace(b))
	if k := bytes.IndexByte(name, ':'); k > 0 && templateWords[string(name[:k])] {
		name = trimSpace(name[k+1:])
	}
	return name
}

// maxTemplateName is the maximum length of a title in bytes.
const maxTemplateName = 255

// templateWords are the names of the template namespace, and the words before
// the name of a substituted template.
var templateWords = makeSet("template", "vorlage", "modèle", "plantilla", "шаблон", "predefinição", "sjabloon",
	"szablon", "mall", "πρότυπο", "subst", "safesubst", "msg", "msgnw")

// split pushes the name and arguments of a template on the stack s.args: the
// text between bars outside of templates, links, comments and extension tags.
// The name is a positional argument.
func (s *Scanner) split(i, e int) {
	base := len(s.args)
	start, equal := i, -1
	work := 0
	for {
		from := i
		i = s.skip(i, e, classArgument)
		work += i + 1 - from
		if i >= e {
			break
		}
		switch s.src[i] {
		case '[':
			if el, ok := s.elementAt(i); ok && int(el.end) <= e {
				i = int(el.end)
				continue
			}
		case '=':
			if equal < 0 && len(s.args) > base {
				equal = i
			}
		case '|':
			if len(s.args)-base < maxArguments {
				s.addArgument(start, i, equal)
			}
			start, equal = i+1, -1
		}
		i = s.step(i, e)
	}
	s.addArgument(start, e, equal)
	s.work += work
}

// addArgument adds the argument src[i:e], named if equal, the place of its
// first "=", is not -1 and follows a key.
func (s *Scanner) addArgument(i, e, equal int) {
	if equal >= 0 {
		if key := s.trim(i, equal); isKey(s.src[key.start:key.end]) {
			s.args = append(s.args, argument{key: key, value: s.trim(equal+1, e)})
			return
		}
	}
	s.args = append(s.args, argument{value: s.trim(i, e)})
}

// maxKey is the longest name of an argument in bytes.
const maxKey = 64

// isKey reports whether b can name an argument. MediaWiki accepts any text
// before an equals sign; here attributes of tags and queries of URLs are
// excluded, because their authors did not mean an argument.
func isKey(b []byte) bool {
	return len(b) > 0 && len(b) <= maxKey && skip(b, 0, classNoKey) == len(b)
}

// trim returns src[i:e] without surrounding white space.
func (s *Scanner) trim(i, e int) span {
	for i < e && class[s.src[i]]&classSpace != 0 {
		i++
	}
	for e > i && class[s.src[e-1]]&classSpace != 0 {
		e--
	}
	return span{i, e}
}

// positional yields the positional arguments with their numbers, from 1.
func positional(args []argument) iter.Seq2[int, span] {
	return func(yield func(int, span) bool) {
		n := 0
		for _, a := range args[1:] {
			if a.key.empty() {
				if n++; !yield(n, a.value) {
					return
				}
			}
		}
	}
}

// arg returns the value of positional argument n, from 1, which may also be
// named by its number.
func (s *Scanner) arg(args []argument, n int) span {
	found := span{}
	place := 0
	for _, a := range args[1:] {
		if a.key.empty() {
			if place++; place == n {
				found = a.value
			}
			continue
		}
		if key := s.src[a.key.start:a.key.end]; len(key) == 1 && int(key[0]) == '0'+n {
			found = a.value
		}
	}
	return found
}

// named returns the first non-empty value of some named arguments.
func (s *Scanner) named(args []argument, keys ...string) span {
	for _, key := range keys {
		for _, a := range args[1:] {
			if string(s.src[a.key.start:a.key.end]) == key && !a.value.empty() {
				return a.value
			}
		}
	}
	return span{}
}

// is reports whether a named argument is given and not "no" or the like.
func (s *Scanner) is(args []argument, key string) bool {
	switch string(s.bytes(s.named(args, key))) {
	case "", "no", "n", "off", "0", "false":
		return false
	}
	return true
}

func (s *Scanner) bytes(p span) []byte { return s.src[p.start:p.end] }

// put renders an argument.
func (s *Scanner) put(p span) {
	if !p.empty() {
		s.inline(p.start, p.end, modeArgument)
	}
}

// capture renders an argument to the stack s.aside, for text that must be
// examined before it is written. The result is valid until release removes it.
func (s *Scanner) capture(p span) (text []byte, mark int) {
	savedOutput, savedQuotes := s.output, s.quotes
	at := len(s.out)
	s.output = output{out: s.out, base: s.base, line: at, bol: true, head: true}
	s.quotes.reset(at)
	s.put(p)
	s.endQuotes()
	mark = len(s.aside)
	s.aside = append(s.aside, s.out[at:]...)
	savedOutput.out = s.out[:at]
	s.output, s.quotes = savedOutput, savedQuotes
	return s.aside[mark:], mark
}

func (s *Scanner) release(mark int) { s.aside = s.aside[:mark] }
