package wikitext

import (
	"bytes"
	"iter"

	"pretext/extract/wiki/rendering"
)

// maxDepth is the maximum nesting of templates, which MediaWiki limits too.
// Deeper templates are dropped.
const maxDepth = 40

// maxArguments is the maximum number of arguments of a template. Further
// arguments are ignored.
const maxArguments = 512

// A span is the range of bytes [start, end) of the source.
type span struct{ start, end int }

func (p span) empty() bool { return p.start >= p.end }

// An argument is an argument of a template, named or positional.
type argument struct {
	key   span // empty: positional
	value span // without surrounding white space
}

// braces renders the template or parameter at s.src[i], which is "{{", and
// returns the offset after it.
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

// openBraces drops the unclosed braces at s.src[i] and returns the offset after
// the dropped part. If a closed template begins in the same run of braces, only
// the braces before it are dropped, else the rest of the line.
func (s *Scanner) openBraces(i, e int) (next int) {
	if el, ok := s.elementInRun(i, runLength(s.src[:e], i)); ok && int(el.end) <= e {
		s.stray = int(el.start) - i
		return int(el.start)
	}
	s.removed()
	s.residue = true
	return s.lineEnd(i, e)
}

// parameter renders {{{name|default}}}, whose name and default are in
// s.src[i:e], as the default, because a page has no parameters.
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

// template renders the template whose name and arguments are in s.src[i:e].
func (s *Scanner) template(i, e int) {
	given := s.trim(i, s.nameEnd(i, e))
	t, f, known := s.resolve(s.bytes(given))
	if !known {
		s.unknown(given, i, e)
		return
	}
	if f == funcDrop || f == funcNone && t.Op == rendering.OpDrop {
		return
	}
	base, enclosing := len(s.args), s.given
	s.given = given
	s.split(i, e)
	if f != funcNone {
		s.function(f, s.args[base:])
	} else {
		s.render(t, s.args[base:])
	}
	s.args, s.given = s.args[:base], enclosing
}

// unknown handles a template that the data do not know. In a sentence it is
// expanded if the wiki's definition is known; else it is dropped and counted.
func (s *Scanner) unknown(given span, i, e int) {
	if given.empty() {
		return
	}
	if s.isCountryName(given) && s.inSentence(i-2, e+2) {
		s.put(given)
		return
	}
	inSentence := s.budget.depth > 0 || s.inSentence(i-2, e+2) // what is expanded is in one
	if inSentence && s.expand(given, i, e) {
		return
	}
	s.dropped.Add(s.templateName(s.bytes(given)), 1)
	if inSentence {
		s.countHole(given)
	}
}

// resolve returns the template or function with the name given, as it stands in
// the source; known is false if there is none.
func (s *Scanner) resolve(given []byte) (t rendering.Rule, f function, known bool) {
	slot := s.names.slot(given)
	if slot != nil && string(slot.name[:slot.length]) == string(given) {
		return slot.template, slot.function, true
	}
	name := s.templateName(given)
	if f = functionOf(name); f == funcNone {
		if t, known = s.lookUp(name, given); !known {
			return t, f, false
		}
		if t.Op == rendering.OpVariable {
			f = function(t.N)
		}
	}
	if slot != nil {
		slot.length = uint8(copy(slot.name[:], given))
		slot.template, slot.function = t, f
	}
	return t, f, true
}

// A nameCache caches what template names in the source refer to. It is a
// direct-mapped hash table: most templates of a page have one of few names.
type nameCache [64]nameSlot

type nameSlot struct {
	name     [23]byte // as in the source
	length   uint8
	template rendering.Rule
	function function
}

// slot returns the cache slot for a name; nil for an empty name or one that is
// too long.
func (c *nameCache) slot(name []byte) *nameSlot {
	n := len(name)
	if n == 0 || n > len(c[0].name) {
		return nil
	}
	return &c[(uint(name[0])+3*uint(name[n-1])+7*uint(name[n/2])+13*uint(n))%uint(len(c))]
}

// nameEnd returns the end of the name of the template whose text is s.src[i:e]:
// the first bar outside of templates and comments.
func (s *Scanner) nameEnd(i, e int) int { return s.outside(i, e, '|') }

