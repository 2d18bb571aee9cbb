package tokenize

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"pretext/internal/hugepages"
)

// A trie finds the longest vocabulary piece at the beginning of a word. It is a
// double-array trie over bytes. The child of state s for byte b is the state c
// = nodes[s].base+b, which exists only if nodes[c].parent is s.
//
// Most time is spent waiting for memory, so nodes are packed into a third of the bytes if
// the vocabulary is small enough. In packed[s], bits 0 to 7 are the byte that leads to s,
// bit 8 states whether a piece ends at s, and the bits above are the base. No two states
// with children have the same base, so a byte leads to a state c only from c's parent.
type trie struct {
	nodes  []trieNode // nil if packed
	packed []uint32
	ids    []int32 // if packed, by state: the id of the piece that ends there
}

const (
	pieceEnds = 1 << 8 // flag in trie.packed
	baseShift = 9
	maxPacked = 1 << (32 - baseShift) // maximum number of states that can be packed
)

type trieNode struct {
	base   int32 // state number of the child for byte 0
	parent int32 // noState if the state is free, isRoot for the two roots
	id     int32 // id of the piece that ends here, or noPiece
}

const (
	rootWord    = 0 // pieces that begin a word
	rootSubword = 1 // pieces that continue a word, without "##"
	noState     = -1
	isRoot      = -2
	noPiece     = -1
)

// subwordPrefix is the prefix of tokens that continue a word.
const subwordPrefix = "##"

// newTrie returns the trie of a vocabulary without duplicates. Entries that
// cannot match a word of at most maxChars characters, such as "" and "##", are
// omitted.
func newTrie(tokens []string, maxChars int) *trie {
	t := newPlainTrie(tokens, maxChars)
	if len(t.nodes) <= maxPacked {
		t.pack()
	}
	return t
}

// newPlainTrie is newTrie without packing.
func newPlainTrie(tokens []string, maxChars int) *trie {
	var roots [2][]trieKey
	bytes := 0
	for _, id := range sorted(tokens) {
		root, token := rootWord, tokens[id]
		if rest, ok := strings.CutPrefix(token, subwordPrefix); ok {
			root, token = rootSubword, rest
		}
		if token != "" && len(token) <= utf8.UTFMax*maxChars {
			roots[root] = append(roots[root], trieKey{token, id})
			bytes += len(token)
		}
	}
	b := trieBuilder{nodes: make([]trieNode, 0, bytes/2)} // most prefixes are shared
	for root, keys := range roots {
		b.take(root, isRoot)
		b.stack = append(b.stack, trieRange{int32(root), 0, keys})
	}
	for len(b.stack) > 0 {
		last := len(b.stack) - 1
		r := b.stack[last]
		b.stack = b.stack[:last]
		b.place(r)
	}
	return b.finish()
}

type trieKey struct {
	text string
	id   int32
}

// sorted returns the indexes of the tokens in the order of their bytes. Most tokens differ
// in their first eight bytes, which are compared as a number.
func sorted(tokens []string) []int32 {
	type key struct {
		head uint64
		id   int32
	}
	keys := make([]key, len(tokens))
	for id, token := range tokens {
		k := key{id: int32(id)}
		for i := range min(len(token), 8) {
			k.head |= uint64(token[i]) << (56 - 8*i)
		}
		keys[id] = k
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return cmp.Compare(tokens[a.id], tokens[b.id])
	})
	ids := make([]int32, len(keys))
	for i, k := range keys {
		ids[i] = k.id
	}
	return ids
}

// A trieRange is a state and the sorted keys that pass through it. All of them
// share their first depth bytes.
type trieRange struct {
	state int32
	depth int
	keys  []trieKey
}

type trieBuilder struct {
	nodes []trieNode
	used  []uint64    // one bit for each state: whether it is in use; longer than nodes
	bases []uint64    // one bit for each state: whether it is a base
	stack []trieRange // states whose children have no place yet
	bytes []byte      // buffer: labels of the children to place

	// single is where findBase found the last base for one label. Most states have one
	// child, and before this there is hardly a gap for another.
	single int
}

// take marks state as used, as a child of parent.
func (b *trieBuilder) take(state int, parent int32) {
	for len(b.nodes) <= state {
		b.nodes = append(b.nodes, trieNode{base: noState, parent: noState, id: noPiece})
	}
	for len(b.used) <= (state+searchStates+256)/64+1 {
		b.used, b.bases = append(b.used, 0), append(b.bases, 0)
	}
	b.nodes[state].parent = parent
	b.used[state/64] |= 1 << (state % 64)
}

