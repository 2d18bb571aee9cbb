package tokenize

import (
	"cmp"
	"slices"
	"strings"
)

// A trie finds the longest piece at the beginning of a word. It is a
// double-array trie over bytes: the child of state s for byte b is state
// nodes[s].base+b, if that state's parent is s.
type trie struct {
	nodes []trieNode
}

type trieNode struct {
	base   int32 // of the children
	parent int32 // noState where the state is free, isRoot for the roots
	id     int32 // of the piece that ends here, noPiece if none
}

const (
	rootWord    = 0 // pieces that begin a word
	rootSubword = 1 // pieces that continue one, "##" cut off
	noState     = -1
	isRoot      = -2
	noPiece     = -1
)

// subwordPrefix marks the pieces that continue a word.
const subwordPrefix = "##"

// newTrie returns the trie of a vocabulary. Entries that no word can match (the
// empty one and "##" itself) are not in it.
func newTrie(tokens []string) *trie {
	var roots [2][]trieKey
	for id, token := range tokens {
		root := rootWord
		if rest, ok := strings.CutPrefix(token, subwordPrefix); ok {
			root, token = rootSubword, rest
		}
		if token != "" {
			roots[root] = append(roots[root], trieKey{token, int32(id)})
		}
	}
	b := trieBuilder{free: 2}
	b.grow(2)
	for root, keys := range roots {
		slices.SortFunc(keys, func(a, b trieKey) int { return cmp.Compare(a.text, b.text) })
		b.nodes[root].parent = isRoot
		b.queue = append(b.queue, trieRange{int32(root), 0, keys})
	}
	for len(b.queue) > 0 {
		r := b.queue[0]
		b.queue = b.queue[1:]
		b.place(r)
	}
	return b.finish()
}

type trieKey struct {
	text string
	id   int32
}

// A trieRange is a state and the sorted keys below it, which agree in their
// first depth bytes.
type trieRange struct {
	state int32
	depth int
	keys  []trieKey
}

type trieBuilder struct {
	nodes []trieNode
	free  int // no state before it is free
	queue []trieRange
	bytes []byte // scratch: labels of the children being placed
}

// grow makes at least n states.
func (b *trieBuilder) grow(n int) {
	for len(b.nodes) < n {
		b.nodes = append(b.nodes, trieNode{base: noState, parent: noState, id: noPiece})
	}
}

// place gives states to the children of r and queues them.
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
	rest := r.keys
	for _, label := range b.bytes {
		n := 1
		for n < len(rest) && rest[n].text[r.depth] == label {
			n++
		}
		child := base + int(label)
		b.nodes[child].parent = r.state
		b.queue = append(b.queue, trieRange{int32(child), r.depth + 1, rest[:n]})
		rest = rest[n:]
	}
}

// searchStates bounds the search for a gap, which would be quadratic otherwise.
const searchStates = 512

// findBase finds a base at which the states for b.bytes are free: a gap not far
// behind the first free state, or else the end of the array.
func (b *trieBuilder) findBase() int {
	for b.free < len(b.nodes) && b.nodes[b.free].parent != noState {
		b.free++
	}
	first := int(b.bytes[0])
	start := max(b.free, first)
	for at := start; at < min(len(b.nodes), start+searchStates); at++ {
		if b.nodes[at].parent == noState && b.fits(at-first) {
			return at - first
		}
	}
	base := max(0, len(b.nodes)-first)
	b.grow(base + 256)
	return base
}

// fits reports whether the states for b.bytes at base are free.
func (b *trieBuilder) fits(base int) bool {
	b.grow(base + 256)
	for _, label := range b.bytes {
		if b.nodes[base+int(label)].parent != noState {
			return false
		}
	}
	return true
}

// finish points the states without children behind all others, where no byte
// leads to a child of theirs.
func (b *trieBuilder) finish() *trie {
	end := len(b.nodes)
	b.grow(end + 256)
	for i := range b.nodes {
		if b.nodes[i].base == noState {
			b.nodes[i].base = int32(end)
		}
	}
	return &trie{nodes: slices.Clip(b.nodes)}
}

// appendPieces appends the ids of the pieces of word: the longest piece that
// begins it, then the longest that continues it, and so on; or unk alone where
// that gets stuck.
func (t *trie) appendPieces(dst []int32, word []byte, unk int32) []int32 {
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
