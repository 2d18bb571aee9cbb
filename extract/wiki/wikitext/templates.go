package wikitext

import (
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
	// On many wikis, such as {{Polen}} on the German Wikipedia, the name of a country
	// shows a flag and the name; on English ones it is a navigation box.
	if !s.table.English() && s.table.IsOwnCountry(s.bytes(given)) && s.inSentence(i-2, e+2) {
		s.put(given)
		return
	}
	inSentence := s.budget.depth > 0 || s.inSentence(i-2, e+2) // what is expanded is in one
	if inSentence && s.expand(given, i, e) {
		return
	}
	s.dropped.Add(s.templateName(s.bytes(given)), 1)
	if inSentence {
		s.hole(given)
	}
}

// nameEnd returns the end of the name of the template whose text is b.src[i:e]:
// the first bar outside of templates and comments.
func (b *braces) nameEnd(i, e int) int { return b.outside(i, e, '|') }

// outside returns the offset of the first byte stop, a line feed or a bar, in
// b.src[i:e] outside of templates, comments and extension tags; e if there is
// none.
func (b *braces) outside(i, e int, stop byte) int {
	mask := class[stop] & (classLine | classArgument) // these have "{" and "<" too
	for {
		if i = b.skip(i, e, mask); i >= e || b.src[i] == stop {
			return i
		}
		i = b.step(i, e)
	}
}

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
func (s *source) trim(i, e int) span {
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

func (s *source) bytes(p span) []byte { return s.src[p.start:p.end] }

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

// hole counts a hole of the template with the name in given.
func (s *Scanner) hole(given span) {
	s.holes.add(s.templateName(s.bytes(given)), 1, s.page.Title)
}
