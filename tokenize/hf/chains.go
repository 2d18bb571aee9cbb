package hf

import (
	"slices"
	"unicode/utf8"

	"pretext/tokenize/internal/bytetrie"
)

// chains encodes a word token by token, without merging its symbols.
//
// It rests on two facts about merges in the order of their ranks, the leftmost of equal
// ranks first. As long as no merge crosses a border between two parts of a word, each part
// is merged as if it were alone, and the merges of two neighbours come in the same order as
// in a word of these two. So a row of tokens is the result for a word if and only if each
// token is the result for its own text, and each two neighbours are the result for their
// joined texts. And since a word has one result, so has each beginning of it: a search that
// takes back its last token when no other fits is at no position twice.
type chains struct {
	trie   *bytetrie.Trie // the tokens that merges make of their own text
	tokens []chainToken   // by id
	model  *bpe
	filter pairFilter // of the merges
	border pairFilter // of the last symbol of the left and the first of the right token of each merge
	gaps   bool       // unknown symbols take no part in merges, so a word is divided there
}

// A chainToken is a token, and how merges make it of its own text.
type chainToken struct {
	left, right int32 // the tokens that the last merge joins; noToken for a symbol
	rank        int32 // of that merge; -1 for a symbol
	shorter     int32 // the longest other token with which the text begins, or noToken
	size        int32 // bytes of the text; 0 if merges do not make the token of it
	first, last int32 // its symbols at the ends
	mixed       bool  // its merges do not come in the order of their ranks
}

// stepsPerByte limits the search in a vocabulary that was made to slow it down. Ordinary
// ones need less than a tenth of it.
const stepsPerByte = 256

// newChains returns the chains of a model with these merges. The result is nil if the
// model's symbols are not single characters or bytes of the text, or if the merges take too
// long to look through.
func newChains(b *bpe, merges map[pair]merged) *chains {
	if b.prefix != "" || b.suffix != "" || b.raw != nil && slices.Contains(b.rawIDs[:], noToken) {
		return nil
	}
	texts := b.texts()
	c := &chains{tokens: make([]chainToken, len(texts)), model: b, filter: newPairFilter(len(merges)), border: newPairFilter(len(merges) / 4)}
	for id, text := range texts {
		if text != "" && b.isSymbol(text) {
			c.tokens[id] = chainToken{left: noToken, right: noToken, rank: -1, size: int32(len(text)), first: int32(id), last: int32(id)}
		}
	}
	if !c.derive(merges, texts) {
		return nil
	}
	known := make(map[string]int32, len(texts))
	for id, text := range texts {
		if c.tokens[id].size > 0 {
			known[text] = int32(id)
		}
	}
	c.trie = bytetrie.New(known)
	for id, text := range texts {
		if t := &c.tokens[id]; t.size > 0 {
			t.shorter, _ = c.trie.Longest(text[:len(text)-1])
		}
	}
	// Without a token for it, an unknown symbol is lost, and its neighbours meet.
	c.gaps = (b.unk != noToken || b.bytes != nil && !slices.Contains(b.bytes, noToken)) && !b.mergesUnknown(merges)
	return c
}

// texts returns the text that each token stands for, by id; "" for an id without a token or
// a token without a text. The result is nil if the ids are far from each other.
func (b *bpe) texts() []string {
	most := 0
	for _, id := range b.vocab {
		most = max(most, int(id))
	}
	if most > 4*len(b.vocab)+1<<10 {
		return nil
	}
	texts := make([]string, most+1)
	for token, id := range b.vocab {
		if b.raw == nil {
			texts[id] = token
		} else if raw, ok := rawBytes(token); ok {
			texts[id] = raw
		}
	}
	return texts
}

// isSymbol reports whether the text of a token is one symbol.
func (b *bpe) isSymbol(text string) bool {
	if b.raw != nil {
		return len(text) == 1
	}
	_, size := utf8.DecodeRuneInString(text)
	return size == len(text)
}

