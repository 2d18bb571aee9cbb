package hf

import "cmp"

// A merger applies the BPE merges to one word. It merges the pair of
// neighbouring symbols with the lowest rank, of several equal pairs the
// leftmost, until no pair can be merged. A heap finds the next pair; a linked
// list connects the remaining symbols.
type merger struct {
	symbols []symbol
	heap    []candidate
}

type symbol struct {
	id         int32
	prev, next int32 // -1 at the ends
}

// A candidate is a possible merge: the symbol at index at and its right
// neighbour would become id. It is stale if one of them was merged since.
type candidate struct{ rank, at, id int32 }

const gone = -1 // id of a symbol merged into another

// appendMerged appends the ids of word after all merges.
func (m *merger) appendMerged(dst []int32, b *byteLevel, word string) []int32 {
	m.symbols, m.heap = m.symbols[:0], m.heap[:0]
	for i := range len(word) {
		m.symbols = append(m.symbols, symbol{b.bytes[word[i]], int32(i) - 1, int32(i) + 1})
	}
	m.symbols[len(word)-1].next = -1
	for i := range m.symbols {
		m.consider(b, int32(i))
	}
	for len(m.heap) > 0 {
		c := m.pop()
		left := &m.symbols[c.at]
		if left.id == gone || left.next < 0 {
			continue
		}
		right := &m.symbols[left.next]
		if to, ok := b.merges[pair{left.id, right.id}]; !ok || to.id != c.id {
			continue
		}
		left.id, right.id = c.id, gone
		left.next = right.next
		if left.next >= 0 {
			m.symbols[left.next].prev = c.at
		}
		if left.prev >= 0 {
			m.consider(b, left.prev)
		}
		m.consider(b, c.at)
	}
	for at := int32(0); at >= 0; at = m.symbols[at].next {
		dst = append(dst, m.symbols[at].id)
	}
	return dst
}

// consider pushes the merge of the symbol at index at and its right neighbour
// on the heap, if the pair can be merged.
func (m *merger) consider(b *byteLevel, at int32) {
	s := m.symbols[at]
	if s.next < 0 {
		return
	}
	if to, ok := b.merges[pair{s.id, m.symbols[s.next].id}]; ok {
		m.push(candidate{to.rank, at, to.id})
	}
}

func (c candidate) before(d candidate) bool {
	return cmp.Or(cmp.Compare(c.rank, d.rank), cmp.Compare(c.at, d.at)) < 0
}

func (m *merger) push(c candidate) {
	m.heap = append(m.heap, c)
	for i := len(m.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !m.heap[i].before(m.heap[up]) {
			return
		}
		m.heap[i], m.heap[up] = m.heap[up], m.heap[i]
		i = up
	}
}

func (m *merger) pop() candidate {
	top, last := m.heap[0], len(m.heap)-1
	m.heap[0] = m.heap[last]
	m.heap = m.heap[:last]
	for i := 0; ; {
		least := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < last && m.heap[child].before(m.heap[least]) {
				least = child
			}
		}
		if least == i {
			return top
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}
