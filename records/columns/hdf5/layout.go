package hdf5

import (
	"encoding/binary"
	"math/bits"

	"pretext/records/columns"
)

// A dataset is one column of the file.
type dataset struct {
	name      string
	column    int   // index in the schema
	length    int64 // values in a row
	flat      bool  // one value per row: one dimension
	width     int64 // bytes of a value: 4 or 1
	chunkRows int64

	sizes     []uint32 // of the compressed chunks
	addresses []int64  // of the chunks; head sets them
	chunk     []byte   // the chunk being written or read, uncompressed
}

// targetChunk is the size of a chunk before compression, unless a row is larger.
const targetChunk = 1 << 18

// datasets returns the datasets of a part, in the order of its columns.
func datasets(p columns.Part) (list []*dataset) {
	for i, c := range p.Schema {
		if c.Name == weights {
			continue
		}
		d := &dataset{name: c.Name, column: i, length: int64(c.Len), flat: c.Len == 1, width: 4}
		if bytesWide[c.Name] {
			d.width = 1
		}
		d.chunkRows = max(1, min(p.Rows, targetChunk/d.rowBytes()))
		list = append(list, d)
	}
	return list
}

func (d *dataset) rowBytes() int64   { return d.length * d.width }
func (d *dataset) chunkBytes() int64 { return d.chunkRows * d.rowBytes() }

// count returns the number of chunks.
func (d *dataset) count(rows int64) int64 { return (rows + d.chunkRows - 1) / d.chunkRows }

// rank returns the number of dimensions.
func (d *dataset) rank() int {
	if d.flat {
		return 1
	}
	return 2
}

// nodeEntries is the maximum number of children of a B-tree node: twice the specification's
// default for chunks, 32.
const nodeEntries = 64

// keyBytes is the size of a key in a node: 4 bytes each for the chunk's size and filter
// mask, then 8 bytes for each dimension of the chunk's offset, plus 8 for the offset within
// an element, 0.
func (d *dataset) keyBytes() int64 { return 8 + 8*int64(d.rank()+1) }

// nodeBytes is the size of a node, which is the same for full and partly filled nodes.
func (d *dataset) nodeBytes() int64 {
	return 24 + nodeEntries*8 + (nodeEntries+1)*d.keyBytes()
}

// levels returns the number of nodes in each level of a B-tree of n chunks, from the root
// to the leaves. Without chunks there are no levels.
func levels(n int64) (list []int64) {
	for n > 0 {
		n = (n + nodeEntries - 1) / nodeEntries
		list = append([]int64{n}, list...)
		if n == 1 {
			break
		}
	}
	return list
}

// undefined is the address of an object that does not exist.
const undefined = ^uint64(0)

const superblockBytes = 48

// A layout holds the addresses of everything before the chunks.
type layout struct {
	sets    []*dataset
	rows    int64
	headers []int64 // address of the object header of each dataset
	trees   []int64 // address of the root of each B-tree
	chunks  int64   // address of the first chunk
}

func newLayout(sets []*dataset, rows int64) *layout {
	l := &layout{sets: sets, rows: rows, headers: make([]int64, len(sets)), trees: make([]int64, len(sets))}
	at := align(superblockBytes + int64(len(l.root())))
	for i := range sets {
		l.headers[i] = at
		at = align(at + int64(len(l.header(i))))
	}
	for i, d := range sets {
		l.trees[i] = at
		for _, n := range levels(d.count(rows)) {
			at += n * d.nodeBytes()
		}
	}
	l.chunks = at
	return l
}

func align(n int64) int64 { return (n + 7) &^ 7 }

// sizeOf reads the size of a chunk of dataset i from its B-tree. head is everything before
// the chunks.
func (l *layout) sizeOf(head []byte, i int, chunk int64) uint32 {
	d := l.sets[i]
	at := l.trees[i]
	nodes := levels(d.count(l.rows))
	for _, n := range nodes[:len(nodes)-1] { // skip to the leaves
		at += n * d.nodeBytes()
	}
	at += chunk/nodeEntries*d.nodeBytes() + 24 + chunk%nodeEntries*(d.keyBytes()+8)
	return binary.LittleEndian.Uint32(head[at:])
}

