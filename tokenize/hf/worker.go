package hf

import (
	"cmp"
	"hash/maphash"
	"math"
	"strings"
)

// A worker encodes words with one model. It must not be used by several
// goroutines at once.
type worker struct {
	model  wordModel
	budget *budget     // budget of the current text
	short  []shortWord // cache of short words; the hash selects the entry
	added  int         // number of words added to short since it was last enlarged
	seed   maphash.Seed
	long   map[string]span // cache of longer words: the range of their ids in the field ids
	ids    []int32         // ids of the words in long

	symbols []symbol    // symbols of the word that bpe merges
	heap    []candidate // possible merges
	joined  []int32     // what merges make of two tokens
	steps   int         // that the search of chains may still take
	pairs   []uint64    // by hash of two tokens: chains.apart of them, in the lowest bit, and their ids
	path    []pathNode  // of the word that unigram splits, by byte
}

// wordModel appends the ids of a word to dst.
type wordModel interface {
	appendIDs(w *worker, dst []int32, word string) []int32
}

// A span is a range of worker.ids.
type span struct{ start, end int32 }

// A shortWord is an entry of the cache of short words: a word and its ids, 64 bytes in
// all. An entry without ids is unused.
type shortWord struct {
	bytes, n uint8 // lengths of word and ids
	word     [maxShortWord]byte
	ids      [maxShortIDs]int32
}

// pairsBits is the logarithm of the number of pairs whose chains.apart a worker remembers.
const pairsBits = 13

// Limits of a worker's caches. A short word replaces another one with the same hash. The
// cache of long words is emptied when one of its limits is reached.
const (
	maxShortWord = 30
	maxShortIDs  = 8
	minShort     = 1 << 9 // initial number of entries; the cache grows
	maxShort     = 1 << 15
	maxLongWord  = 64 // bytes
	maxLong      = 1 << 14
	maxCachedIDs = 1 << 20
)

func newWorker(m wordModel) *worker {
	return &worker{model: m, budget: newBudget(""), short: make([]shortWord, minShort), seed: maphash.MakeSeed(), long: map[string]span{},
		pairs: make([]uint64, 1<<pairsBits)}
}

// appendWord appends the ids of a word, from the cache if possible.
func (w *worker) appendWord(dst []int32, word string) []int32 {
	if len(word) > maxShortWord {
		return w.appendLong(dst, word)
	}
	s := w.slot(word)
	if s.n > 0 && int(s.bytes) == len(word) && string(s.word[:len(word)]) == word {
		return append(dst, s.ids[:s.n]...)
	}
	before := len(dst)
	dst = w.model.appendIDs(w, dst, word)
	if n := len(dst) - before; n <= maxShortIDs && !w.budget.spent() {
		s.bytes, s.n = uint8(len(word)), uint8(n)
		copy(s.word[:], word)
		copy(s.ids[:], dst[before:])
		w.grow()
	}
	return dst
}

// slot returns the entry for a word in the cache of short words.
func (w *worker) slot(word string) *shortWord {
	return &w.short[maphash.String(w.seed, word)%uint64(len(w.short))]
}

// grow enlarges and empties the cache of short words once as many words were added as it
// has entries.
func (w *worker) grow() {
	if w.added++; w.added == len(w.short) && len(w.short) < maxShort {
		w.short, w.added = make([]shortWord, 8*len(w.short)), 0
	}
}

// appendLong implements appendWord for words of more than maxShortWord bytes.
func (w *worker) appendLong(dst []int32, word string) []int32 {
	if b, ok := w.model.(*bpe); ok && b.chains != nil {
		return b.appendIDs(w, dst, word)
	}
	if s, ok := w.long[word]; ok {
		return append(dst, w.ids[s.start:s.end]...)
	}
	before := len(dst)
	dst = w.model.appendIDs(w, dst, word)
	if len(word) <= maxLongWord && !w.budget.spent() {
		if len(w.long) == maxLong || len(w.ids) > maxCachedIDs {
			clear(w.long)
			w.ids = w.ids[:0]
		}
		start := len(w.ids)
		w.ids = append(w.ids, dst[before:]...)
		w.long[strings.Clone(word)] = span{int32(start), int32(len(w.ids))}
	}
	return dst
}

