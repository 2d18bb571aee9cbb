package bzip2

const (
	// chainCap is the maximum number of bytes that a chain writes. As long as all
	// chains have segments to walk, they visit distinct rows. chainTail is for the
	// chains that continue after that.
	chainCap  = maxBlock/chains + 1 + chainTail
	chainTail = 1 << 14

	// chainPad separates the outputs of the chains in memory. If the distances were
	// powers of two, the outputs would compete for the same cache lines.
	chainPad = 320

	cutSize = 1 << 9  // average length of a segment in bytes
	minWalk = 1 << 14 // minimum size of a block, in bytes, that is divided into segments

	marked = 1 << 31 // bit of a table entry whose row begins a segment; the rest is its number
)

// A segment is a part of the text: from one row that begins a segment to the next such
// row.
type segment struct {
	first uint32 // the original table entry of the first row, which a mark replaced
	next  uint32 // number of the segment that follows in the text
	text  []byte
}

// A walker inverts the transform along several chains of rows at once.
//
// A step of [table.walk] waits for memory, because the table is larger than
// most caches. But a walk may begin at any row. So rows all over the table are
// chosen to begin segments, and several chains walk segments at the same time,
// which keeps several memory accesses in progress. A segment ends where another
// segment begins; at the end the segments are joined in the order of the text.
// (Several walks of one block: Kärkkäinen, Kempa and Puglisi, "Slashing the
// time for BWT inversion", DCC 2012.)
//
// The rows need not form one cycle. A text that repeats itself, or hostile
// data, gives several cycles; one of them is the text. Segments in the other
// cycles cost only the time of walking them, because no row is visited twice.
type walker struct {
	segments [1 + maxBlock/cutSize + chains]segment
	n        int // number of segments in use
	out      [chains][chainCap + chainPad]byte
	scratch  []byte // the caller's buffer, at least as long as the text
}

// walk inverts the Burrows-Wheeler transform: it writes the block's text to dst. origin
// is the row of the sorted rotations that equals the text. walk overwrites the table
// and w.scratch.
func (w *walker) walk(t *table, dst []byte, origin uint32) {
	if len(dst) < minWalk {
		t.walk(dst, origin)
		return
	}
	w.cut(t, uint32(len(dst)), origin)
	w.chains(t)
	w.join(dst)
}

// cut selects the rows that begin segments: the origin, then rows spread over the
// table, in an order that is independent of the text. n is the length of the text. The
// rows are distinct, because the factor, a prime near 2^32 divided by the golden ratio,
// is larger than n. So there are more segments than chains.
func (w *walker) cut(t *table, n, origin uint32) {
	w.n = 0
	w.mark(t, origin)
	for i := range uint64(n / cutSize) {
		w.mark(t, uint32(i*2654435761%uint64(n)))
	}
}

// mark lets a segment begin at the row, unless one already does.
func (w *walker) mark(t *table, row uint32) {
	x := t[row&tableMask]
	if x&marked != 0 {
		return
	}
	t[row&tableMask] = marked | uint32(w.n)
	w.segments[w.n] = segment{first: x}
	w.n++
}

// idle is a row after all blocks. Its entry leads to itself, so chains without a
// segment stay there.
const idle = tableSize - 1

// chains walks all segments. All chains step together until the last segment ends or
// chainCap is reached. The remaining segments are then walked one after the other.
func (w *walker) chains(t *table) {
	var (
		x     [chains]uint32 // entry of the current row
		seg   [chains]int    // segment being walked, or -1
		begin [chains]int    // start of the segment in out
	)
	t[idle] = idle << 8
	for j := range chains {
		x[j], seg[j] = w.segments[j].first, j
	}
	scratch, taken, walking, p := w.scratch, chains, chains, 0
	for walking > 0 && p < chainCap {
		p = w.stride(t, &x, p)
		for j := range chains {
			if x[j]&marked == 0 {
				continue
			}
			w.segments[seg[j]].close(w.out[j][begin[j]:p], x[j]&^marked)
			if taken == w.n {
				x[j], seg[j] = t[idle], -1
				walking--
				continue
			}
			x[j], seg[j], begin[j] = w.segments[taken].first, taken, p
			taken++
		}
	}
	for j := range chains {
		if seg[j] >= 0 {
			w.segments[seg[j]].close(w.out[j][begin[j]:p], uint32(w.n))
			scratch = w.rest(t, x[j], scratch)
		}
	}
}

// close ends a segment.
func (s *segment) close(text []byte, next uint32) { s.text, s.next = text, next }

// rest walks the rest of a segment, from the entry x on, as a separate segment. It
// writes the text to scratch and returns the unused part of scratch.
func (w *walker) rest(t *table, x uint32, scratch []byte) []byte {
	n := 0
	for ; x&marked == 0; x = t[x>>8&tableMask] {
		scratch[n] = byte(x)
		n++
	}
	w.segments[w.n].close(scratch[:n], x&^marked)
	w.n++
	return scratch[n:]
}

// join writes the segments to dst in the order of the text.
func (w *walker) join(dst []byte) {
	for s := uint32(0); len(dst) > 0; s = w.segments[s].next {
		dst = dst[copy(dst, w.segments[s].text):]
	}
}
