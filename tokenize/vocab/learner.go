package vocab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// Limits of a learner's memory.
const (
	maxSymbols    = 4 << 20 // maximum number of tokens of the words in memory
	maxCandidates = 1 << 17 // maximum number of pairs that are counted exactly
	pairBuckets   = 1 << 20 // number of counters, which count pairs by hash
)

// A learner learns tokens by merging pairs of neighbouring tokens, in words that
// need not fit in memory.
//
// It works in rounds. A round loads the words that contain the most frequent pairs, as many
// as fit in memory, and merges these pairs. Frequencies are exact: a round has all words in
// which one of its pairs occurs, and a pair that a merge creates occurs only in words of
// that merge. The round ends when the next pair to merge could be one that the round does
// not have. Then all words are written again with their new tokens. The result is the same
// as that of one round with all words.
type learner struct {
	vocab  *vocabulary
	merger *merger
	empty  wordList // for making new lists; see Trainer.list
	limit  int      // maximum number of tokens of the words in memory

	list    wordList // all words with two tokens or more: ids as varints
	symbols int      // tokens in list
	word    []int32
	record  []byte
}

// spell splits the words of c into tokens and lists those of at least two tokens, because
// words of one token have no pairs to merge.
func (l *learner) spell(ctx context.Context, c *corpus, s spelling) error {
	l.list = l.empty
	return c.most(ctx, c.maxWords, func(count int64, word []byte) error {
		l.word = l.word[:0]
		place := first
		for len(word) > 0 {
			r, size := utf8.DecodeRune(word)
			if id := s[place][r]; id != noToken {
				l.word = append(l.word, id)
			}
			word, place = word[size:], later
		}
		return l.put(&l.list, count, l.word)
	})
}

// put adds a word to a list if it has two tokens or more.
func (l *learner) put(list *wordList, count int64, word []int32) error {
	if len(word) < 2 {
		return nil
	}
	l.symbols += len(word)
	l.record = l.record[:0]
	for _, id := range word {
		l.record = binary.AppendUvarint(l.record, uint64(id))
	}
	return list.add(count, l.record)
}

// each calls do for every word of l.list. number is the index of the word.
func (l *learner) each(ctx context.Context, do func(number int, count int64, word []int32) error) error {
	n := 0
	return l.list.each(ctx, func(count int64, record []byte) error {
		l.word = l.word[:0]
		for len(record) > 0 {
			id, size := binary.Uvarint(record)
			if size <= 0 {
				return errors.New("a temporary file has other bytes than were written")
			}
			l.word = append(l.word, int32(id))
			record = record[size:]
		}
		n++
		return do(n-1, count, l.word)
	})
}

// run learns tokens until the vocabulary has size tokens or no pair is frequent
// enough.
func (l *learner) run(ctx context.Context, size int) error {
	for {
		if err := l.load(ctx); err != nil {
			return err
		}
		if err := l.merger.run(ctx, size); err != nil {
			return err
		}
		if !l.merger.partial || len(l.vocab.tokens) >= size || len(l.merger.words) == 0 {
			return nil
		}
		if err := l.store(ctx); err != nil {
			return err
		}
	}
}

// load loads the words of a round into the merger.
func (l *learner) load(ctx context.Context) error {
	m := l.merger
	m.reset()
	if l.symbols <= l.limit {
		m.words, m.symbols = slices.Grow(m.words, l.list.n), slices.Grow(m.symbols, l.symbols)
		m.links = slices.Grow(m.links, l.symbols)
		if err := l.each(ctx, m.hold); err != nil {
			return err
		}
		m.begin(nil)
		return nil
	}
	m.partial = true
	wanted, least, err := l.candidates(ctx)
	if err != nil {
		return err
	}
	s := newSelection(m, wanted, l.limit)
	if err := l.each(ctx, s.add); err != nil {
		return err
	}
	s.cut(0)
	m.bound = queueEntry{count: least - 1, left: -1, right: -1}
	if s.end < len(wanted) {
		m.bound = wanted[s.end]
	}
	m.begin(wanted[:s.end])
	return nil
}

// hold adds a word to the words in memory.
func (m *merger) hold(number int, count int64, tokens []int32) error {
	const most = 1 << 29 // each may need three links, whose indexes must fit in an int32
	if len(m.symbols)+len(tokens) > most {
		return fmt.Errorf("the words with one pair of tokens have more than %d characters: lower max_words", most)
	}
	m.words = append(m.words, word{count: count, start: int32(len(m.symbols)), n: int32(len(tokens)), number: int32(number)})
	m.symbols = append(m.symbols, tokens...)
	return nil
}

// candidates returns the most frequent pairs, in the order in which they are to be merged:
// all pairs that occur at least least times. It returns no pairs only if no pair is
// frequent enough to be merged.
func (l *learner) candidates(ctx context.Context) (pairs []queueEntry, least int64, err error) {
	buckets := make([]int64, pairBuckets) // a pair occurs at most as often as its bucket
	err = l.each(ctx, func(_ int, count int64, word []int32) error {
		for k := 1; k < len(word); k++ {
			buckets[pairHash(pairKey(word[k-1], word[k]))%pairBuckets] += count
		}
		return nil
	})
	lowest := l.merger.min
	for least = max(leastOf(buckets), lowest); err == nil && len(pairs) == 0; least = max(least/4, lowest) {
		if pairs, err = l.frequent(ctx, buckets, least); least == lowest {
			break
		}
	}
	return pairs, least, err
}