// A symbol is a token of the word that is being merged. The symbols form a linked list.
type symbol struct {
	id         int32
	prev, next int32 // -1 at the ends
}

// A candidate is a possible merge of the symbol at index at with its right neighbour to the
// token id. It is stale if one of the two has been merged since.
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

// fewSymbols is the maximum number of symbols for which searching all pairs is faster than
// a heap.
const fewSymbols = 64

// appendMerged merges the symbols and appends their ids. It repeatedly merges the pair of
// neighbouring symbols with the lowest rank, the leftmost of equal pairs, until no pair can
// be merged.
func (w *worker) appendMerged(dst []int32, b *bpe) []int32 {
	if len(w.symbols) <= fewSymbols {
		return w.appendMergedFew(dst, b)
	}
	return w.appendMergedMany(dst, b)
}

// appendMergedMany implements appendMerged with a heap.
func (w *worker) appendMergedMany(dst []int32, b *bpe) []int32 {
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
		if to, ok := b.merges.get(left.id, right.id); !ok || to.id != c.id {
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

// appendMergedFew implements appendMerged for at most fewSymbols symbols. A symbol keeps its
// place when others are merged, and a key has the rank of a merge and the place of its left
// symbol, so that the least key is the merge to make: a search that no branch depends on.
func (w *worker) appendMergedFew(dst []int32, model *bpe) []int32 {
	var (
		keys       [fewSymbols]uint64 // by place: of the merge with the next symbol, or noKey
		ids, made  [fewSymbols]int32  // by place: of the symbol, of that merge
		prev, next [fewSymbols + 1]uint8
		n          = len(w.symbols)
	)
	for i := range n {
		ids[i] = w.symbols[i].id
		prev[i+1], next[i] = uint8(i), uint8(i+1)
	}
	consider := func(at, right int) {
		p := model.merges.find(ids[at], ids[right])
		keys[at], made[at] = uint64(p)&^math.MaxUint32|uint64(at), int32(p)
	}
	for i := range n - 1 {
		consider(i, i+1)
	}
	end := (n + 3) &^ 3 // four at a time
	for i := max(0, n-1); i < end; i++ {
		keys[i] = noKey
	}
	for {
		a, b, c, d := noKey, noKey, noKey, noKey
		for four := keys[:end]; len(four) >= 4; four = four[4:] {
			a, b, c, d = min(a, four[0]), min(b, four[1]), min(c, four[2]), min(d, four[3])
		}
		best := min(a, b, c, d)
		if best >= noKey {
			break
		}
		at := int(best & math.MaxUint32)
		gone := next[at]
		ids[at] = made[at]
		keys[gone] = noKey
		after := next[gone]
		next[at] = after
		if int(after) < n {
			prev[after] = uint8(at)
			consider(at, int(after))
		} else {
			keys[at] = noKey
		}
		if at > 0 {
			consider(int(prev[at]), at)
		}
	}
	for i := 0; i < n; i = int(next[i]) {
		dst = append(dst, ids[i])
	}
	return dst
}

// noKey is less than or equal to the key of a pair that cannot be merged, and greater than
// all others: ranks are below 2^31.
const noKey = uint64(noMerge) &^ math.MaxUint32

// consider pushes the merge of the symbol at index at and its right neighbour
// on the heap, if the pair can be merged.
func (w *worker) consider(b *bpe, at int32) {
	s := w.symbols[at]
	if s.next < 0 {
		return
	}
	if to, ok := b.merges.get(s.id, w.symbols[s.next].id); ok {
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
