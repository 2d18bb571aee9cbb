package hf

import (
	"cmp"
	"strings"
)

// A worker encodes words with one model. It must not be used by several
// goroutines at once.
type worker struct {
	model wordModel
	cache map[string]span
	ids   []int32 // of the words in the cache

	symbols []symbol    // of the word that bpe merges
	heap    []candidate // merges that are possible
	path    []pathNode  // of the word that unigram splits
	buffer  []byte
}

// wordModel appends the ids of a word to dst.
type wordModel interface {
	appendIDs(w *worker, dst []int32, word string) []int32
}

// A span is a part of worker.ids.
type span struct{ start, end int32 }

// Limits of a worker's cache, which is emptied when one is reached.
const (
	maxCachedWord = 64      // bytes of a word
	maxCached     = 1 << 15 // words
	maxCachedIDs  = 1 << 20
)

func newWorker(m wordModel) *worker { return &worker{model: m, cache: map[string]span{}} }

// appendWord appends the ids of a word, from the cache if it has them.
func (w *worker) appendWord(dst []int32, word string) []int32 {
	if s, ok := w.cache[word]; ok {
		return append(dst, w.ids[s.start:s.end]...)
	}
	before := len(dst)
	dst = w.model.appendIDs(w, dst, word)
	if len(word) <= maxCachedWord {
		if len(w.cache) == maxCached || len(w.ids) > maxCachedIDs {
			clear(w.cache)
			w.ids = w.ids[:0]
		}
		start := len(w.ids)
		w.ids = append(w.ids, dst[before:]...)
		w.cache[strings.Clone(word)] = span{int32(start), int32(len(w.ids))}
	}
	return dst
}

// A symbol is a token of the word that is merged. The symbols form a linked
// list.
type symbol struct {
	id         int32
	prev, next int32 // -1 at the ends
}

// A candidate is a possible merge: the symbol at index at and its right
// neighbour would become id. It is stale if one of them was merged since.
type candidate struct{ rank, at, id int32 }

const gone = -1 // id of a symbol merged into another

// add adds a symbol at the end of the word.
func (w *worker) add(id int32) {
	n := int32(len(w.symbols))
	if n > 0 {
		w.symbols[n-1].next = n
	}
	w.symbols = append(w.symbols, symbol{id: id, prev: n - 1, next: -1})
}

// appendMerged merges the symbols and appends their ids. It merges the pair of
// neighbouring symbols with the lowest rank, of several equal pairs the
// leftmost, until no pair can be merged.
func (w *worker) appendMerged(dst []int32, b *bpe) []int32 {
	w.heap = w.heap[:0]
	for i := range w.symbols {
		w.consider(b, int32(i))
	}
	for len(w.heap) > 0 {
		c := w.pop()
		left := &w.symbols[c.at]
		if left.id == gone || left.next < 0 {
			continue
		}
		right := &w.symbols[left.next]
		if to, ok := b.merges[pair{left.id, right.id}]; !ok || to.id != c.id {
			continue
		}
		left.id, right.id = c.id, gone
		left.next = right.next
		if left.next >= 0 {
			w.symbols[left.next].prev = c.at
		}
		if left.prev >= 0 {
			w.consider(b, left.prev)
		}
		w.consider(b, c.at)
	}
	for i := range w.symbols {
		if id := w.symbols[i].id; id != gone {
			dst = append(dst, id)
		}
	}
	return dst
}

// consider pushes the merge of the symbol at index at and its right neighbour
// on the heap, if the pair can be merged.
func (w *worker) consider(b *bpe, at int32) {
	s := w.symbols[at]
	if s.next < 0 {
		return
	}
	if to, ok := b.merges[pair{s.id, w.symbols[s.next].id}]; ok {
		w.push(candidate{to.rank, at, to.id})
	}
}

func (c candidate) before(d candidate) bool {
	return cmp.Or(cmp.Compare(c.rank, d.rank), cmp.Compare(c.at, d.at)) < 0
}

func (w *worker) push(c candidate) {
	w.heap = append(w.heap, c)
	for i := len(w.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !w.heap[i].before(w.heap[up]) {
			return
		}
		w.heap[i], w.heap[up] = w.heap[up], w.heap[i]
		i = up
	}
}

func (w *worker) pop() candidate {
	top, last := w.heap[0], len(w.heap)-1
	w.heap[0] = w.heap[last]
	w.heap = w.heap[:last]
	for i := 0; ; {
		least := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < last && w.heap[child].before(w.heap[least]) {
				least = child
			}
		}
		if least == i {
			return top
		}
		w.heap[i], w.heap[least] = w.heap[least], w.heap[i]
		i = least
	}
}