// head returns everything before the chunks, and sets the addresses of the chunks in sets.
func head(sets []*dataset, rows int64) []byte {
	l := newLayout(sets, rows)
	end := l.place()
	b := make([]byte, 0, l.chunks)
	b = append(b, "\x89HDF\r\n\x1a\n"...)
	b = append(b, 2, 8, 8, 0) // version, bytes of an offset and of a length, no flags
	for _, address := range []uint64{0, undefined, uint64(end), superblockBytes} {
		b = binary.LittleEndian.AppendUint64(b, address) // base, extension, end of the file, root group
	}
	b = binary.LittleEndian.AppendUint32(b, lookup3(b))
	b = append(b, l.root()...)
	for i := range sets {
		b = append(b, make([]byte, l.headers[i]-int64(len(b)))...)
		b = append(b, l.header(i)...)
	}
	for i := range sets {
		b = append(b, make([]byte, l.trees[i]-int64(len(b)))...)
		b = l.appendTree(b, i)
	}
	return append(b, make([]byte, l.chunks-int64(len(b)))...)
}

// place sets the address of each chunk and returns the end of the file. The chunks are in
// the order in which a writer completes them.
func (l *layout) place() int64 {
	at := l.chunks
	next := make([]int64, len(l.sets))
	for _, d := range l.sets {
		d.addresses = d.addresses[:0]
	}
	for {
		first, row := -1, int64(0) // the dataset whose next chunk is complete first
		for i, d := range l.sets {
			end := min(l.rows, (next[i]+1)*d.chunkRows)
			if next[i] < d.count(l.rows) && (first < 0 || end < row) {
				first, row = i, end
			}
		}
		if first < 0 {
			return at
		}
		d := l.sets[first]
		d.addresses = append(d.addresses, at)
		at += int64(d.sizes[next[first]])
		next[first]++
	}
}

// message appends a message of an object header.
func message(b []byte, kind byte, body []byte) []byte {
	b = append(b, kind)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(body)))
	return append(append(b, 0), body...)
}

// objectHeader returns an object header, version 2, with 4 bytes for its size.
func objectHeader(messages []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte("OHDR\x02\x02"), uint32(len(messages)))
	b = append(b, messages...)
	return binary.LittleEndian.AppendUint32(b, lookup3(b))
}

// Types of messages.
const (
	messageDataspace = 0x01
	messageLinkInfo  = 0x02
	messageDatatype  = 0x03
	messageFill      = 0x05
	messageLink      = 0x06
	messageLayout    = 0x08
	messageGroupInfo = 0x0a
	messageFilters   = 0x0b
)

// root returns the object header of the root group.
func (l *layout) root() []byte {
	info := binary.LittleEndian.AppendUint64([]byte{0, 0}, undefined)
	info = binary.LittleEndian.AppendUint64(info, undefined)
	m := message(nil, messageLinkInfo, info)
	m = message(m, messageGroupInfo, []byte{0, 0})
	for i, d := range l.sets {
		link := append([]byte{1, 0, byte(len(d.name))}, d.name...)
		m = message(m, messageLink, binary.LittleEndian.AppendUint64(link, uint64(l.headers[i])))
	}
	return objectHeader(m)
}

// header returns the object header of dataset i.
func (l *layout) header(i int) []byte {
	d := l.sets[i]
	le := binary.LittleEndian
	space := le.AppendUint64([]byte{2, byte(d.rank()), 0, 1}, uint64(l.rows))
	chunks := le.AppendUint64([]byte{3, 2, byte(d.rank() + 1)}, uint64(l.trees[i])) // version 3, chunked
	if d.count(l.rows) == 0 {
		chunks = le.AppendUint64(chunks[:3], undefined)
	}
	chunks = le.AppendUint32(chunks, uint32(d.chunkRows))
	if !d.flat {
		space = le.AppendUint64(space, uint64(d.length))
		chunks = le.AppendUint32(chunks, uint32(d.length))
	}
	chunks = le.AppendUint32(chunks, uint32(d.width))
	kind := le.AppendUint32([]byte{0x10, 0x08, 0, 0}, uint32(d.width)) // signed, little-endian
	kind = le.AppendUint16(le.AppendUint16(kind, 0), uint16(8*d.width))
	m := message(nil, messageDataspace, space)
	m = message(m, messageDatatype, kind)
	// Version 3: allocate incrementally; write the fill value if set; it is not set.
	m = message(m, messageFill, []byte{3, 0x0b})
	m = message(m, messageLayout, chunks)
	// Version 2, one filter: deflate, optional, with one value, the level.
	m = message(m, messageFilters, []byte{2, 1, 1, 0, 1, 0, 1, 0, zlibLevel, 0, 0, 0})
	return objectHeader(m)
}