// place assigns states to the children of r.state and pushes them on the stack.
func (b *trieBuilder) place(r trieRange) {
	if len(r.keys) > 0 && len(r.keys[0].text) == r.depth {
		b.nodes[r.state].id = r.keys[0].id
		r.keys = r.keys[1:]
	}
	if len(r.keys) == 0 {
		return
	}
	b.bytes = b.bytes[:0]
	for i, k := range r.keys {
		if i == 0 || k.text[r.depth] != r.keys[i-1].text[r.depth] {
			b.bytes = append(b.bytes, k.text[r.depth])
		}
	}
	base := b.findBase()
	b.nodes[r.state].base = int32(base)
	b.bases[base/64] |= 1 << (base % 64)
	rest := r.keys
	for _, label := range b.bytes {
		n := 1
		for n < len(rest) && rest[n].text[r.depth] == label {
			n++
		}
		child := base + int(label)
		b.take(child, r.state)
		b.stack = append(b.stack, trieRange{int32(child), r.depth + 1, rest[:n]})
		rest = rest[n:]
	}
}

// searchStates is the number of states at the end of nodes in which findBase searches for
// gaps. Searching all states would take quadratic time.
const searchStates = 4096

// findBase returns an unused base at which the states for all labels in b.bytes
// are free. It tests 64 bases at once. All states after the last used one are free.
func (b *trieBuilder) findBase() int {
	base, single := max(0, len(b.nodes)-searchStates), len(b.bytes) == 1
	if single {
		base = max(base, b.single)
	}
	for ; ; base += 64 {
		fits := ^(b.bases[base/64]>>(base%64) | b.bases[base/64+1]<<(64-base%64))
		for _, label := range b.bytes {
			at := base + int(label)
			fits &^= b.used[at/64]>>(at%64) | b.used[at/64+1]<<(64-at%64)
			if fits == 0 {
				break
			}
		}
		if fits != 0 {
			if single {
				b.single = base
			}
			return base + bits.TrailingZeros64(fits)
		}
	}
}

// finish returns the trie. A state without children gets a base beyond all used
// states, so that no byte leads to a child.
func (b *trieBuilder) finish() *trie {
	end := len(b.nodes)
	for range 256 {
		b.nodes = append(b.nodes, trieNode{parent: noState, id: noPiece})
	}
	for i := range b.nodes {
		if i >= end || b.nodes[i].base == noState {
			b.nodes[i].base = int32(end)
		}
	}
	return &trie{nodes: slices.Clip(b.nodes)}
}

// pack replaces t.nodes by t.packed and t.ids.
func (t *trie) pack() {
	t.packed, t.ids = make([]uint32, len(t.nodes)), make([]int32, len(t.nodes))
	hugepages.Advise(t.packed)
	hugepages.Advise(t.ids)
	for state, node := range t.nodes {
		packed := uint32(node.base) << baseShift
		if node.parent >= 0 {
			packed |= uint32(state) - uint32(t.nodes[node.parent].base)
		}
		if node.id != noPiece {
			packed |= pieceEnds
		}
		t.packed[state], t.ids[state] = packed, node.id
	}
	t.nodes = nil
}

// appendPieces appends the ids of the pieces of word, greedily: the longest
// piece at its beginning, then the longest that continues it, and so on. If
// that fails, it appends only unk. word must not contain zero bytes.
func (t *trie) appendPieces(dst []int32, word []byte, unk int32) []int32 {
	if t.packed == nil {
		return t.appendPlain(dst, word, unk)
	}
	start, packed := len(dst), t.packed
	base := packed[rootWord] >> baseShift
	for len(word) > 0 {
		last, end := uint32(0), 0
		for i, b := range word {
			state := base + uint32(b)
			node := packed[state]
			if byte(node) != b {
				break
			}
			if node&pieceEnds != 0 {
				last, end = state, i+1
			}
			base = node >> baseShift
		}
		if end == 0 {
			return append(dst[:start], unk)
		}
		dst = append(dst, t.ids[last])
		word = word[end:]
		base = packed[rootSubword] >> baseShift
	}
	return dst
}

// appendPlain implements appendPieces for t.nodes.
func (t *trie) appendPlain(dst []int32, word []byte, unk int32) []int32 {
	start := len(dst)
	root := int32(rootWord)
	for len(word) > 0 {
		state, id, end := root, int32(noPiece), 0
		for i, b := range word {
			child := t.nodes[state].base + int32(b)
			node := &t.nodes[child]
			if node.parent != state {
				break
			}
			state = child
			if node.id != noPiece {
				id, end = node.id, i+1
			}
		}
		if id == noPiece {
			return append(dst[:start], unk)
		}
		dst = append(dst, id)
		word = word[end:]
		root = rootSubword
	}
	return dst
}
