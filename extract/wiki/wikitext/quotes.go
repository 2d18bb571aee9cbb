package wikitext

// quotes tracks the runs of apostrophes in a source line: two for italics,
// three for bold. Whether some apostrophes are text is decided at the end of
// the line: if both bold and italics are still open, one run of three was an
// apostrophe followed by italics (Parser::doQuotes).
type quotes struct {
	bold, italic int // number of runs on this line
	chunk        int // offset in the output after the last run
	linkEnd      int // offset after the last link, whose text doQuotes ignores
	afterLetter  int // first bold run after a one-letter word; -1: none
	afterWord    int // first bold run after any other text
	afterSpace   int // first bold run after a space
}

func (q *quotes) reset(at int) {
	*q = quotes{chunk: at, linkEnd: -1, afterLetter: -1, afterWord: -1, afterSpace: -1}
}

// quote records a run of n ≥ 2 apostrophes at the end of the output.
// Apostrophes that are text are written.
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

// noteBold records a run of three apostrophes, classified by the two characters
// before it (Parser::doQuotes).
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

// endQuotes ends a source line: it writes the apostrophe that turned out to be
// text, if any, and resets the counts.
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

// insertApostrophe inserts an apostrophe in the output at offset p.
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
