// Package onig matches regular expressions as Oniguruma does, the library that
// Hugging Face's tokenizers use for their Split and Replace steps.
//
//	re, err := onig.Compile(`\s*[\p{Lu}\p{Lt}]\p{Ll}+|\s+(?!\S)`)
//	...
//	for m := re.Matches(text); m.Next(); {
//		fmt.Println(text[m.Start:m.End])
//	}
//
// # Syntax
//
// Oniguruma's own syntax (ONIG_SYNTAX_ONIGURUMA): characters and escapes, sets with ranges,
// nested sets, && and POSIX brackets, \p{...} with Oniguruma's properties, greedy,
// reluctant and possessive repetition, groups, atomic groups, look-ahead, look-behind of
// limited length, anchors, and the options i and m. [Compile] rejects everything else with
// an error that names the unsupported part: back references, subexpression calls,
// conditionals, \K, \G, \X, the option x, unlimited repetition of an expression that can be
// empty, and case-insensitive expressions in which one character could match several.
//
// Characters have the properties of package hfunicode.
//
// # Cost
//
// Matching backtracks, as Oniguruma's does. On a text that needs many steps it also
// remembers where it has failed, so that time is at most proportional to the size of the
// expression times the square of the text length. If that is still too long, a [Budget]
// ends the search, as Oniguruma's retry limit does.
package onig

import (
	"math"
	"unicode/utf8"
)

// A Regexp is a compiled expression. It is immutable and may be shared.
type Regexp struct {
	code  []instr
	first *[257]bool // by byte (256: end of the text): whether a match can begin there; nil: anywhere
}

// Compile parses an expression. The error states what is wrong or not supported.
func Compile(pattern string) (*Regexp, error) {
	n, err := parse(pattern)
	if err != nil {
		return nil, err
	}
	return compile(n)
}

// Literal returns an expression that matches exactly s, or an error if s is too long.
func Literal(s string) (*Regexp, error) {
	n := &node{kind: nodeCat}
	for _, r := range s {
		n.subs = append(n.subs, charNode(r))
	}
	return compile(n)
}

// A Budget limits the number of steps of matching. Several texts can share a budget.
type Budget struct {
	left int
}

// NewBudget returns a budget with the given number of steps.
func NewBudget(steps int) *Budget { return &Budget{steps} }

// Take subtracts steps from the budget and reports whether enough were left.
func (b *Budget) Take(steps int) bool {
	b.left -= steps
	return b.left >= 0
}

// Spent reports whether more steps were taken than the budget had.
func (b *Budget) Spent() bool { return b.left < 0 }

// Matches is an iterator over the matches of an expression in a text, from left to right.
// An empty match does not directly follow another match.
type Matches struct {
	Start, End int // of the current match

	m       machine
	budget  *Budget // nil: no limit
	at      int     // where the next search begins
	lastEnd int     // end of the last match; -1 before the first
}

// Matches returns an iterator over the matches in text, which must be valid
// UTF-8.
func (re *Regexp) Matches(text string) *Matches {
	m := &Matches{}
	m.Reset(re, text, nil)
	return m
}

// Reset restarts the iterator with an expression, a text and a budget for its steps; nil
// means no limit. It reuses memory of earlier searches.
func (it *Matches) Reset(re *Regexp, text string, budget *Budget) {
	it.m.re, it.m.text = re, text
	it.m.memo.reset()
	it.budget = budget
	it.at, it.lastEnd = 0, -1
	it.m.steps, it.m.patience = 0, calmSteps
}

// Next finds the next match. It returns false if there is none or if the budget is spent.
func (it *Matches) Next() bool {
	if it.budget == nil {
		it.m.limit = math.MaxInt
		return it.next()
	}
	before := it.m.steps
	it.m.limit = before + max(it.budget.left, 0)
	found := it.next()
	it.budget.Take(it.m.steps - before)
	return found
}

func (it *Matches) next() bool {
	for it.at <= len(it.m.text) {
		start, end, ok := it.m.search(it.at)
		if !ok {
			it.at = len(it.m.text) + 1
			return false
		}
		if start == end && end == it.lastEnd {
			_, size := utf8.DecodeRuneInString(it.m.text[it.at:])
			it.at += max(size, 1)
			continue
		}
		it.Start, it.End, it.at, it.lastEnd = start, end, end, end
		return true
	}
	return false
}