// mergesUnknown reports whether a merge joins a token that stands for unknown text.
func (b *bpe) mergesUnknown(merges map[pair]merged) bool {
	for p := range merges {
		for _, id := range [...]int32{p.left, p.right} {
			if id == b.unk || slices.Contains(b.bytes, id) {
				return true
			}
		}
	}
	return false
}

// A joining is a merge and the size of the text that it makes, in bytes.
type joining struct {
	pair
	merged
	size int
}

// derive finds the tokens that merges make of their own text, the shortest first. It returns
// false if that takes too long.
func (c *chains) derive(merges map[pair]merged, texts []string) bool {
	all := make([]joining, 0, len(merges))
	for p, to := range merges {
		all = append(all, joining{p, to, len(texts[to.id])})
	}
	slices.SortFunc(all, func(x, y joining) int { return x.size - y.size })
	w := newWorker(c.model)
	w.steps = stepsPerByte * (len(merges) + 1<<10)
	for _, m := range all {
		t, l, r := &c.tokens[m.id], &c.tokens[m.left], &c.tokens[m.right]
		if l.size == 0 || r.size == 0 {
			continue
		}
		c.filter.add(m.left, m.right)
		c.border.add(l.last, r.first)
		if t.size > 0 || !c.becomes(w, m) {
			continue
		}
		*t = chainToken{left: m.left, right: m.right, rank: m.rank, size: l.size + r.size,
			first: l.first, last: r.last, mixed: l.mixed || r.mixed || m.rank < max(l.rank, r.rank)}
	}
	return w.steps > 0
}

// becomes reports whether the joined texts of two tokens become one by a merge of both.
func (c *chains) becomes(w *worker, m joining) bool {
	if c.tokens[m.left].mixed || c.tokens[m.right].mixed {
		ids := c.merge(w, m.left, m.right)
		return len(ids) == 1 && ids[0] == m.id
	}
	return c.grows(w, m.left, m.right)
}

// apart reports whether merges leave two neighbouring tokens as they are.
func (c *chains) apart(w *worker, left, right int32) bool {
	if !c.border.has(c.tokens[left].last, c.tokens[right].first) {
		return true
	}
	key := uint64(uint32(left+1))<<25 | uint64(uint32(right))<<1
	s := &w.pairs[pairHash(key)>>(64-pairsBits)]
	if *s&^1 == key {
		return *s&1 != 0
	}
	apart := c.decide(w, left, right)
	if w.steps <= 0 {
		return false // it was not decided
	}
	if *s = key; apart {
		*s |= 1
	}
	return apart
}

// decide implements apart without the worker's memory of pairs.
func (c *chains) decide(w *worker, left, right int32) bool {
	if c.tokens[left].mixed || c.tokens[right].mixed {
		return slices.Equal(c.merge(w, left, right), []int32{left, right})
	}
	return c.find(left, right) == noMerge && c.grows(w, left, right)
}

// grows reports whether two neighbours become whole before a merge joins a part of one and a
// part of the other. It goes through what is next to the border, from the last merge of the
// two to the first; of equal ranks the merge in the left one is the first. Before the merge
// that is taken back, a pair at the border would have been merged if its rank was lower, and
// also if it was equal and that merge lay right of it.
func (c *chains) grows(w *worker, left, right int32) bool {
	for {
		l, r := &c.tokens[left], &c.tokens[right]
		// Which of the two it is cannot be foretold, so this is no branch.
		x, y, limit := left, r.left, r.rank+1
		above, lower, rank := l.right, right, l.rank
		if rank > r.rank {
			x, y, limit = above, lower, rank
		}
		if limit == 0 {
			return true // two symbols
		}
		left, right = x, y
		w.steps--
		if c.find(left, right) < packed(limit)<<32 || w.steps <= 0 {
			return false
		}
	}
}

