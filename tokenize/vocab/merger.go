package vocab

import "context"

// A merger joins pairs of neighbouring tokens, the most frequent pair first, in the words
// in memory. These are either all words, or all words that contain one of the pairs before
// bound; see [learner].
//
// For every pair it stores the exact current frequency and a list of words. The list has
// all words in which the pair occurs, and perhaps words in which it no longer occurs. The
// queue may contain outdated entries, which run skips.
type merger struct {
	vocab *vocabulary
	min   int64 // minimum frequency of a pair

	words   []word
	symbols []int32 // tokens of all words, concatenated
	index   pairIndex
	pairs   []pair
	links   []link // linked lists of words, starting at pair.words
	unused  int32  // first link of the list of free links, or noLink
	queue   pairQueue
	touched []int32 // pairs that gained occurrences in the current merge

	// Used if only some of the words are in memory:
	partial bool
	bound   queueEntry // only pairs before bound are known to be complete in memory
	old     int32      // number of tokens when the words were loaded
	doubt   int64      // highest count of an unsure pair
}

// A word is a list of tokens with its count.
type word struct {
	count  int64
	start  int32 // index of the first token in merger.symbols
	n      int32 // number of tokens
	number int32 // index of the word in the list of all words
}

type pair struct {
	left, right int32
	words       int32 // first link of the list of words, or noLink
	count       int64
	queued      int64 // count of its valid entry in the queue, or 0
	unsure      bool  // the pair also occurs in words that are not in memory
}

// A link is an element of a linked list of words: the index of the word, and the
// index of the next link or noLink.
type link struct{ word, next int32 }

const noLink = -1

func newMerger(v *vocabulary, min int64) *merger {
	return &merger{vocab: v, min: min, index: newPairIndex()}
}

// reset removes all words and pairs but keeps the memory.
func (m *merger) reset() {
	m.words, m.symbols, m.pairs, m.links, m.queue = m.words[:0], m.symbols[:0], m.pairs[:0], m.links[:0], m.queue[:0]
	m.index.clear()
	m.unused, m.old, m.doubt, m.partial = noLink, int32(len(m.vocab.tokens)), 0, false
}

// begin counts the pairs in the words and fills the queue. If only some words are in
// memory, it counts only the pairs in wanted.
func (m *merger) begin(wanted []queueEntry) {
	for i, e := range wanted {
		m.index.find(e.left, e.right, int32(i))
		m.pairs = append(m.pairs, pair{left: e.left, right: e.right, words: noLink})
	}
	for i := range m.words {
		w := &m.words[i]
		symbols := m.symbols[w.start : w.start+w.n]
		for k := 1; k < len(symbols); k++ {
			if m.partial && m.index.number(symbols[k-1], symbols[k]) < 0 {
				continue
			}
			m.gain(symbols[k-1], symbols[k], int32(i))
		}
		m.touched = m.touched[:0]
	}
	for n := range m.pairs {
		m.enqueue(int32(n))
	}
}

// run learns tokens until the vocabulary has size tokens or no pair is frequent
// enough. It checks ctx before every merge, because merging a frequent pair in
// millions of words takes long.
func (m *merger) run(ctx context.Context, size int) error {
	for len(m.vocab.tokens) < size {
		if err := ctx.Err(); err != nil {
			return err
		}
		top, ok := m.queue.pop()
		if !ok {
			return nil
		}
		p := &m.pairs[top.pair]
		if top.count != p.queued {
			continue // another entry of the pair is valid
		}
		p.queued = 0
		if p.count != top.count {
			m.enqueue(top.pair)
			continue
		}
		if m.partial && !m.certain(&top) {
			return nil
		}
		m.merge(top.pair)
	}
	return nil
}

// certain reports whether a pair has precedence over every pair whose count in memory may
// be incomplete.
func (m *merger) certain(e *queueEntry) bool {
	bound := m.bound
	if m.doubt > 0 {
		bound = queueEntry{count: bound.count + m.doubt, left: -1, right: -1}
	}
	return e.before(&bound)
}

// merge joins the pair with index n in all words that contain it.
func (m *merger) merge(n int32) {
	joined := m.vocab.join(m.pairs[n].left, m.pairs[n].right)
	at := m.pairs[n].words
	m.pairs[n].words = noLink
	for at != noLink {
		l := m.links[at]
		m.links[at].next = m.unused
		m.unused = at
		at = l.next
		m.mergeWord(l.word, m.pairs[n], joined)
	}
	m.enqueueTouched()
}

// mergeWord replaces the pair p by the token joined in the word with index n,
// from left to right.
func (m *merger) mergeWord(n int32, p pair, joined int32) {
	left, right, w := p.left, p.right, &m.words[n]
	symbols := m.symbols[w.start : w.start+w.n]
	end := 0 // end of the part already joined
	for k := 0; k < len(symbols); k++ {
		if symbols[k] != left || k+1 == len(symbols) || symbols[k+1] != right {
			symbols[end] = symbols[k]
			end++
			continue
		}
		m.lose(left, right, w.count)
		if end > 0 {
			m.lose(symbols[end-1], left, w.count)
			m.gain(symbols[end-1], joined, n)
		}
		if k+2 < len(symbols) {
			m.lose(right, symbols[k+2], w.count)
			m.gain(joined, symbols[k+2], n)
		}
		symbols[end] = joined
		end++
		k++
	}
	w.n = int32(end)
}

// gain adds one occurrence of a pair in the word with index word.
func (m *merger) gain(left, right, word int32) {
	n, isNew := m.index.find(left, right, int32(len(m.pairs)))
	if isNew {
		// Two old tokens may also be neighbours in words that are not in memory: a merge
		// can produce an old token again.
		unsure := m.partial && left < m.old && right < m.old
		m.pairs = append(m.pairs, pair{left: left, right: right, words: noLink, unsure: unsure})
	}
	p := &m.pairs[n]
	p.count += m.words[word].count
	if p.unsure {
		m.doubt = max(m.doubt, p.count)
		return
	}
	m.touched = append(m.touched, n)
	if p.words != noLink && m.links[p.words].word == word {
		return
	}
	p.words = m.newLink(link{word: word, next: p.words})
}

// lose subtracts count, the frequency of a word, from the frequency of a pair
// that no longer occurs in that word.
func (m *merger) lose(left, right int32, count int64) {
	n := m.index.number(left, right)
	if n >= 0 {
		m.pairs[n].count -= count
	} else if !m.partial {
		panic("BUG: pair lost that was never gained")
	}
}

func (m *merger) newLink(l link) int32 {
	if m.unused == noLink {
		m.links = append(m.links, l)
		return int32(len(m.links) - 1)
	}
	at := m.unused
	m.unused = m.links[at].next
	m.links[at] = l
	return at
}

// enqueueTouched enqueues the pairs that became more frequent.
func (m *merger) enqueueTouched() {
	for _, n := range m.touched {
		if p := &m.pairs[n]; p.count > p.queued {
			m.enqueue(n)
		}
	}
	m.touched = m.touched[:0]
}

// enqueue puts the pair with index n into the queue, if it occurs at least
// m.min times.
func (m *merger) enqueue(n int32) {
	p := &m.pairs[n]
	if p.count < m.min || p.unsure {
		return
	}
	p.queued = p.count
	m.queue.push(queueEntry{count: p.count, left: p.left, right: p.right, pair: n})
}