// outside returns the offset of the first byte stop, a line feed or a bar, in
// s.src[i:e] outside of templates, comments and extension tags; e if there is
// none.
func (s *Scanner) outside(i, e int, stop byte) int {
	mask := class[stop] & (classLine | classArgument) // these have "{" and "<" too
	for {
		if i = s.skip(i, e, mask); i >= e || s.src[i] == stop {
			return i
		}
		i = s.step(i, e)
	}
}

// templateName returns the name of a template in lower case, without its
// namespace ("Template:"). The result is valid until the next use of s.name.
func (s *Scanner) templateName(b []byte) []byte {
	if len(b) > maxTemplateName && bytes.IndexByte(b[:maxTemplateName], ':') < 0 {
		return nil
	}
	b = b[:min(len(b), maxTemplateName)]
	name := fold(&s.name, trimSpace(b))
	if k := bytes.IndexByte(name, ':'); k > 0 && (templateWords[string(name[:k])] || string(name[:k]) == s.page.Template) {
		name = trimSpace(name[k+1:])
	}
	return name
}

// maxTemplateName is the maximum length of a title in bytes.
const maxTemplateName = 255

// templateWords are the names of the template namespace in some languages, and
// the words that may precede a name for substitution ("subst:").
var templateWords = makeSet("template", "vorlage", "modèle", "plantilla", "шаблон", "predefinição", "sjabloon",
	"szablon", "mall", "πρότυπο", "subst", "safesubst", "msg", "msgnw")

// split pushes the name and the arguments of the template text s.src[i:e] on
// the stack s.args. They are separated by bars outside of templates, links,
// comments and extension tags. The name is pushed like a positional argument.
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

// addArgument pushes the argument s.src[i:e]. It is a named argument if equal,
// the offset of its first "=" or -1, follows a valid name.
func (s *Scanner) addArgument(i, e, equal int) {
	if equal >= 0 {
		if key := s.trim(i, equal); isKey(s.src[key.start:key.end]) {
			s.args = append(s.args, argument{key: key, value: s.trim(equal+1, e)})
			return
		}
	}
	s.args = append(s.args, argument{value: s.trim(i, e)})
}

// maxKey is the maximum length of an argument's name in bytes.
const maxKey = 64

// isKey reports whether b can be the name of an argument. MediaWiki accepts any
// text before an equals sign; here tag attributes and URL queries are excluded,
// because their authors did not mean a named argument.
func isKey(b []byte) bool {
	return len(b) > 0 && len(b) <= maxKey && skip(b, 0, classNoKey) == len(b)
}

// trim returns the span of s.src[i:e] without white space at both ends.
func (s *Scanner) trim(i, e int) span {
	for i < e && class[s.src[i]]&classSpace != 0 {
		i++
	}
	for e > i && class[s.src[e-1]]&classSpace != 0 {
		e--
	}
	return span{i, e}
}

// positional yields the numbers, from 1, and values of the positional
// arguments. args[0] is the name of the template.
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

// arg returns the value of positional argument n, counted from 1, which may
// also be given as a named argument {{x|1=…}}. It is empty if not given.
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

// named returns the first non-empty value of the arguments named by keys, tried
// in that order; or an empty span.
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

// is reports whether the argument named key has a value other than "no", "n",
// "off", "0" and "false".
func (s *Scanner) is(args []argument, key string) bool {
	switch string(s.bytes(s.named(args, key))) {
	case "", "no", "n", "off", "0", "false":
		return false
	}
	return true
}

func (s *Scanner) bytes(p span) []byte { return s.src[p.start:p.end] }

// put renders the markup in p.
func (s *Scanner) put(p span) {
	if !p.empty() {
		s.inline(p.start, p.end, modeArgument)
	}
}

// capture renders p on the stack s.aside instead of the output, for text that
// must be examined before it is written. The text is valid until release(mark)
// removes it.
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

// release removes what was captured since capture returned mark.
func (s *Scanner) release(mark int) { s.aside = s.aside[:mark] }