// appendTree appends the nodes of the B-tree of dataset i, the root first.
func (l *layout) appendTree(b []byte, i int) []byte {
	d := l.sets[i]
	nodes := levels(d.count(l.rows))
	below := l.trees[i] // address of the first node of the next level
	children := int64(1)
	for depth, n := range nodes {
		level := len(nodes) - 1 - depth
		below += n * d.nodeBytes()
		if level == 0 {
			children = d.count(l.rows)
		} else {
			children = nodes[depth+1]
		}
		for node := range n {
			from := node * nodeEntries
			at := int64(len(b))
			b = l.appendNode(b, nodeOf{d, level, from, min(children, from+nodeEntries), below})
			b = append(b, make([]byte, at+d.nodeBytes()-int64(len(b)))...)
		}
	}
	return b
}

// A nodeOf is a node of the B-tree of a dataset.
type nodeOf struct {
	*dataset
	level    int   // 0: its children are chunks
	from, to int64 // range of its children in the level below
	below    int64 // address of the first node of the level below
}

// appendNode appends a node: its header, then a key before each child and one after the
// last child.
func (l *layout) appendNode(b []byte, n nodeOf) []byte {
	le := binary.LittleEndian
	b = le.AppendUint16(append(b, 'T', 'R', 'E', 'E', 1, byte(n.level)), uint16(n.to-n.from))
	siblings := [2]uint64{undefined, undefined}
	size := uint64(n.nodeBytes())
	self := uint64(len(b) - 8)
	if n.from > 0 {
		siblings[0] = self - size
	}
	span := int64(1) // chunks below each child
	for range n.level {
		span *= nodeEntries
	}
	if n.to*span < n.count(l.rows) {
		siblings[1] = self + size
	}
	b = le.AppendUint64(le.AppendUint64(b, siblings[0]), siblings[1])
	for child := n.from; child < n.to; child++ {
		b = n.appendKey(b, child*span)
		address := n.below + child*n.nodeBytes()
		if n.level == 0 {
			address = n.addresses[child]
		}
		b = le.AppendUint64(b, uint64(address))
	}
	return n.appendKey(b, min(n.to*span, n.count(l.rows)))
}

// appendKey appends the key of a chunk, where chunk is the first one below a child, or the
// number of chunks for the key at the end.
func (d *dataset) appendKey(b []byte, chunk int64) []byte {
	size := uint32(0)
	if chunk < int64(len(d.sizes)) {
		size = d.sizes[chunk]
	}
	b = binary.LittleEndian.AppendUint32(b, size)
	b = binary.LittleEndian.AppendUint32(b, 0) // no filter was skipped
	b = binary.LittleEndian.AppendUint64(b, uint64(chunk*d.chunkRows))
	return append(b, make([]byte, 8*d.rank())...)
}

// lookup3 returns Bob Jenkins' hash of k with the initial value 0, which HDF5 uses
// as checksum.
func lookup3(k []byte) uint32 {
	a := 0xdeadbeef + uint32(len(k))
	b, c := a, a
	for len(k) > 12 {
		a += binary.LittleEndian.Uint32(k)
		b += binary.LittleEndian.Uint32(k[4:])
		c += binary.LittleEndian.Uint32(k[8:])
		a, b, c = mix(a, b, c)
		k = k[12:]
	}
	if len(k) == 0 {
		return c
	}
	var last [12]byte
	copy(last[:], k)
	a += binary.LittleEndian.Uint32(last[:])
	b += binary.LittleEndian.Uint32(last[4:])
	c += binary.LittleEndian.Uint32(last[8:])
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	return (c ^ b) - bits.RotateLeft32(b, 24)
}

func mix(a, b, c uint32) (uint32, uint32, uint32) {
	a = (a - c) ^ bits.RotateLeft32(c, 4)
	c += b
	b = (b - a) ^ bits.RotateLeft32(a, 6)
	a += c
	c = (c - b) ^ bits.RotateLeft32(b, 8)
	b += a
	a = (a - c) ^ bits.RotateLeft32(c, 16)
	c += b
	b = (b - a) ^ bits.RotateLeft32(a, 19)
	a += c
	c = (c - b) ^ bits.RotateLeft32(b, 4)
	b += a
	return a, b, c
}
