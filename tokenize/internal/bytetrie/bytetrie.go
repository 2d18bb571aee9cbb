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
	"slices"
	"strings"
)

// Root is the node of the empty text.
const Root = int32(0)

// None is the value of a node where no token ends.
const None = int32(-1)

// A Trie is a trie over bytes. It is immutable and may be shared.
type Trie struct {
	nodes  []node
	labels []byte  // labels of the edges, sorted for each node
	ends   []int32 // target nodes of the edges
	root   [256]int32
}

type node struct {
	value       int32 // value of the token that ends here, or None
	first, last int32 // range of its edges in labels and ends
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
			t.nodes[g.node].first = int32(len(t.labels))
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
				t.labels, t.ends = append(t.labels, label), append(t.ends, int32(len(t.nodes)))
				t.nodes = append(t.nodes, node{value: None})
			}
			t.nodes[g.node].last = int32(len(t.labels))
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

func (t *Trie) edge(node int32, b byte) int32 {
	n := &t.nodes[node]
	labels := t.labels[n.first:n.last]
	if len(labels) > 8 {
		if i, ok := slices.BinarySearch(labels, b); ok {
			return t.ends[int(n.first)+i]
		}
		return -1
	}
	for i, label := range labels {
		if label == b {
			return t.ends[int(n.first)+i]
		}
	}
	return -1
}

// Value returns the value of the token that ends at a node, or None.
func (t *Trie) Value(node int32) int32 { return t.nodes[node].value }
