package vocab

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"pretext/internal/portable"
	"pretext/tokenize"
	"pretext/tokenize/internal/bytetrie"
)

// Constants of the Unigram trainer, as in sentencepiece and in the library.
const (
	shrink        = 0.75 // fraction of pieces that one round of pruning keeps
	roundsBetween = 2    // rounds of expectation maximization before each pruning
	minExpected   = 0.5  // expected occurrences below which a piece is dropped
)

// unigramParts is the number of parts in which words are processed in parallel. Sums are
// added part by part, so that the result does not depend on the number of processors.
const unigramParts = 4

// maxUnigramWord is the maximum length in bytes of a word that is used for training.
const maxUnigramWord = 256

// A piece is a token with its score: the logarithm of its probability. In seeds, the score
// is a number of occurrences.
type piece struct {
	text  string
	score float64
}

// unigramTrainer learns a Unigram model by expectation maximization.
type unigramTrainer struct {
	words  wordList            // words, divided at characters that are not in the alphabet
	parts  [unigramParts]int64 // position in words at which each part begins
	pieces []piece
	trie   *bytetrie.Trie // of pieces, by their index
}

// trainUnigram returns the model of Unigram and its number of tokens.
func (t Trainer) trainUnigram(ctx context.Context, c *corpus) (model []byte, tokens int, err error) {
	letters := topLetters(c.letters, t.LimitAlphabet)
	special := len(tokenize.SpecialTokens())
	if special+len(letters) > t.VocabSize {
		return nil, 0, &sizeError{t.VocabSize, special + len(letters), t.LimitAlphabet}
	}
	u := &unigramTrainer{words: t.list()}
	defer func() { err = errors.Join(err, u.words.close()) }()
	if err := u.begin(ctx, c, letters, t.MinFrequency); err != nil {
		return nil, 0, err
	}
	if err := u.learn(ctx, t.VocabSize-special); err != nil {
		return nil, 0, err
	}
	pieces := u.finish(len(letters), t.VocabSize-special)
	return unigramModel(pieces), special + len(pieces), nil
}

// begin sets the words and the initial pieces.
func (t *unigramTrainer) begin(ctx context.Context, c *corpus, letters []rune, least int64) error {
	if err := t.cutWords(ctx, c, letters); err != nil {
		return err
	}
	pieces, err := seeds(ctx, c, letters, least)
	// A special token that occurs in the text is not a piece, because it has its own id.
	isSpecial := func(p piece) bool { return slices.Contains(tokenize.SpecialTokens(), p.text) }
	t.set(logProbabilities(slices.DeleteFunc(pieces, isSpecial)))
	return err
}

// learn computes scores and drops pieces until there are at most a tenth more than wanted.
func (t *unigramTrainer) learn(ctx context.Context, wanted int) error {
	for {
		for range roundsBetween {
			expected, err := t.expect(ctx)
			if err != nil {
				return err
			}
			t.maximize(expected)
		}
		if len(t.pieces) <= wanted*11/10 {
			return nil
		}
		if err := t.prune(ctx, max(wanted*11/10, int(float64(len(t.pieces))*shrink))); err != nil {
			return err
		}
	}
}

// unigramModel returns the model in the format of tokenizer.json.
func unigramModel(pieces []piece) []byte {
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
	return append(b, `],"byte_fallback":false}`...)
}

// cutWords sets the words for training: those of c, divided at characters that are not in
// the alphabet.
func (t *unigramTrainer) cutWords(ctx context.Context, c *corpus, letters []rune) error {
	known := make([]bool, utf8.MaxRune+1)
	for _, r := range letters {
		known[r] = true
	}
	err := c.most(ctx, c.maxWords, func(count int64, word []byte) error {
		for len(word) > 0 {
			end := 0
			for end < len(word) {
				r, size := utf8.DecodeRune(word[end:])
				if !known[r] {
					break
				}
				end += size
			}
			if 0 < end && end <= maxUnigramWord {
				if err := t.words.add(count, word[:end]); err != nil {
					return err
				}
			}
			_, size := utf8.DecodeRune(word[end:]) // 0 at the end of the word
			word = word[end+size:]
		}
		return nil
	})
	if err != nil {
		return err
	}
	numbers := make([]int, unigramParts)
	for part := range numbers {
		numbers[part] = t.words.n * part / unigramParts
	}
	places, err := t.words.places(ctx, numbers)
	copy(t.parts[:], places)
	return err
}

// set replaces the pieces and their trie.
func (t *unigramTrainer) set(pieces []piece) {
	tokens := make([]string, len(pieces))
	for i, p := range pieces {
		tokens[i] = p.text
	}
	t.pieces, t.trie = pieces, bytetrie.Of(tokens)
}

// inParts calls the function that do returns for a part, for each word of the part. The
// parts are processed in parallel.
func (t *unigramTrainer) inParts(ctx context.Context, do func(part int) func(count float64, word []byte)) error {
	var wait sync.WaitGroup
	var errs [unigramParts]error
	for part := range unigramParts {
		n := t.words.n*(part+1)/unigramParts - t.words.n*part/unigramParts
		wait.Go(func() {
			each := do(part)
			errs[part] = t.words.eachFrom(ctx, t.parts[part], n, func(count int64, word []byte) error {
				each(float64(count), word)
				return nil
			})
		})
	}
	wait.Wait()
	return errors.Join(errs[:]...)
}

