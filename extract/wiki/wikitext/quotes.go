package wikitext

// quotes tracks the runs of apostrophes in a source line. MediaWiki shows some
// apostrophes as text, which is decided at the end of the line: if both bold and
// italics are still open, one bold run was an apostrophe followed by italics
// (Parser::doQuotes).
type quotes struct {
	bold, italic int // runs seen
	chunk        int // where the text since the last run begins
	linkEnd      int // where the last link ends, which doQuotes does not count as text
	afterLetter  int // first bold run after a one-letter word; -1: none
	afterWord    int // first bold run after any other text
	afterSpace   int // first bold run after a space
}

func (q *quotes) reset(at int) {
	*q = quotes{chunk: at, linkEnd: -1, afterLetter: -1, afterWord: -1, afterSpace: -1}
}

// quote notes a run of n ≥ 2 apostrophes at the end of the output.
func (s *Scanner) quote(n int) {
	surplus := 0 // apostrophes shown: 4 are one and bold, above 5 all but five
	switch {
	case n == 4:
		surplus, n = 1, 3
	case n > 5:
		surplus, n = n-5, 5
	}
	if surplus > 0 {
		s.apostrophes(surplus)
	}
	if n != 3 {
		s.italic++
	}
	if n != 2 {
		s.bold++
	}
	if n == 3 {
		s.noteBold()
	}
	s.chunk = len(s.out)
}

// apostrophes writes n apostrophes.
func (s *Scanner) apostrophes(n int) {
	s.str("'")
	for ; n > 1; n-- {
		s.out = append(s.out, '\'')
	}
}

// noteBold records a run of three apostrophes by the two characters before it,
// as doQuotes does.
func (s *Scanner) noteBold() {
	p := len(s.out)
	var x1, x2 byte
	if p > s.chunk && p != s.linkEnd {
		x1, x2 = s.out[p-1], s.out[max(p-2, s.chunk)]
	}
	first := &s.afterWord
	switch {
	case x1 == ' ':
		first = &s.afterSpace
	case x2 == ' ':
		first = &s.afterLetter
	}
	if *first < 0 {
		*first = p
	}
}

// endQuotes handles the apostrophes at the end of a source line.
func (s *Scanner) endQuotes() {
	if s.bold|s.italic == 0 { // most lines
		s.chunk, s.linkEnd = len(s.out), -1
		return
	}
	if s.bold&1 == 1 && s.italic&1 == 1 {
		p := s.afterLetter
		if p < 0 {
			p = s.afterWord
		}
		if p < 0 {
			p = s.afterSpace
		}
		if p >= 0 && p <= len(s.out) {
			s.insertApostrophe(p)
		}
	}
	s.quotes.reset(len(s.out))
}

// insertApostrophe inserts an apostrophe at an earlier position of the source
// line.
func (s *Scanner) insertApostrophe(p int) {
	if p == len(s.out) {
		s.str("'")
		return
	}
	s.out = append(s.out, 0)
	copy(s.out[p+1:], s.out[p:])
	s.out[p] = '\''
	if p < s.line {
		s.line++
	}
}
