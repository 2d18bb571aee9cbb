package pretrain

import "math/bits"

// leastPart is the minimum room of a row for which a document is cut: [CLS], fourteen
// tokens and [SEP]. For less text a cut is not worthwhile.
const leastPart = 16

// A roomIndex finds rows by their room: the number of values that are still empty. Rows
// with equal room form a linked list.
type roomIndex struct {
	heads []uint32 // by room: index of the row that was added last, plus 1; 0 for none
	set   []uint64 // bit set: bit i is set if a row has room i
	least int      // minimum room that spare includes
	spare int64    // sum of all rooms of at least least
}

// newRoomIndex returns an index of rows of seq values. Rooms of at most slack values, or
// below leastPart, are not included in spare.
func newRoomIndex(seq, slack int) roomIndex {
	return roomIndex{heads: make([]uint32, seq+1), set: make([]uint64, seq/64+1), least: max(slack+1, leastPart)}
}

func (x *roomIndex) reset() {
	clear(x.heads)
	clear(x.set)
	x.spare = 0
}

// add adds row r to the index.
func (x *roomIndex) add(rows []row, r uint32) {
	room := rows[r].left
	rows[r].below = x.heads[room]
	x.heads[room] = r + 1
	if int(room) >= x.least {
		x.spare += int64(room)
	}
	x.set[room/64] |= 1 << (room % 64)
}

// take removes and returns the row with the smallest room that is at least size. Among
// equal rows it takes the one that was added last. It returns false if there is no such
// row.
func (x *roomIndex) take(rows []row, size int) (uint32, bool) {
	i := size / 64
	word := x.set[i] &^ (1<<(size%64) - 1)
	for word == 0 {
		if i++; i == len(x.set) {
			return 0, false
		}
		word = x.set[i]
	}
	return x.remove(rows, i*64+bits.TrailingZeros64(word)), true
}

// takeEmptiest removes and returns the row with the most room. The index must not be empty.
func (x *roomIndex) takeEmptiest(rows []row) uint32 {
	i := len(x.set) - 1
	for x.set[i] == 0 {
		i--
	}
	return x.remove(rows, i*64+bits.Len64(x.set[i])-1)
}

func (x *roomIndex) remove(rows []row, room int) uint32 {
	r := x.heads[room] - 1
	x.heads[room] = rows[r].below
	if room >= x.least {
		x.spare -= int64(room)
	}
	if x.heads[room] == 0 {
		x.set[room/64] &^= 1 << (room % 64)
	}
	return r
}
