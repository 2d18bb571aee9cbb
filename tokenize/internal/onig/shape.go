package onig

import "unicode/utf8"

// A shape holds properties of a node that the compiler and the parser need. They are
// computed only once for each node, because nodes are deeply nested and every level needs
// them.
type shape struct {
	low, high int  // see width
	measured  bool // whether low and high are set
	first     *firstBytes
}

// maxWidth is the limit of widths: larger ones are stored as maxWidth.
const maxWidth = 1 << 20

// nullable reports whether n can match the empty text.
func (n *node) nullable() bool {
	low, _ := n.width()
	return low == 0
}

// width returns the minimum and maximum number of characters that n matches. Values above
// maxWidth become maxWidth; high is unlimited if there is no maximum.
func (n *node) width() (low, high int) {
	if !n.shape.measured {
		low, high := n.measure()
		n.shape.low, n.shape.high, n.shape.measured = min(low, maxWidth), min(high, maxWidth), true
	}
	return n.shape.low, n.shape.high
}

func (n *node) measure() (low, high int) {
	switch n.kind {
	case nodeSet:
		return 1, 1
	case nodeAtomic:
		return n.subs[0].width()
	case nodeCat:
		for _, sub := range n.subs {
			l, h := sub.width()
			low = min(low+l, maxWidth)
			if high == unlimited || h == unlimited {
				high = unlimited
			} else {
				high = min(high+h, maxWidth)
			}
		}
	case nodeAlt:
		for i, sub := range n.subs {
			l, h := sub.width()
			if i == 0 || l < low {
				low = l
			}
			if high == unlimited || h == unlimited {
				high = unlimited
			} else {
				high = max(high, h)
			}
		}
	case nodeRepeat:
		l, h := n.subs[0].width()
		if low = l * n.min; n.max == unlimited || h == unlimited {
			return low, unlimited
		}
		return low, h * n.max
	}
	return low, high
}

// firstBytes has the bytes with which a match can begin; 256 is the end of the text. empty
// is true if the match can be empty; then it can begin anywhere.
type firstBytes struct {
	bytes [257]bool
	empty bool
}

func (n *node) firstBytes() *firstBytes {
	if n.shape.first == nil {
		n.shape.first = &firstBytes{}
		n.begin(n.shape.first)
	}
	return n.shape.first
}

// begin adds the first bytes of n to f, which must be empty.
func (n *node) begin(f *firstBytes) {
	switch n.kind {
	case nodeSet:
		n.beginSet(f)
	case nodeCat:
		for _, sub := range n.subs {
			s := sub.firstBytes()
			f.add(s)
			if !s.empty {
				return
			}
		}
		f.empty = true
	case nodeAlt:
		for _, sub := range n.subs {
			s := sub.firstBytes()
			f.add(s)
			f.empty = f.empty || s.empty
		}
	case nodeRepeat:
		*f = *n.subs[0].firstBytes()
		f.empty = f.empty || n.min == 0
	case nodeAtomic:
		*f = *n.subs[0].firstBytes()
	default:
		f.empty = true
	}
}

func (f *firstBytes) add(other *firstBytes) {
	for b, can := range other.bytes {
		f.bytes[b] = f.bytes[b] || can
	}
}

func (n *node) beginSet(f *firstBytes) {
	for _, x := range n.ranges {
		for b := x.First; b <= min(x.Last, utf8.RuneSelf-1); b++ {
			f.bytes[b] = true
		}
		if x.Last >= utf8.RuneSelf {
			for b := leadByte(max(x.First, utf8.RuneSelf)); b <= leadByte(x.Last); b++ {
				f.bytes[b] = true
			}
		}
	}
}

func leadByte(r rune) int {
	var b [utf8.UTFMax]byte
	utf8.EncodeRune(b[:], r)
	return int(b[0])
}
