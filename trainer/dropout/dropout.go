// Package dropout decides which elements are dropped. The CUDA kernels implement the
// same rule; a golden table in this package's tests checks both.
//
// The decision is a pure function of the seed, the sequence and the element,
// computed by the counter-based generator Philox4x32-10 (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011). No mask is stored;
// the backward pass recomputes it. A sequence has the same masks in any
// micro-batch, on any rank and after resuming, because the counter contains its
// global position and not its index in the batch.
//
//	m := dropout.New(seed, 0.1)
//	dropout.Hidden(m, row, position, dropout.At(dropout.FeedForward, layer), first)
//
// # Layout
//
// The key is the seed: low word, high word. The counter has four words:
//
//	c0, c1  global position of the sequence, low and high word
//	c2      kind of the site | layer << 8
//	c3      position of the elements in the sequence, see below
//
// A call of the generator gives 16 random bytes, one for each of 16 elements. Byte w
// is byte w&3 (the lowest is byte 0) of word w>>2. An element is kept if its
// byte is below keep = 256 − round(256·p). So the effective drop probability is
// round(256·p)/256. Kept elements are scaled by 256/keep.
//
// Hidden values (rows × width, flat element e of the sequence): c3 = e/16, byte
// e mod 16.
//
// Attention probabilities (query row r, key column k of head h, both inside the
// sequence): c3 = lane | k/32 << 5 | r/16 << 14 | h << 24 with lane = (r mod
// 8)·4 + (k mod 8)/2, and the element's byte is (k mod 32)/8·4 + (r mod 16)/8·2
// + k mod 2. So one call serves the 16 elements of a 16×32 block that one lane of a
// tensor core holds.
//
// All functions are pure and safe for concurrent use.
package dropout

import "math"

// A Kind names an output in the model to which dropout applies.
type Kind uint32

// The kinds. Embeddings and Pooled are in layer 0.
const (
	Embeddings      Kind = 0 // output of the embedding's LayerNorm
	Probabilities   Kind = 1 // attention probabilities
	AttentionOutput Kind = 2 // output of the attention block, before the residual
	FeedForward     Kind = 3 // output of the feed-forward block, before the residual
	Pooled          Kind = 4 // pooled output, before a classifier; element j of row 0
)

// A Site identifies a kind in a layer. It is word c2 of the counter.
type Site uint32

// At returns the site of a kind in an encoder layer.
func At(k Kind, layer int) Site { return Site(uint32(k) | uint32(layer)<<8) }

// A Mask decides which elements are dropped, given a seed and a drop probability. The
// zero value drops everything; [None] returns the mask that drops nothing.
type Mask struct {
	seed uint64
	keep uint32 // kept fraction, in units of 1/256
}

// New returns the mask for a seed and a drop probability in [0, 1).
func New(seed uint64, p float64) Mask {
	return Mask{seed: seed, keep: uint32(256 - math.Round(256*p))}
}

// None returns the mask that keeps everything.
func None() Mask { return Mask{keep: 256} }

// Active reports whether the mask drops anything.
func (m Mask) Active() bool { return m.keep < 256 }

// Scale returns the factor applied to kept elements.
func (m Mask) Scale() float64 { return 256 / float64(m.keep) }

// Philox returns one block of Philox4x32-10: the four random words of counter
// c.
func Philox(key uint64, c [4]uint32) [4]uint32 {
	const (
		m0, m1 = 0xD2511F53, 0xCD9E8D57
		w0, w1 = 0x9E3779B9, 0xBB67AE85
	)
	k0, k1 := uint32(key), uint32(key>>32)
	for range 10 {
		p0, p1 := uint64(m0)*uint64(c[0]), uint64(m1)*uint64(c[2])
		c = [4]uint32{uint32(p1>>32) ^ c[1] ^ k0, uint32(p1), uint32(p0>>32) ^ c[3] ^ k1, uint32(p0)}
		k0 += w0
		k1 += w1
	}
	return c
}

func (m Mask) block(position int64, site Site, place uint32) [4]uint32 {
	return Philox(m.seed, [4]uint32{uint32(position), uint32(uint64(position) >> 32), uint32(site), place})
}

// Hidden applies the mask in place to x. x holds the flat elements first, first+1, … of
// the sequence with the given global position.
func Hidden[T float32 | float64](m Mask, x []T, position int64, site Site, first int) {
	if !m.Active() {
		return
	}
	scale := T(m.Scale())
	for i := hiddenFast(m, x, position, site, first); i < len(x); {
		element := first + i
		words := m.block(position, site, uint32(element/16))
		n := min(len(x)-i, 16-element%16)
		for j := range n {
			b := element%16 + j
			if words[b>>2]>>(8*(b&3))&255 < m.keep {
				x[i+j] *= scale
			} else {
				x[i+j] = 0
			}
		}
		i += n
	}
}

// Scores are probabilities of one attention head. Values[r*Stride+k] is the
// probability of query row First+r and key FirstKey+k of the sequence.
type Scores[T float32 | float64] struct {
	Values     []T
	More       []T     // another matrix of the same shape that gets the same mask; nil: none
	First      int     // a multiple of 16
	Index      []int32 // the query rows, ascending; nil: First, First+1, …
	FirstKey   int     // a multiple of 32
	Rows, Keys int
	Stride     int // at least Keys
	Head       int
}

// row returns the query row of row r of the matrix.
func (s *Scores[T]) row(r int) int {
	if s.Index == nil {
		return s.First + r
	}
	return int(s.Index[r])
}

// Attention applies the mask in place to attention probabilities of the sequence with
// the given global position.
func Attention[T float32 | float64](m Mask, s Scores[T], position int64, site Site) {
	if !m.Active() {
		return
	}
	if s.First%16 != 0 || s.FirstKey%32 != 0 {
		panic("BUG: first row is no multiple of 16, or first key no multiple of 32")
	}
	var bytes [512]byte
	for r, end := 0, 0; r < s.Rows; r = end {
		group := s.row(r) / 16
		for end = r + 1; end < s.Rows && s.row(end)/16 == group; end++ {
		}
		for k := 0; k < s.Keys; k += 32 {
			m.tile(position, site, uint32((s.FirstKey+k)/32)<<5|uint32(group)<<14|uint32(s.Head)<<24, &bytes)
			for i := r; i < end; i++ {
				lo, hi := i*s.Stride+k, i*s.Stride+min(k+32, s.Keys)
				mask := bytes[s.row(i)%16*32:]
				applyMask(m, s.Values[lo:hi], mask)
				if s.More != nil {
					applyMask(m, s.More[lo:hi], mask)
				}
			}
		}
	}
}

// tile computes the random bytes of a block of 16 rows and 32 keys, row by row. place is word
// c3 of its first lane.
func (m Mask) tile(position int64, site Site, place uint32, out *[512]byte) {
	if tileFast(m, position, site, place, out) {
		return
	}
	for lane := range 32 {
		for group, w := range m.block(position, site, place|uint32(lane)) {
			at := lane/4*32 + 8*group + lane%4*2
			out[at], out[at+1] = byte(w), byte(w>>8)
			out[at+8*32], out[at+8*32+1] = byte(w>>16), byte(w>>24)
		}
	}
}

// applyMask applies the mask to x, whose elements have the given random bytes.
func applyMask[T float32 | float64](m Mask, x []T, bytes []byte) {
	scale := T(m.Scale())
	for i := applyFast(m, x, bytes); i < len(x); i++ {
		if uint32(bytes[i]) < m.keep {
			x[i] *= scale
		} else {
			x[i] = 0
		}
	}
}
