package vocab

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"pretext/tokenize"
	"pretext/tokenize/internal/bytetrie"
)

// Constants of the Unigram trainer, those of sentencepiece and of the library.
const (
	shrink        = 0.75 // share of pieces that one round keeps
	roundsBetween = 2    // steps of expectation and maximization before pruning
	minExpected   = 0.5  // expected occurrences below which a piece is dropped
)

// unigramParts is the number of parts in which words are handled in parallel.
// Sums are taken part by part, so that they do not depend on the number of
// processors.
const unigramParts = 4

// maxUnigramWord is the length in bytes of the longest word to learn from.
const maxUnigramWord = 256

// A piece is a token with its score, the logarithm of its probability.
type piece struct {
	text  string
	score float64
}

// A weightedWord is a word with its count.
type weightedWord struct {
	text  string
	count float64
}

// unigramTrainer learns a Unigram model by expectation maximization.
type unigramTrainer struct {
	words  []weightedWord
	pieces []piece
	trie   *bytetrie.Trie // of pieces, by their index
}

// trainUnigram returns the model of Unigram.
func trainUnigram(ctx context.Context, c *corpus, o Options) (model []byte, tokens int, err error) {
	letters := topLetters(c.letters, o.LimitAlphabet)
	special := len(tokenize.SpecialTokens())
	if special+len(letters) > o.VocabSize {
		return nil, 0, fmt.Errorf("vocab_size %d: too small for the special tokens and the characters of the text, %d together (limit_alphabet %d)",
			o.VocabSize, special+len(letters), o.LimitAlphabet)
	}
	t := &unigramTrainer{words: unigramWords(c, letters)}
	// A special token that stands in the text is no piece: it has its own id.
	isSpecial := func(p piece) bool { return slices.Contains(tokenize.SpecialTokens(), p.text) }
	t.set(logProbabilities(slices.DeleteFunc(seeds(c, letters, o.MinFrequency), isSpecial)))
	wanted := o.VocabSize - special
	for {
		for range roundsBetween {
			if err := ctx.Err(); err != nil {
				return nil, 0, err
			}
			t.maximize(t.expect())
		}
		if len(t.pieces) <= wanted*11/10 {
			break
		}
		t.prune(max(wanted*11/10, int(float64(len(t.pieces))*shrink)))
	}
	pieces := t.finish(len(letters), wanted)
	b := []byte(`{"type":"Unigram","unk_id":` + strconv.Itoa(unkID) + `,"vocab":[`)
	for i, token := range tokenize.SpecialTokens() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(quote(append(b, '['), token), ",0.0]"...)
	}
	for _, p := range pieces {
		b = append(quote(append(b, ",["...), p.text), ',')
		b = append(strconv.AppendFloat(b, p.score, 'f', -1, 64), ']')
	}
	return append(b, `],"byte_fallback":false}`...), special + len(pieces), nil
}

// unigramWords returns the words to learn from, cut at characters that are not
// in the alphabet.
func unigramWords(c *corpus, letters []rune) []weightedWord {
	known := make([]bool, utf8.MaxRune+1)
	for _, r := range letters {
		known[r] = true
	}
	var out []weightedWord
	var part []byte
	for _, w := range c.words {
		flush := func() {
			if len(part) > 0 && len(part) <= maxUnigramWord {
				out = append(out, weightedWord{string(part), float64(w.count)})
			}
			part = part[:0]
		}
		for _, r := range c.symbols[w.start : w.start+int(w.n)] {
			if !known[r] {
				flush()
				continue
			}
			part = utf8.AppendRune(part, r)
		}
		flush()
	}
	return out
}

// set replaces the pieces.
func (t *unigramTrainer) set(pieces []piece) {
	ids := make(map[string]int32, len(pieces))
	for i, p := range pieces {
		ids[p.text] = int32(i)
	}
	t.pieces, t.trie = pieces, bytetrie.New(ids)
}

// inParts calls do for every part of the words, in parallel.
func (t *unigramTrainer) inParts(do func(part int, words []weightedWord)) {
	var wait sync.WaitGroup
	for part := range unigramParts {
		words := t.words[len(t.words)*part/unigramParts : len(t.words)*(part+1)/unigramParts]
		wait.Go(func() { do(part, words) })
	}
	wait.Wait()
}

// An edge is an occurrence of a piece in a word.
type edge struct{ start, end, id int32 }

// edges appends the pieces in a word, in the order of their starts. Every letter
// is a piece.
func (t *unigramTrainer) edges(dst []edge, word string) []edge {
	for start := range word {
		for node, i := bytetrie.Root, start; i < len(word); {
			if node = t.trie.Next(node, word[i]); node < 0 {
				break
			}
			i++
			if id := t.trie.Value(node); id != bytetrie.None {
				dst = append(dst, edge{int32(start), int32(i), id})
			}
		}
	}
	return dst
}