// An edge is an occurrence of a piece in a word.
type edge struct{ start, end, id int32 }

// edges appends all occurrences of pieces in a word, in the order of their starts. Every
// letter is a piece.
func (t *unigramTrainer) edges(dst []edge, word []byte) []edge {
	for start := range word {
		if !utf8.RuneStart(word[start]) {
			continue
		}
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

// expect returns the expected number of occurrences of each piece: those in all possible
// splits of the words, weighted with the probability of the split.
func (t *unigramTrainer) expect(ctx context.Context) ([]float64, error) {
	var parts [unigramParts][]float64
	err := t.inParts(ctx, func(part int) func(float64, []byte) {
		expected := make([]float64, len(t.pieces))
		parts[part] = expected
		var edges []edge
		var before, after []float64 // log probabilities of the text before and after each position
		return func(count float64, word []byte) {
			edges = t.edges(edges[:0], word)
			before, after = logZeros(before, len(word)), logZeros(after, len(word))
			before[0], after[len(word)] = 0, 0
			for _, e := range edges {
				before[e.end] = logAdd(before[e.end], before[e.start]+t.pieces[e.id].score)
			}
			for i := len(edges) - 1; i >= 0; i-- {
				e := edges[i]
				after[e.start] = logAdd(after[e.start], after[e.end]+t.pieces[e.id].score)
			}
			total := before[len(word)]
			for _, e := range edges {
				expected[e.id] += float64(count * portable.Exp(before[e.start]+t.pieces[e.id].score+after[e.end]-total))
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return sum(parts), nil
}

// sum adds the results of the parts, in the order of the parts.
func sum(parts [unigramParts][]float64) []float64 {
	all := parts[0]
	for _, part := range parts[1:] {
		for i, x := range part {
			all[i] += x
		}
	}
	return all
}

// logZeros returns a list of n+1 logarithms of zero. It reuses the memory of s if that is
// large enough.
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
	return a + portable.Log1p(portable.Exp(b-a))
}

// maximize drops rare pieces of several letters. It sets the scores of the others so that
// the words become most probable, with a prior for few pieces.
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
	return result + portable.Log(x) + y/24 - float64(7.0/960*y*y) + float64(31.0/8064*y*y*y) - float64(127.0/30720*y*y*y*y)
}

// best returns the most probable split of a word into pieces and its score. It does not use
// the piece with the id without. If there is no split, ids is nil.
func (t *unigramTrainer) best(s *search, word []byte, without int32) (ids []int32, score float64) {
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

// search holds the buffers of best.
type search struct {
	edges []edge
	score []float64
	last  []edge
}

// noPiece is not the index of any piece.
const noPiece = -1

// prune reduces the pieces to n. It keeps all letters, and of the others those whose
// removal would make the words least probable. It drops pieces that occur in no best split.
func (t *unigramTrainer) prune(ctx context.Context, n int) error {
	occurrences, err := t.occurrences(ctx)
	if err != nil {
		return err
	}
	total := 0.0
	for _, x := range occurrences {
		total += x
	}
	logTotal := portable.Log(total)
	type candidate struct {
		piece
		loss float64
	}
	var kept []piece
	var candidates []candidate
	s := new(search)
	for id, p := range t.pieces {
		others, score := t.best(s, []byte(p.text), int32(id))
		x := occurrences[id]
		switch {
		case others == nil:
			kept = append(kept, p)
			continue
		case x == 0 || score > p.score:
			continue // in no best split
		}
		logAfter, after := portable.Log(total+float64(x*float64(len(others)-1))), 0.0
		for _, other := range others {
			after += portable.Log(occurrences[other]+x) - logAfter
		}
		candidates = append(candidates, candidate{p, x * (portable.Log(x) - logTotal - after)})
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(b.loss, a.loss) })
	for _, c := range candidates[:max(0, min(len(candidates), n-len(kept)))] {
		kept = append(kept, c.piece)
	}
	t.set(kept)
	return nil
}

// occurrences returns the number of occurrences of each piece in the best splits of the
// words.
func (t *unigramTrainer) occurrences(ctx context.Context) ([]float64, error) {
	var parts [unigramParts][]float64
	err := t.inParts(ctx, func(part int) func(float64, []byte) {
		occurrences, s := make([]float64, len(t.pieces)), new(search)
		parts[part] = occurrences
		return func(count float64, word []byte) {
			ids, _ := t.best(s, word, noPiece)
			for _, id := range ids {
				occurrences[id] += count
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return sum(parts), nil
}

// finish returns at most n pieces, sorted by descending score. All letters are included.
func (t *unigramTrainer) finish(letters int, n int) []piece {
	byScore := func(a, b piece) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.text, b.text)) }
	slices.SortFunc(t.pieces, byScore)
	var out []piece
	longer := n - letters // number of longer pieces that fit
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
