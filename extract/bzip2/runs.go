package bzip2

import (
	"encoding/binary"
	"math/bits"
)

const (
	runMark = 4   // number of equal bytes after which a count follows
	maxMore = 255 // maximum of the count (encoders write at most 251)

	// runRoom is the free space, in bytes, that one step of expanding needs: the
	// maximum length of a run, and the bytes that may begin another run.
	runRoom = maxMore + 2*runMark
)

// runs expands the output of bzip2's first stage, a run-length encoding: after four
// equal bytes, one byte is the number of further copies, 0 to 255. At the end of the
// block this count may be missing, which means 0.
type runs struct {
	src    []byte // not yet expanded
	vector bool   // use vector instructions
}

// expand appends expanded bytes to dst, within its capacity, and returns the extended
// slice. It stops when all of src is expanded or less than runRoom of the capacity is
// left.
func (r *runs) expand(dst []byte) []byte {
	for len(r.src) > 0 {
		room := cap(dst) - len(dst) - maxMore
		if room < 2*runMark {
			break
		}
		part := r.src[:min(len(r.src), room)]
		if r.vector {
			n := copyChunks(&dst[:len(dst)+1][len(dst)], &part[0], len(part))
			dst, part, r.src = dst[:len(dst)+n], part[n:], r.src[n:]
		}
		k := findRun(part)
		if k < 0 {
			k = len(part)
			if k < len(r.src) {
				k -= runMark - 1 // these bytes may begin a run
			}
			dst = append(dst, part[:k]...)
			r.src = r.src[k:]
			continue
		}
		k += runMark
		dst = append(dst, part[:k]...)
		r.src = r.src[k:]
		if len(r.src) > 0 {
			dst = repeat(dst, part[k-1], int(r.src[0]))
			r.src = r.src[1:]
		}
	}
	return dst
}

// repeat appends n copies of c to dst. The capacity of dst must suffice.
func repeat(dst []byte, c byte, n int) []byte {
	fill(dst[len(dst):len(dst)+n], c)
	return dst[:len(dst)+n]
}

// fill sets all bytes of p to c.
func fill(p []byte, c byte) {
	word := uint64(c) * 0x0101010101010101
	for ; len(p) >= 8; p = p[8:] {
		binary.LittleEndian.PutUint64(p, word)
	}
	for i := range p {
		p[i] = c
	}
}

// findRun returns the offset of the first four equal bytes in p, or -1.
func findRun(p []byte) int {
	i := 0
	// Six offsets in each step: byte k of diff is zero if p[i+k] == p[i+k+1].
	for ; i+9 <= len(p); i += 6 {
		diff := binary.LittleEndian.Uint64(p[i:]) ^ binary.LittleEndian.Uint64(p[i+1:])
		zero := zeroBytes(diff)
		if zero = zero & (zero >> 8) & (zero >> 16); zero != 0 {
			return i + bits.TrailingZeros64(zero)>>3
		}
	}
	for ; i+runMark <= len(p); i++ {
		if p[i] == p[i+1] && p[i] == p[i+2] && p[i] == p[i+3] {
			return i
		}
	}
	return -1
}

// zeroBytes returns a word in which the highest bit of each byte is set if that
// byte of x is zero. All other bits are 0.
func zeroBytes(x uint64) uint64 {
	const low = 0x7f7f7f7f7f7f7f7f
	return ^(x&low + low | x | low)
}