// expect returns how often each piece occurs in all splits of the words,
// weighted with the probability of the split.
func (t *unigramTrainer) expect() []float64 {
	var parts [unigramParts][]float64
	t.inParts(func(part int, words []weightedWord) {
		expected := make([]float64, len(t.pieces))
		var edges []edge
		var before, after []float64 // log of the probability of what stands before and after a place
		for _, w := range words {
			edges = t.edges(edges[:0], w.text)
			before, after = logZeros(before, len(w.text)), logZeros(after, len(w.text))
			before[0], after[len(w.text)] = 0, 0
			for _, e := range edges {
				before[e.end] = logAdd(before[e.end], before[e.start]+t.pieces[e.id].score)
			}
			for i := len(edges) - 1; i >= 0; i-- {
				e := edges[i]
				after[e.start] = logAdd(after[e.start], after[e.end]+t.pieces[e.id].score)
			}
			total := before[len(w.text)]
			for _, e := range edges {
				expected[e.id] += w.count * math.Exp(before[e.start]+t.pieces[e.id].score+after[e.end]-total)
			}
		}
		parts[part] = expected
	})
	return sum(parts)
}

// sum adds the parts in their order.
func sum(parts [unigramParts][]float64) []float64 {
	all := parts[0]
	for _, part := range parts[1:] {
		for i, x := range part {
			all[i] += x
		}
	}
	return all
}

// logZeros returns a list of n+1 logarithms of zero, in the memory of s if that is
// enough.
func logZeros(s []float64, n int) []float64 {
	s = slices.Grow(s[:0], n+1)[:n+1]
	for i := range s {
		s[i] = math.Inf(-1)
	}
	return s
}

// logAdd returns log(exp(a) + exp(b)).
func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) || a-b > 50 {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// maximize drops pieces that hardly occur, letters aside, and sets the scores of the others to
// what makes the words most probable, with a prior for few pieces.
func (t *unigramTrainer) maximize(expected []float64) {
	var kept []piece
	total := 0.0
	for i, p := range t.pieces {
		if expected[i] < minExpected && utf8.RuneCountInString(p.text) > 1 {
			continue
		}
		n := max(expected[i], minExpected)
		kept = append(kept, piece{p.text, n})
		total += n
	}
	logTotal := digamma(total)
	for i := range kept {
		kept[i].score = digamma(kept[i].score) - logTotal
	}
	t.set(kept)
}

// digamma returns the derivative of the logarithm of the gamma function, by its
// recurrence and asymptotic series.
func digamma(x float64) float64 {
	result := 0.0
	for ; x < 7; x++ {
		result -= 1 / x
	}
	x -= 0.5
	y := 1 / (x * x)
	return result + math.Log(x) + y/24 - 7.0/960*y*y + 31.0/8064*y*y*y - 127.0/30720*y*y*y*y
}

// best returns the most probable split of a word into pieces, other than the
// piece without; nil if there is none.
func (t *unigramTrainer) best(s *search, word string, without int32) (ids []int32, score float64) {
	s.edges = t.edges(s.edges[:0], word)
	s.score = logZeros(s.score, len(word))
	s.last = slices.Grow(s.last[:0], len(word)+1)[:len(word)+1]
	s.score[0] = 0
	for _, e := range s.edges {
		if x := s.score[e.start] + t.pieces[e.id].score; e.id != without && x > s.score[e.end] {
			s.score[e.end], s.last[e.end] = x, e
		}
	}
	if math.IsInf(s.score[len(word)], -1) {
		return nil, 0
	}
	for end := int32(len(word)); end > 0; end = s.last[end].start {
		ids = append(ids, s.last[end].id)
	}
	return ids, s.score[len(word)]
}

// search is memory for best.
type search struct {
	edges []edge
	score []float64
	last  []edge
}

// noPiece is no index of a piece.
const noPiece = -1

// prune keeps the letters, and of the other pieces those whose loss would make
// the words least probable, n together. It drops pieces that are in no best
// split.
func (t *unigramTrainer) prune(n int) {
	var parts [unigramParts][]float64
	t.inParts(func(part int, words []weightedWord) {
		occurrences, s := make([]float64, len(t.pieces)), new(search)
		for _, w := range words {
			ids, _ := t.best(s, w.text, noPiece)
			for _, id := range ids {
				occurrences[id] += w.count
			}
		}
		parts[part] = occurrences
	})
	occurrences, total := sum(parts), 0.0
	for _, x := range occurrences {
		total += x
	}
	logTotal := math.Log(total)
	type candidate struct {
		piece
		loss float64
	}
	var kept []piece
	var candidates []candidate
	s := new(search)
	for id, p := range t.pieces {
		others, score := t.best(s, p.text, int32(id))
		x := occurrences[id]
		switch {
		case others == nil:
			kept = append(kept, p)
			continue
		case x == 0 || score > p.score:
			continue // never in a best split
		}
		logAfter, after := math.Log(total+x*float64(len(others)-1)), 0.0
		for _, other := range others {
			after += math.Log(occurrences[other]+x) - logAfter
		}
		candidates = append(candidates, candidate{p, x * (math.Log(x) - logTotal - after)})
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(b.loss, a.loss) })
	for _, c := range candidates[:max(0, min(len(candidates), n-len(kept)))] {
		kept = append(kept, c.piece)
	}
	t.set(kept)
}

// finish returns at most n pieces by falling score, all letters among them.
func (t *unigramTrainer) finish(letters int, n int) []piece {
	byScore := func(a, b piece) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.text, b.text)) }
	slices.SortFunc(t.pieces, byScore)
	var out []piece
	longer := n - letters // pieces of several letters that fit
	for _, p := range t.pieces {
		if utf8.RuneCountInString(p.text) == 1 {
			out = append(out, p)
		} else if longer > 0 {
			out = append(out, p)
			longer--
		}
	}
	return out
}
