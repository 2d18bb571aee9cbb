package wikitext

import (
	"bytes"
	"iter"
	"strings"

	"pretext/extract/wiki/rendering"
)

// A span is the range of bytes [start, end) of the source.
type span struct{ start, end int }

func (p span) empty() bool { return p.start >= p.end }

// An argument is a named or positional argument of a template.
type argument struct {
	key   span // empty: positional
	value span // without surrounding white space
	from  int  // offset of the whole argument
	equal int  // offset of its first "="; -1: none
}

// A pen writes what templates show. Text that must be examined before it is written
// is captured on a stack.
type pen struct {
	*writer
	inline *inline // renders arguments
	aside  []byte  // captured text, a stack
}

// put renders the source in the span at.
func (p *pen) put(at span) {
	if !at.empty() {
		p.inline.render(at.start, at.end, modeArgument)
	}
}

// affixed renders an argument between two strings. It writes nothing if the
// argument is empty.
func (p *pen) affixed(before string, at span, after string) {
	if at.empty() {
		return
	}
	p.str(before)
	p.put(at)
	p.str(after)
}

// capture renders the source in the span at to the stack p.aside instead of the output.
// The text is valid until release(mark) removes it.
func (p *pen) capture(at span) (text []byte, mark int) {
	saved := p.divert()
	p.put(at)
	mark = len(p.aside)
	p.aside = append(p.aside, p.resume(saved)...)
	return p.aside[mark:], mark
}

// raw is like capture, but renders templates alone: all other markup stays as it is, as
// conditions see it. known is false if the value depends on a hole.
func (c *call) raw(at span) (text []byte, known bool) {
	mark := len(c.aside)
	holes := c.losses.holes.page
	for i := at.start; i < at.end; {
		k := bytes.Index(c.in.src[i:at.end], []byte("{{"))
		if k < 0 {
			c.aside = append(c.aside, c.in.src[i:at.end]...)
			break
		}
		c.aside = append(c.aside, c.in.src[i:i+k]...)
		i += k
		el, ok := c.in.elementAt(i)
		if !ok || int(el.end) > at.end {
			c.aside = append(c.aside, c.in.src[i])
			i++
			continue
		}
		c.capture(span{i, int(el.end)})
		i = int(el.end)
	}
	return trimSpace(c.aside[mark:]), c.losses.holes.page == holes
}

// release removes the text captured since the call of capture that returned mark.
func (p *pen) release(mark int) { p.aside = p.aside[:mark] }

// A call is one use of a template or parser function. Operations, which render
// templates, are functions of a call and have no state of their own.
type call struct {
	*templates
	rule  rendering.Rule
	given span       // the template's name as written in the source
	all   span       // the text between its braces
	from  Source     // of a parser function's text
	args  []argument // args[0] is the name
}

// bytes returns the source of an argument.
func (c *call) bytes(p span) []byte { return c.in.bytes(p) }

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
func (c *call) arg(n int) span {
	found := span{}
	place := 0
	for _, a := range c.args[1:] {
		if a.key.empty() {
			if place++; place == n {
				found = a.value
			}
			continue
		}
		if key := c.in.src[a.key.start:a.key.end]; len(key) == 1 && int(key[0]) == '0'+n {
			found = a.value
		}
	}
	return found
}

// either returns the first of two arguments that is not empty.
func either(p, q span) span {
	if p.empty() {
		return q
	}
	return p
}

// named returns the first non-empty value of the arguments named by keys, tried
// in that order; or an empty span.
func (c *call) named(keys ...string) span {
	for _, key := range keys {
		for _, a := range c.args[1:] {
			if string(c.in.src[a.key.start:a.key.end]) == key && !a.value.empty() {
				return a.value
			}
		}
	}
	return span{}
}

// is reports whether the argument named key has a value other than "no", "n",
// "off", "0" and "false".
func (c *call) is(key string) bool {
	switch string(c.in.bytes(c.named(key))) {
	case "", "no", "n", "off", "0", "false":
		return false
	}
	return true
}

// quoted renders an argument between the two halves of the rule's text.
func (c *call) quoted(p span) {
	before, after, _ := strings.Cut(c.rule.Text, "|")
	c.affixed(before, p, after)
}

// lastArgument returns the last non-empty positional argument. If n > 0, only
// the first n count.
func (c *call) lastArgument(n int) span {
	last := span{}
	for place, value := range positional(c.args) {
		if n > 0 && place > n {
			break
		}
		if !value.empty() {
			last = value
		}
	}
	return last
}

// joined renders the non-empty positional arguments from number n on, separated by
// form. If form has three parts, separated by "|", they come before, between and
// after the arguments.
func (c *call) joined(n int, form string) {
	before, rest, _ := strings.Cut(form, "|")
	between, after, ok := strings.Cut(rest, "|")
	if !ok {
		before, between = "", form
	}
	written := false
	for place, value := range positional(c.args) {
		if place < n || value.empty() {
			continue
		}
		if written {
			c.str(between)
		} else {
			c.str(before)
		}
		c.put(value)
		written = true
	}
	if written {
		c.str(after)
	}
}
