package wikitext

import "slices"

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

// quote records a run of n ≥ 2 apostrophes at the end of the output. It writes the
// apostrophes that are text: one of 4, and all but five of a longer run.
func (w *writer) quote(n int) {
	for ; n == 4 || n > 5; n-- {
		w.str("'")
	}
	if n != 3 {
		w.italic++
	}
	if n != 2 {
		w.bold++
	}
	if n == 3 { // classified by the two characters before it (Parser::doQuotes)
		p := len(w.out)
		var x1, x2 byte
		if p > w.chunk && p != w.linkEnd {
			x1, x2 = w.out[p-1], w.out[max(p-2, w.chunk)]
		}
		first := &w.afterWord
		switch {
		case x1 == ' ':
			first = &w.afterSpace
		case x2 == ' ':
			first = &w.afterLetter
		}
		if *first < 0 {
			*first = p
		}
	}
	w.chunk = len(w.out)
}

// endQuotes ends a source line: it writes the apostrophe that turned out to be text, if
// any, and resets the quotes for the next line.
func (w *writer) endQuotes() {
	if w.bold|w.italic == 0 { // on most lines
		w.chunk, w.linkEnd = len(w.out), -1
		return
	}
	if w.bold&1 == 1 && w.italic&1 == 1 {
		p := w.afterLetter
		if p < 0 {
			p = w.afterWord
		}
		if p < 0 {
			p = w.afterSpace
		}
		switch {
		case p == len(w.out):
			w.str("'")
		case p >= 0 && p < len(w.out):
			w.out = slices.Insert(w.out, p, '\'')
			if p < w.line {
				w.line++
			}
		}
	}
	w.quotes.reset(len(w.out))
}