// find returns the merge of a pair, or noMerge.
func (c *chains) find(left, right int32) packed {
	if !c.filter.has(left, right) {
		return noMerge
	}
	return c.model.merges.find(left, right)
}

// merge merges the symbols of two tokens. The result is valid until the next call.
func (c *chains) merge(w *worker, left, right int32) []int32 {
	w.symbols = w.symbols[:0]
	w.steps -= int(c.tokens[left].size + c.tokens[right].size)
	c.addSymbols(w, left)
	c.addSymbols(w, right)
	w.joined = w.appendMerged(w.joined[:0], c.model)
	return w.joined
}

// addSymbols adds the symbols of a token.
func (c *chains) addSymbols(w *worker, id int32) {
	for t := &c.tokens[id]; t.rank >= 0; t = &c.tokens[id] {
		c.addSymbols(w, t.left)
		id = t.right
	}
	w.add(id)
}

// appendIDs appends the ids of a word. It returns false, and dst as it was, if it cannot
// tell: the word has unknown symbols that merges could join, or takes too many steps.
func (c *chains) appendIDs(w *worker, dst []int32, word string) (ids []int32, ok bool) {
	w.steps = stepsPerByte * (len(word) + 16)
	before, first := len(dst), len(dst) // first: of the tokens since the last unknown symbol
	for at := 0; at < len(word); {
		next, steps := c.trie.Longest(word[at:])
		if w.steps -= steps; next == noToken && c.gaps && w.steps > 0 {
			n := c.unknown(word[at:])
			dst = c.model.appendUnknown(w, dst, word[at:at+n])
			at, first = at+n, len(dst)
			continue
		}
		for next == noToken || len(dst) > first && !c.apart(w, dst[len(dst)-1], next) {
			if next != noToken {
				next = c.tokens[next].shorter
				continue
			}
			if len(dst) == first || w.steps <= 0 {
				return dst[:before], false
			}
			last := &c.tokens[dst[len(dst)-1]]
			dst, at, next = dst[:len(dst)-1], at-int(last.size), last.shorter
		}
		dst = append(dst, next)
		at += int(c.tokens[next].size)
	}
	if w.steps <= 0 {
		return dst[:before], false
	}
	return dst, true
}

// unknown returns the length of the unknown characters with which a text begins.
func (c *chains) unknown(text string) int {
	for i := range text {
		if id, _ := c.trie.Longest(text[i:]); id != noToken {
			return i
		}
	}
	return len(text)
}

// appendUnknown appends the ids of unknown characters.
func (b *bpe) appendUnknown(w *worker, dst []int32, s string) []int32 {
	w.symbols = w.symbols[:0]
	pending := false
	for i, r := range s {
		pending = b.missing(w, pending, s[i:i+utf8.RuneLen(r)])
	}
	if pending {
		w.add(b.unk)
	}
	for _, symbol := range w.symbols {
		dst = append(dst, symbol.id)
	}
	return dst
}

// A pairFilter is a set of pairs, with some others that it takes for pairs of the set. It is
// small, so that it stays in the cache.
type pairFilter struct {
	bits  []uint64
	shift int
}

// newPairFilter returns an empty filter with 16 to 32 bits for each of n pairs.
func newPairFilter(n int) pairFilter {
	f := pairFilter{shift: 64 - 10}
	for 1<<(64-f.shift) < 16*n {
		f.shift--
	}
	f.bits = make([]uint64, 1<<(64-f.shift-6))
	return f
}

// add adds a pair to the set.
func (f *pairFilter) add(left, right int32) {
	at := f.hash(left, right)
	f.bits[at/64] |= 1 << (at % 64)
}

// has reports whether a pair may be in the set.
func (f *pairFilter) has(left, right int32) bool {
	at := f.hash(left, right)
	return f.bits[at/64]>>(at%64)&1 != 0
}

func (f *pairFilter) hash(left, right int32) uint64 { return pairHash(pairKey(left, right)) >> f.shift }
