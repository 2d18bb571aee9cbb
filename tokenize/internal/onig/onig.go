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
// Oniguruma's own syntax (ONIG_SYNTAX_ONIGURUMA): characters and escapes, sets
// with ranges, nested sets, && and POSIX brackets, \p{...} with Oniguruma's
// properties, greedy, reluctant and possessive repetition, groups, atomic
// groups, look-ahead, look-behind of limited length, anchors, and the options i
// and m. [Compile] refuses everything else with an error that names it: back
// references, subexpression calls, conditionals, \K, \G, \X, the option x,
// unlimited repetition of an expression that can be empty, and case-insensitive
// expressions in which one character could match several.
//
// Characters have the properties of package hfunicode.
//
// # Cost
//
// Matching backtracks, as Oniguruma's does, but on a text that needs many steps it
// remembers where it has failed: time is at most proportional to the size of the
// expression times the square of the text. A [Budget] ends what takes too long even
// so, as Oniguruma's retry limit does.
package onig

import (
	"math"
	"unicode/utf8"
)

// A Regexp is a compiled expression. It is immutable and may be shared.
type Regexp struct {
	code  []instr
	first *[257]bool // by byte, and 256 for the end of the text: whether a match can begin there; nil: anywhere
}

// Compile parses an expression. The error says what is wrong or not supported.
func Compile(pattern string) (*Regexp, error) {
	n, err := parse(pattern)
	if err != nil {
		return nil, err
	}
	return compile(n)
}

// Literal returns the expression that matches s itself, or an error if s is too long.
func Literal(s string) (*Regexp, error) {
	n := &node{kind: nodeCat}
	for _, r := range s {
		n.subs = append(n.subs, charNode(r))
	}
	return compile(n)
}

// A Budget is a number of steps that matching may take. Several texts can share one.
type Budget struct {
	left int
}

// NewBudget returns a budget of so many steps.
func NewBudget(steps int) *Budget { return &Budget{steps} }

// Take takes steps from the budget and reports whether it had them.
func (b *Budget) Take(steps int) bool {
	b.left -= steps
	return b.left >= 0
}

// Spent reports whether more was taken than there was.
func (b *Budget) Spent() bool { return b.left < 0 }

// Matches are the matches of an expression in a text, from left to right. An
// empty match does not directly follow another match.
type Matches struct {
	Start, End int // of the current match

	m       machine
	budget  *Budget // nil: no limit
	at      int     // where to search
	lastEnd int     // end of the last match; -1 before the first
}

// Matches returns an iterator over the matches in text, which must be valid
// UTF-8.
func (re *Regexp) Matches(text string) *Matches {
	m := &Matches{}
	m.Reset(re, text, nil)
	return m
}

// Reset starts again with an expression, a text and the budget of its steps, nil for
// none. It keeps memory of earlier searches for reuse.
func (it *Matches) Reset(re *Regexp, text string, budget *Budget) {
	it.m.re, it.m.text = re, text
	it.m.memo.reset()
	it.budget = budget
	it.at, it.lastEnd = 0, -1
	it.m.steps, it.m.patience = 0, calmSteps
}

// Next finds the next match. It returns false if there is none, and if the budget
// is spent.
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
