package sentence

import "math/bits"

// A punkt splitter implements the steps of NLTK's PunktSentenceTokenizer:
//
//  1. Candidates are '.', '?' and '!' followed by a mark that cannot be inside
//     a word, or by white space and a word.
//  2. Each has a context: the text from the white space before it to the end of
//     the mark or word after it. If several contexts begin with the same word,
//     only the last candidate counts.
//  3. A candidate ends a sentence if a word of its context, other than the last
//     one, does (decide.go).
//  4. Closing quotes and brackets at the beginning of a sentence move to the
//     end of the sentence before it.
//
// Time is linear for any text.
type punkt struct {
	params  *parameters
	lowered [2][]byte // buffers for two successive words in lower case
	pair    []byte    // a collocation to look up
	number  []byte    // numberType as bytes
}

func newPunkt(lang string) *punkt {
	return &punkt{params: parametersOf(lang), number: []byte(numberType)}
}

// A candidate is a possible sentence end. Its context is the text in which
// Punkt decides about it.
type candidate struct {
	start    int // start of the context
	mark     int // position of '.', '?' or '!'
	end      int // end of the context
	nextWord int // where the next sentence begins if this one ends here
}

func (p *punkt) AppendSpans(dst []Span, text string) []Span {
	out := realigner{text: text, dst: dst, pending: Span{-1, -1}}
	lastBreak := 0
	decide := func(c candidate) {
		if p.endsWithin(text[c.start:c.end]) {
			out.add(Span{lastBreak, c.mark + 1})
			lastBreak = c.nextWord
		}
	}
	// The zero candidate is the beginning of the text, as in the reference.
	previous := candidate{}
	some := false
	for mark := nextMark(text, 0); mark < len(text); mark = nextMark(text, mark+1) {
		c, ok := follow(text, mark)
		if !ok {
			continue
		}
		c.start = contextStart(text, previous, mark)
		if some && previous.mark <= c.start {
			decide(previous)
		}
		previous, some = c, true
	}
	if some {
		decide(previous)
	}
	out.add(Span{lastBreak, trimEnd(text, lastBreak, len(text))})
	return out.close()
}

// contextStart returns the start of the context of the candidate at mark: the
// position after the last white space since the previous candidate. Without
// such white space, it is the start of the previous candidate's context. As in
// the reference, only ASCII white space counts.
func contextStart(text string, previous candidate, mark int) int {
	for i := mark - 1; i > previous.mark; i-- {
		if byteClass[text[i]]&bytePlainGap != 0 {
			return i + 1
		}
	}
	return previous.start
}

// follow returns the candidate at mark, with start still unset. If the
// characters after mark do not allow a sentence end, it returns false.
func follow(text string, mark int) (candidate, bool) {
	next := mark + 1
	if next == len(text) {
		return candidate{}, false
	}
	if byteClass[text[next]]&byteNonWord != 0 {
		return candidate{mark: mark, end: next + 1, nextWord: next}, true
	}
	word := skipSpace(text, next)
	if word == next || word == len(text) {
		return candidate{}, false
	}
	return candidate{mark: mark, end: skipNonSpace(text, word), nextWord: word}, true
}

// nextMark returns the position of the next '.', '?' or '!' in s at or after i,
// or len(s). It tests eight bytes at a time: (x-low) &^ x has the high bit set
// in each zero byte of x. The bit may also be set in bytes above a zero byte,
// but the lowest one is always right.
func nextMark(s string, i int) int {
	const low, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		stop, question, bang := x^'.'*low, x^'?'*low, x^'!'*low
		found := ((stop - low) &^ stop) | ((question - low) &^ question) | ((bang - low) &^ bang)
		if found &= high; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(s) && s[i] != '.' && s[i] != '?' && s[i] != '!' {
		i++
	}
	return i
}

// A realigner moves closing quotes and brackets from the beginning of a sentence to the end
// of the previous sentence. So the last sentence stays pending until the next one is added.
type realigner struct {
	text    string
	dst     []Span
	pending Span // Start -1: none
}

func (r *realigner) add(next Span) {
	if r.pending.Start < 0 {
		r.pending = next
		return
	}
	closers, gap := leadingClosers(r.text[next.Start:next.End])
	if closers > 0 {
		r.pending.End = next.Start + closers
	}
	r.flush()
	next.Start += gap
	r.pending = next
}

func (r *realigner) flush() {
	if r.pending.Start < r.pending.End {
		r.dst = append(r.dst, r.pending)
	}
}

// close appends the pending sentence and returns all spans.
func (r *realigner) close() []Span {
	r.flush()
	return r.dst
}

// leadingClosers returns the length of the closing quotes and brackets at the
// beginning of s, and gap, the length including the white space after them.
// Both are 0 unless white space, "--" or the end of s follows the quotes and
// brackets.
func leadingClosers(s string) (closers, gap int) {
	for i := 0; i < len(s); {
		switch s[i] {
		case '"', '\'', ')', ']', '}':
			i++
		default:
			return 0, 0
		}
		if i == len(s) || s[i] == '-' && i+1 < len(s) && s[i+1] == '-' {
			return i, i
		}
		if end := skipSpace(s, i); end > i {
			return i, end
		}
	}
	return 0, 0
}
