package sim

import (
	"encoding/binary"
	"math/bits"
)

// addresses returns, for each lane, the address that the instruction in accesses. Addresses
// of lanes that do not execute in have no meaning. The result is valid until the next call.
func (w *warp) addresses(in *instr) *[warpSize]uint64 {
	at := &w.at
	if in.extra&wordAddress != 0 {
		for l, v := range &w.w[in.s[0]] {
			at[l] = uint64(int64(v) + in.offset)
		}
		return at
	}
	for l, v := range &w.l[in.s[0]] {
		at[l] = v + uint64(in.offset)
	}
	return at
}

// inRow reports whether lanes are all lanes of a warp and access adjacent memory: n bytes
// for each lane, in the order of the lanes, from an address that is aligned to n.
func inRow(at *[warpSize]uint64, lanes uint32, n int) bool {
	if lanes != full || at[0]%uint64(n) != 0 {
		return false
	}
	for l, a := range at {
		if a != at[0]+uint64(l*n) {
			return false
		}
	}
	return true
}

// inOnePlace reports whether lanes are all lanes of a warp and access the same bytes.
func inOnePlace(at *[warpSize]uint64, lanes uint32) bool {
	for _, a := range at {
		if a != at[0] {
			return false
		}
	}
	return lanes == full
}

// row returns the bytes that the lanes access if these are adjacent, n for each lane;
// otherwise nil. It raises a fault if a lane may not access its bytes.
func (w *warp) row(in *instr, lanes uint32, n int, how access) []byte {
	if !inRow(&w.at, lanes, n) {
		return nil
	}
	at, all := w.at[0], n*warpSize
	m := w.block.shared
	if in.extra&inShared == 0 {
		m = w.near
	}
	if m == nil || !m.holds(at, all) {
		if in.extra&inShared != 0 {
			return nil
		}
		if m = w.block.device.find(at, all); m == nil {
			return nil
		}
		w.near = m
	}
	first := int(at - m.base)
	m.touchRow(w, in, first, n, how)
	return m.data[first : first+all]
}

// bytes returns the n bytes that a lane accesses. It raises a fault if the lane may not
// access them.
func (w *warp) bytes(in *instr, lane, n int, how access) []byte {
	if in.extra&inShared != 0 {
		return w.shared(in, lane, w.at[lane], n, how)
	}
	return w.global(in, lane, w.at[lane], n, how)
}

func loadLanes(w *warp, in *instr, lanes uint32) {
	n := in.size * len(in.d)
	at := w.addresses(in)
	if b := w.row(in, lanes, n, reads); b != nil {
		w.loadRow(in, b)
		w.countRow(in, n)
		return
	}
	if inOnePlace(at, lanes) {
		// If the first and the last lane may read the bytes, all lanes may. The shadow
		// records only the last reader.
		w.bytes(in, 0, n, reads)
		w.loadAll(in, lanes, w.bytes(in, warpSize-1, n, reads))
	} else {
		for rest := lanes; rest != 0; rest &= rest - 1 {
			l := bits.TrailingZeros32(rest)
			w.load(in, l, w.bytes(in, l, n, reads))
		}
	}
	w.count(in, lanes, n)
}

func storeLanes(w *warp, in *instr, lanes uint32) {
	n := in.size * (len(in.s) - 1)
	w.addresses(in)
	if b := w.row(in, lanes, n, writes); b != nil {
		for l := range warpSize {
			w.store(in, l, b[l*n:])
		}
		w.countRow(in, n)
		return
	}
	for rest := lanes; rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros32(rest)
		w.store(in, l, w.bytes(in, l, n, writes))
	}
	w.count(in, lanes, n)
}

