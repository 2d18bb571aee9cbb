package onig

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"pretext/tokenize/internal/hfunicode"
)

// set parses a set after its [.
func (p *parser) set() hfunicode.Ranges {
	if p.depth++; p.depth > maxDepth {
		p.fail("more than %d sets inside each other", maxDepth)
	}
	defer func() { p.depth-- }()
	negative := p.take("^")
	var all hfunicode.Ranges // intersection of the parts before the last &&
	some := false
	var elements union // elements after the last &&
	for first := true; ; first = false {
		switch {
		case p.take("]"):
			if first {
				p.fail("empty set")
			}
			part := elements.take()
			if some {
				part = all.And(part)
			}
			if p.ignoreCase {
				part = p.fold(part)
			}
			if negative {
				part = part.Not()
			}
			return part
		case p.take("&&"):
			part := elements.take()
			if some {
				part = all.And(part)
			}
			all, some = part, true
		default:
			elements.add(p.element())
		}
	}
}

// A union collects ranges. It merges them only when their number has doubled, since merging
// processes all ranges.
type union struct {
	merged hfunicode.Ranges
	added  []hfunicode.Range
}

func (u *union) add(r hfunicode.Ranges) {
	if u.added = append(u.added, r...); len(u.added) > 1000+len(u.merged) {
		u.merge()
	}
}

func (u *union) merge() {
	u.merged, u.added = u.merged.Union(hfunicode.Of(u.added...)), u.added[:0]
}

// take returns all collected ranges and empties u.
func (u *union) take() hfunicode.Ranges {
	u.merge()
	all := u.merged
	u.merged = nil
	return all
}

// element parses a character, a range or a set inside a set.
func (p *parser) element() hfunicode.Ranges {
	if p.take("[:") {
		name, _, ok := strings.Cut(p.text[p.at:], ":]")
		bare, negative := strings.CutPrefix(name, "^")
		set, known := posix(bare)
		if !ok || !known {
			p.fail("[:%s: not a POSIX bracket", name)
		}
		p.at += len(name) + 2
		if negative {
			set = set.Not()
		}
		return set
	}
	if p.take("[") {
		return p.set()
	}
	low, set := p.member()
	if set != nil {
		if strings.HasPrefix(p.text[p.at:], "-") && !strings.HasPrefix(p.text[p.at:], "-]") {
			p.fail("range that begins with a set")
		}
		return set
	}
	if !strings.HasPrefix(p.text[p.at:], "-") || strings.HasPrefix(p.text[p.at:], "-]") {
		return hfunicode.Of(hfunicode.Range{First: low, Last: low})
	}
	p.at++
	if strings.HasPrefix(p.text[p.at:], "[") || strings.HasPrefix(p.text[p.at:], "&&") {
		p.fail("range without an end")
	}
	high, set := p.member()
	if set != nil || high < low {
		p.fail("range without an end above its start")
	}
	return hfunicode.Of(hfunicode.Range{First: low, Last: high})
}

// member parses a character, or an escape for a set such as \w. It returns one or the
// other.
func (p *parser) member() (rune, hfunicode.Ranges) {
	r := p.next()
	if r != '\\' {
		return r, nil
	}
	r = p.next()
	switch r {
	case 'b':
		return '\b', nil
	case 'R', 'X', 'N', 'O', 'K':
		p.fail(`\%c in a set: not supported`, r)
	}
	if set, ok := p.class(r); ok {
		return 0, inSet(set)
	}
	return p.escaped(r), nil
}

// inSet returns the members that a class has inside a set. In Oniguruma, the superscripts
// and fractions of Latin-1 are word characters, except inside a set.
func inSet(class hfunicode.Ranges) hfunicode.Ranges {
	word, _ := hfunicode.Lookup("onig:w")
	latin := hfunicode.Of(hfunicode.Range{First: 0xb2, Last: 0xb3}, hfunicode.Range{First: 0xb9, Last: 0xb9}, hfunicode.Range{First: 0xbc, Last: 0xbe})
	switch {
	case slices.Equal(class, word):
		return word.And(latin.Not())
	case slices.Equal(class, word.Not()):
		return word.Not().Union(latin)
	}
	return class
}

// folds maps each character to the characters that it also matches with the option i.
var folds = sync.OnceValue(func() map[rune]string { return hfunicode.Map("fold") })

// fold adds to r the characters that differ from a character in r only in case.
func (p *parser) fold(r hfunicode.Ranges) hfunicode.Ranges {
	out := r
	for _, x := range r {
		if x.Last >= utf8.RuneSelf {
			if x.First != x.Last {
				p.fail("set beyond ASCII with the option i: not supported")
			}
			if !onlySimple(x.First) {
				p.fail("%q with the option i: not supported, one character can match several", x.First)
			}
		}
		for c := x.First; c <= x.Last; c++ {
			for _, other := range folds()[c] {
				out = out.Union(hfunicode.Of(hfunicode.Range{First: other, Last: other}))
			}
		}
	}
	return out
}

// severalCharacters has the code points whose full case folding (CaseFolding.txt, status F)
// has several characters, and some of their neighbours.
var severalCharacters = [...]hfunicode.Range{
	{First: 0xdf, Last: 0xdf}, {First: 0x130, Last: 0x131}, {First: 0x149, Last: 0x149}, {First: 0x1f0, Last: 0x1f0},
	{First: 0x390, Last: 0x390}, {First: 0x3b0, Last: 0x3b0}, {First: 0x587, Last: 0x587}, {First: 0x1e96, Last: 0x1e9e},
	{First: 0x1f50, Last: 0x1fff}, {First: 0xfb00, Last: 0xfb17}, {First: 0x300, Last: 0x36f},
}

func onlySimple(c rune) bool {
	for _, x := range severalCharacters {
		if x.First <= c && c <= x.Last {
			return false
		}
	}
	return true
}