// frequent returns the pairs that occur at least least times, in the order in which they
// are to be merged.
func (l *learner) frequent(ctx context.Context, buckets []int64, least int64) (pairs []queueEntry, err error) {
	index := newPairIndex()
	err = l.each(ctx, func(_ int, count int64, word []int32) error {
		for k := 1; k < len(word); k++ {
			left, right := word[k-1], word[k]
			if buckets[pairHash(pairKey(left, right))%pairBuckets] < least {
				continue
			}
			n, isNew := index.find(left, right, int32(len(pairs)))
			if isNew {
				pairs = append(pairs, queueEntry{left: left, right: right})
			}
			pairs[n].count += count
		}
		return nil
	})
	pairs = slices.DeleteFunc(pairs, func(e queueEntry) bool { return e.count < least })
	slices.SortFunc(pairs, func(a, b queueEntry) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	return pairs, err
}

// leastOf returns a threshold that only few counters reach: at most maxCandidates, or, if
// that is impossible, those within a sixteenth of the highest.
func leastOf(counters []int64) int64 {
	// A class is a range of counts with the same bit length and the same 4 bits after the
	// leading 1.
	const fine = 4
	class := func(n int64) int {
		size := bits.Len64(uint64(n))
		if size <= fine {
			return int(n)
		}
		return size<<fine | int(n>>(size-1-fine))&(1<<fine-1)
	}
	var classes [65 << fine]int
	lowest := [65 << fine]int64{}
	for i := range lowest {
		lowest[i] = math.MaxInt64
	}
	for _, n := range counters {
		c := class(n)
		classes[c]++
		lowest[c] = min(lowest[c], n)
	}
	least, sum := int64(math.MaxInt64), 0
	for c := len(classes) - 1; c > 0; c-- {
		if classes[c] == 0 {
			continue
		}
		if sum += classes[c]; sum > maxCandidates && least != math.MaxInt64 {
			return least
		}
		least = lowest[c]
	}
	return 1
}

// A selection chooses the words of a round: those that contain one of the first end pairs.
// It chooses end so that these words fit in memory.
type selection struct {
	m       *merger
	index   pairIndex
	limit   int
	end     int     // number of chosen pairs
	ranks   []int32 // by word of m: index of its first pair in the order of merging
	symbols []int   // by pair: number of tokens of the words whose first pair this is
}

func newSelection(m *merger, pairs []queueEntry, limit int) *selection {
	s := &selection{m: m, index: newPairIndex(), limit: limit, end: len(pairs), symbols: make([]int, len(pairs))}
	for i, e := range pairs {
		s.index.find(e.left, e.right, int32(i))
	}
	return s
}

// add adds a word to the round if it contains a chosen pair.
func (s *selection) add(number int, count int64, word []int32) error {
	best := int32(s.end)
	for k := 1; k < len(word); k++ {
		if n := s.index.number(word[k-1], word[k]); n >= 0 {
			best = min(best, n)
		}
	}
	if best == int32(s.end) {
		return nil
	}
	if err := s.m.hold(number, count, word); err != nil {
		return err
	}
	s.ranks = append(s.ranks, best)
	s.symbols[best] += len(word)
	s.cut(s.limit / 4)
	return nil
}

// cut reduces the number of chosen pairs if the words exceed the limit by more than spare
// tokens, and drops the words that contain none of the chosen pairs. At least one pair
// stays chosen.
func (s *selection) cut(spare int) {
	if len(s.m.symbols) <= s.limit+spare || s.end == 1 {
		return
	}
	sum := 0
	for i := range s.end {
		if sum += s.symbols[i]; sum > s.limit && i > 0 {
			s.end = i
			break
		}
	}
	words, ranks, end := s.m.words[:0], s.ranks[:0], int32(0)
	for i, w := range s.m.words {
		if s.ranks[i] >= int32(s.end) {
			continue
		}
		copy(s.m.symbols[end:], s.m.symbols[w.start:w.start+w.n])
		w.start = end
		end += w.n
		words, ranks = append(words, w), append(ranks, s.ranks[i])
	}
	s.m.words, s.ranks, s.m.symbols = words, ranks, s.m.symbols[:end]
}

// store writes all words to a new list, with the tokens that the round has merged.
func (l *learner) store(ctx context.Context) error {
	l.symbols = 0
	next, held := l.empty, l.merger.words
	err := l.each(ctx, func(n int, count int64, word []int32) error {
		if len(held) > 0 && int(held[0].number) == n {
			w := held[0]
			word, held = l.merger.symbols[w.start:w.start+w.n], held[1:]
		}
		return l.put(&next, count, word)
	})
	err = errors.Join(err, l.list.close())
	l.list = next
	return err
}
