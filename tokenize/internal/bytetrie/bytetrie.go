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
type Trie struct {
	nodes []node
	wide  []wide // of nodes with many edges
	root  [256]int32
}

// A node has its children next to each other in Trie.nodes, in the order of their labels.
type node struct {
	labels uint64 // label of each edge from the lowest byte on; or the index in wide
	value  int32  // value of the token that ends here, or None
	child  int32  // first child
	edges  uint8  // number of edges, or manyEdges
}

const (
	fewEdges  = 8   // labels that a node has room for
	manyEdges = 255 // more
)

// A wide is the set of the labels of a node, and in before the number of labels in the
// words of the set before each.
type wide struct {
	set    [4]uint64
	before [4]int32
}

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
	t := &Trie{nodes: []node{{value: None}}}
	// Add the nodes level by level. A group is a range of tokens that share their first
	// depth bytes.
	type group struct {
		node        int32
		first, last int
	}
	for depth, groups := 0, []group{{0, 0, n}}; len(groups) > 0; depth++ {
		var next []group
		for _, g := range groups {
			var labels []byte
			t.nodes[g.node].child = int32(len(t.nodes))
			for i := g.first; i < g.last; {
				if len(token(i)) == depth {
					if depth > 0 {
						t.nodes[g.node].value = value(i)
					}
					i++
					continue
				}
				label, start := token(i)[depth], i
				for i < g.last && token(i)[depth] == label {
					i++
				}
				next = append(next, group{int32(len(t.nodes)), start, i})
				labels = append(labels, label)
				t.nodes = append(t.nodes, node{value: None})
			}
			t.setLabels(&t.nodes[g.node], labels)
		}
		groups = next
	}
	for b := range t.root {
		t.root[b] = t.edge(0, byte(b))
	}
	return t
}

// Next returns the child of a node for the byte b, or -1.
func (t *Trie) Next(node int32, b byte) int32 {
	if node == Root {
		return t.root[b]
	}
	return t.edge(node, b)
}

// setLabels stores the labels of a node's edges.
func (t *Trie) setLabels(n *node, labels []byte) {
	if len(labels) <= fewEdges {
		n.edges = uint8(len(labels))
		for i, label := range labels {
			n.labels |= uint64(label) << (8 * i)
		}
		return
	}
	n.edges, n.labels = manyEdges, uint64(len(t.wide))
	var w wide
	for _, label := range labels {
		w.set[label>>6] |= 1 << (label & 63)
	}
	for i := range w.set[:3] {
		w.before[i+1] = w.before[i] + int32(bits.OnesCount64(w.set[i]))
	}
	t.wide = append(t.wide, w)
}

func (t *Trie) edge(from int32, b byte) int32 {
	n := &t.nodes[from]
	if n.edges == manyEdges {
		return t.wide[n.labels].edge(n.child, b)
	}
	// The first byte of x that is 0 has the label. Its highest bit is the first that is set.
	const low, high = 0x0101010101010101, 0x8080808080808080
	x := n.labels ^ uint64(b)*low
	i := bits.TrailingZeros64((x-low)&^x&high) / 8
	if i >= int(n.edges) {
		return -1
	}
	return n.child + int32(i)
}

// edge returns the child for a label, where child is the first.
func (w *wide) edge(child int32, b byte) int32 {
	word, bit := w.set[b>>6], uint64(1)<<(b&63)
	if word&bit == 0 {
		return -1
	}
	return child + w.before[b>>6] + int32(bits.OnesCount64(word&(bit-1)))
}

// Value returns the value of the token that ends at a node, or None.
func (t *Trie) Value(node int32) int32 { return t.nodes[node].value }