// loadRow loads the registers of all lanes from adjacent bytes.
func (w *warp) loadRow(in *instr, b []byte) {
	if in.size != 4 || in.extra&toLong != 0 {
		n := in.size * len(in.d)
		for l := range warpSize {
			w.load(in, l, b[l*n:])
		}
		return
	}
	for i, d := range in.d {
		to, from := &w.w[d], b[4*i:]
		for l := range to {
			to[l] = binary.LittleEndian.Uint32(from[4*l*len(in.d):])
		}
	}
}

// loadAll loads the registers of all given lanes from the same bytes.
func (w *warp) loadAll(in *instr, lanes uint32, b []byte) {
	first := bits.TrailingZeros32(lanes)
	w.load(in, first, b)
	for _, d := range in.defs {
		if d.bank == longs {
			spread(&w.l[d.index], lanes, w.l[d.index][first])
		} else {
			spread(&w.w[d.index], lanes, w.w[d.index][first])
		}
	}
}

// spread sets the given lanes of register r to v.
func spread[T lane](r *[warpSize]T, lanes uint32, v T) {
	if lanes == full {
		for l := range r {
			r[l] = v
		}
		return
	}
	for rest := lanes; rest != 0; rest &= rest - 1 {
		r[bits.TrailingZeros32(rest)%warpSize] = v
	}
}

// countRow adds an access of all lanes to n adjacent bytes each to the counts of in. Such an
// access has no bank conflicts.
func (w *warp) countRow(in *instr, n int) {
	if in.extra&inShared != 0 {
		return
	}
	all := uint64(n * warpSize)
	in.counts.Sectors += (w.at[0]%32 + all + 31) / 32
	in.counts.IdealSectors += (all + 31) / 32
}

// count adds an access of n bytes by each of the lanes to the counts of in.
func (w *warp) count(in *instr, lanes uint32, n int) {
	if in.extra&inShared != 0 {
		w.countConflicts(in, lanes, n)
	} else {
		countSectors(in, &w.at, lanes, n)
	}
}

// countSectors adds two numbers to the counts of in: the number of 32-byte sectors of global
// memory that the lanes access with n bytes each, and the minimum number of sectors that
// could hold these bytes.
func countSectors(in *instr, at *[warpSize]uint64, lanes uint32, n int) {
	var seen [2 * warpSize]uint64 // a hash table of sector numbers plus 1; 0: empty
	var last [2]uint64            // the addresses that were counted last
	sectors, distinct := uint64(0), 0
	for rest := lanes; rest != 0; rest &= rest - 1 {
		a := at[bits.TrailingZeros32(rest)]
		if known := distinct > 0 && a == last[0] || distinct > 1 && a == last[1]; !known {
			last[1], last[0] = last[0], a
			distinct++
		}
		sector := a/32 + 1
		i := sector % uint64(len(seen))
		for seen[i] != 0 && seen[i] != sector {
			i = (i + 1) % uint64(len(seen))
		}
		if seen[i] == 0 {
			seen[i] = sector
			sectors++
		}
	}
	in.counts.Sectors += sectors
	in.counts.IdealSectors += uint64((distinct*n + 31) / 32)
}

// countConflicts adds to the counts of in the cycles that are lost to bank
// conflicts when every lane accesses n bytes of shared memory. The hardware
// serves accesses of 8 bytes in two half warps, and accesses of 16 bytes in four
// quarter warps.
func (w *warp) countConflicts(in *instr, lanes uint32, n int) {
	at, step := &w.at, warpSize*4/max(n, 4)
	for first := 0; first < warpSize; first += step {
		words := &w.words
		var count [banks]int // number of distinct words in each bank
		most := 0
		for l := first; l < first+step; l++ {
			if lanes>>l&1 == 0 {
				continue
			}
		next:
			for word := at[l] / 4; word < (at[l]+uint64(n)+3)/4; word++ {
				b := word % banks
				for _, x := range words[b][:count[b]] {
					if x == word {
						continue next
					}
				}
				words[b][count[b]] = word
				count[b]++
				most = max(most, count[b])
			}
		}
		in.counts.Conflicts += uint64(max(0, most-1))
	}
}
