package bzip2

const (
	chains   = 8       // walked at the same time
	chainCap = 1 << 17 // a chain's share of a block, at most maxBlock/chains, up to a power of two
	cuts     = 256     // segments that a block is cut into, about
	minWalk  = 1 << 14 // bytes under which cutting does not pay

	marked = 1 << 31 // in a table: the row begins a segment; the rest is its number
)

// A segment is a stretch of the text between two rows that begin a segment.
type segment struct {
	first uint32 // the table's entry of the first row, which the mark replaced
	next  uint32 // the segment that follows in the text
	text  []byte
}

// A walker undoes the transform along several chains at a time.
//
// One step of the plain walk waits for memory, some 20 ns in a table larger
// than the cache. But the walk may begin anywhere: rows chosen all over the
// table begin segments, eight of which are walked in turn, so that eight
// accesses are under way at any time. A segment ends where the next one
// begins; at last they are joined in the order of the text. (Several walks of
// one block: Kärkkäinen, Kempa and Puglisi, "Slashing the time for BWT
// inversion", DCC 2012.)
//
// The rows need not form one cycle. Those of a text that repeats itself form
// several, and the text goes round one of them; so may those of hostile data.
// Marks on the others cost their walk and no more: no row is visited twice.
type walker struct {
	segments [cuts + 1 + chains]segment
	n        int // segments in use
	out      [chains][chainCap]byte
}

// walk writes the text to dst, beginning at row origin. It destroys the table
// and uses scratch, which must have the size of dst.
func (w *walker) walk(t *table, dst []byte, origin uint32, scratch []byte) {
	if len(dst) < minWalk {
		t.walk(dst, origin)
		return
	}
	w.cut(t, uint32(len(dst)), origin)
	w.chains(t, scratch)
	w.join(dst)
}

// cut marks the rows that begin segments: first the origin, then others all
// over the table.
func (w *walker) cut(t *table, n, origin uint32) {
	w.n = 0
	w.mark(t, origin)
	for i := range uint64(cuts) {
		// Multiplication by the golden ratio: evenly spread, in no order
		// that a text could follow.
		w.mark(t, uint32((i*2654435761+12345)%uint64(n)))
	}
}

// mark makes the row begin a segment, if it does not yet.
func (w *walker) mark(t *table, row uint32) {
	x := t[row&tableMask]
	if x&marked != 0 {
		return
	}
	t[row&tableMask] = marked | uint32(w.n)
	w.segments[w.n] = segment{first: x}
	w.n++
}

// chains walks all segments. While there are enough of them all chains step
// together; what is left when they run out is walked one after the other.
//
// The loop is written out because the chains' state must stay in registers.
func (w *walker) chains(t *table, scratch []byte) {
	var (
		x     [chains]uint32 // entry of the current row
		seg   [chains]int    // segment being walked
		begin [chains]int    // its begin in out
	)
	for j := range chains {
		x[j], seg[j] = w.segments[j].first, j
	}
	taken, p := chains, 0
	for more := true; more; {
		p = w.stride(t, &x, p)
		for j := range chains {
			if x[j]&marked == 0 {
				continue
			}
			s := &w.segments[seg[j]]
			s.text, s.next = w.out[j][begin[j]:p], x[j]&^marked
			if taken == w.n {
				seg[j], more = -1, false
				continue
			}
			x[j], seg[j], begin[j] = w.segments[taken].first, taken, p
			taken++
		}
	}
	for j := range chains {
		if seg[j] < 0 {
			continue
		}
		s := &w.segments[seg[j]]
		s.text, s.next = w.out[j][begin[j]:p], uint32(w.n)
		k := 0
		row := x[j]
		for row&marked == 0 {
			scratch[k] = byte(row)
			k++
			row = t[row>>8&tableMask]
		}
		w.segments[w.n] = segment{text: scratch[:k], next: row &^ marked}
		scratch = scratch[k:]
		w.n++
	}
}

// stride walks all chains from position p on until one meets a mark, and
// returns the position reached.
func (w *walker) stride(t *table, x *[chains]uint32, p int) int {
	x0, x1, x2, x3, x4, x5, x6, x7 := x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
	out := &w.out
	for (x0|x1|x2|x3|x4|x5|x6|x7)&marked == 0 {
		i := p & (chainCap - 1)
		out[0][i], out[1][i], out[2][i], out[3][i] = byte(x0), byte(x1), byte(x2), byte(x3)
		out[4][i], out[5][i], out[6][i], out[7][i] = byte(x4), byte(x5), byte(x6), byte(x7)
		p++
		x0, x1, x2, x3 = t[x0>>8&tableMask], t[x1>>8&tableMask], t[x2>>8&tableMask], t[x3>>8&tableMask]
		x4, x5, x6, x7 = t[x4>>8&tableMask], t[x5>>8&tableMask], t[x6>>8&tableMask], t[x7>>8&tableMask]
	}
	*x = [chains]uint32{x0, x1, x2, x3, x4, x5, x6, x7}
	return p
}

// join writes the segments to dst in the order of the text.
func (w *walker) join(dst []byte) {
	for s := uint32(0); len(dst) > 0; s = w.segments[s].next {
		dst = dst[copy(dst, w.segments[s].text):]
	}
}
