// Package bytetrie finds all tokens that are prefixes of a text, the shortest first.
//
//	for node, i := bytetrie.Root, 0; i < len(text); i++ {
//		if node = trie.Next(node, text[i]); node < 0 {
//			break
//		}
//		if id := trie.Value(node); id != bytetrie.None {
//			use(id, text[:i+1])
//		}
//	}
package bytetrie

import (
	"math/bits"
	"slices"
	"strings"
)

// Root is the node of the empty text.
const Root = int32(0)

// None is the value of a node where no token ends.
const None = int32(-1)

// A Trie is a trie over bytes. It is immutable and may be shared.
//
// It is a double array (Aoe: An Efficient Digital Search Algorithm by Using a Double-Array
// Structure, IEEE Transactions on Software Engineering 15, 1989): the child of a node for a
// label is at the node's base with the label's bits flipped, if the unit there has that
// label. No two nodes have the same base, but those without children, whose base is 0: the
// root and units without a node are there.
type Trie struct {
	units  []unit
	values []int32 // of the token that ends at a unit, or None
}

// A unit is a node, or empty: from the highest bit on, 32 bits for its base, and below them
// whether a token ends here, whether there is a node with a label, and the label.
type unit uint64

const (
	isChild = 1 << 8
	isToken = 1 << 9
	block   = 256 // a base and its children are in one block of this size
)

func (u unit) base() uint32 { return uint32(u >> 32) }

// New returns the trie of the tokens that are the keys of values. An empty token is never
// found.
func New(values map[string]int32) *Trie {
	tokens := make([]string, 0, len(values))
	for token := range values {
		tokens = append(tokens, token)
	}
	slices.Sort(tokens)
	return build(len(tokens), func(i int) string { return tokens[i] }, func(i int) int32 { return values[tokens[i]] })
}

// Of returns the trie of tokens, which must be distinct. The value of a token is its index.
// Of needs less memory than New while it builds the trie.
func Of(tokens []string) *Trie {
	order := make([]int32, len(tokens))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return strings.Compare(tokens[a], tokens[b]) })
	return build(len(tokens), func(i int) string { return tokens[order[i]] }, func(i int) int32 { return order[i] })
}

// build returns the trie of n tokens, which must be in byte order.
func build(n int, token func(i int) string, value func(i int) int32) *Trie {
	b := &builder{t: &Trie{}}
	b.extend()
	b.taken[0] = ^uint64(0) // the first block has no children
	b.taken[1], b.taken[2], b.taken[3] = b.taken[0], b.taken[0], b.taken[0]
	// Add the nodes level by level. A group is a range of tokens that share their first
	// depth bytes.
	type group struct {
		node        uint32
		first, last int
	}
	for depth, groups := 0, []group{{0, 0, n}}; len(groups) > 0; depth++ {
		var next []group
		var labels []byte
		for _, g := range groups {
			labels = labels[:0]
			children := len(next)
			for i := g.first; i < g.last; {
				if len(token(i)) == depth {
					if depth > 0 {
						b.t.units[g.node] |= isToken
						b.t.values[g.node] = value(i)
					}
					i++
					continue
				}
				label, start := token(i)[depth], i
				for i < g.last && token(i)[depth] == label {
					i++
				}
				next = append(next, group{uint32(label), start, i})
				labels = append(labels, label)
			}
			if len(labels) == 0 {
				continue
			}
			base := b.place(labels)
			b.t.units[g.node] |= unit(base) << 32
			for i := range next[children:] {
				next[children+i].node ^= base
			}
		}
		groups = next
	}
	return b.t
}

// A builder finds places for the children of a trie's nodes.
type builder struct {
	t     *Trie
	taken []uint64 // set of the units with a node
	bases []uint64 // set of the bases
}

// recent is the number of blocks, the last ones, in which a place is sought: those before
// are nearly full.
const recent = 4

// extend adds a block.
func (b *builder) extend() {
	b.t.units = append(b.t.units, make([]unit, block)...)
	b.t.values = append(b.t.values, slices.Repeat([]int32{None}, block)...)
	b.taken = append(b.taken, make([]uint64, block/64)...)
	b.bases = append(b.bases, make([]uint64, block/64)...)
}

// place adds children with these labels, and returns their base.
func (b *builder) place(labels []byte) uint32 {
	for word := max(0, len(b.taken)-recent*block/64); ; word++ {
		if word == len(b.taken) {
			b.extend()
		}
		for free := ^b.taken[word]; free != 0; free &= free - 1 {
			base := uint32(word*64+bits.TrailingZeros64(free)) ^ uint32(labels[0])
			if !has(b.bases, base) && b.fit(base, labels) {
				add(b.bases, base)
				for _, label := range labels {
					add(b.taken, base^uint32(label))
					b.t.units[base^uint32(label)] = isChild | unit(label)
				}
				return base
			}
		}
	}
}

// fit reports whether the places of children are free.
func (b *builder) fit(base uint32, labels []byte) bool {
	for _, label := range labels {
		if has(b.taken, base^uint32(label)) {
			return false
		}
	}
	return true
}

func has(set []uint64, n uint32) bool { return set[n/64]>>(n%64)&1 != 0 }

func add(set []uint64, n uint32) { set[n/64] |= 1 << (n % 64) }

// Next returns the child of a node for the byte b, or -1.
func (t *Trie) Next(node int32, b byte) int32 {
	child := t.units[node].base() ^ uint32(b)
	if t.units[child]&(isChild|0xff) != isChild|unit(b) {
		return -1
	}
	return int32(child)
}

// Value returns the value of the token that ends at a node, or None.
func (t *Trie) Value(node int32) int32 {
	if t.units[node]&isToken == 0 {
		return None
	}
	return t.values[node]
}

// Longest returns the value of the longest token with which text begins, or None, and the
// number of bytes that it looked at.
func (t *Trie) Longest(text string) (value int32, looked int) {
	last, at := uint32(0), t.units[Root].base()
	for i := range len(text) {
		at ^= uint32(text[i])
		u := t.units[at]
		if u&(isChild|0xff) != isChild|unit(text[i]) {
			return t.values[last], i + 1
		}
		if u&isToken != 0 {
			last = at
		}
		at = u.base()
	}
	return t.values[last], len(text)
}
