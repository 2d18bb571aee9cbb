package sim

import "fmt"

// A memory is an allocation of global memory, or the shared memory of a block. It
// has a shadow: for each small group of bytes, a cell records the last accesses.
type memory struct {
	name   string
	base   uint64
	data   []byte
	shadow []chunk
}

func newMemory(name string, base uint64, size int) *memory {
	m := &memory{name: name, base: base, data: make([]byte, size), shadow: make([]chunk, (size+chunkSize-1)/chunkSize)}
	if size > 0 {
		m.data[0] = 0xff // NaN in every floating-point type
		for done := 1; done < size; done *= 2 {
			copy(m.data[done:], m.data[:done])
		}
	}
	return m
}

// holds reports whether the n bytes at the address at are inside of m.
func (m *memory) holds(at uint64, n int) bool {
	return at >= m.base && n <= len(m.data) && at-m.base <= uint64(len(m.data)-n)
}

// place returns the name of m and an offset as text, such as "weights[300]".
func (m *memory) place(at int) string { return fmt.Sprintf("%s[%d]", m.name, at) }
