package pretrain

import (
	"testing"

	"pgregory.net/rapid"
)

// A roomIndex finds the rows that a search of all rows finds.
func TestRowsAreFoundByTheirRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seq := rapid.SampledFrom([]int{16, 63, 64, 65, 128, 200}).Draw(t, "row")
		x := newRoomIndex(seq, rapid.IntRange(0, 20).Draw(t, "slack"))
		var rows []row
		var open []uint32 // in the order in which they were added
		want := func(better func(a, b int) bool, fits func(room int) bool) (best int) {
			best = -1
			for i, r := range open { // of equal rows the last
				if room := int(rows[r].left); fits(room) && (best < 0 || !better(int(rows[open[best]].left), room)) {
					best = i
				}
			}
			return best
		}
		took := func(i int, got uint32, what string) {
			if got != open[i] {
				t.Fatalf("%s: got row %d of room %d, want row %d of room %d", what, got, rows[got].left, open[i], rows[open[i]].left)
			}
			open = append(open[:i:i], open[i+1:]...)
		}
		for range rapid.IntRange(1, 40).Draw(t, "operations") {
			switch size := rapid.IntRange(1, seq).Draw(t, "size"); rapid.IntRange(0, 3).Draw(t, "operation") {
			case 0, 1:
				rows, open = append(rows, row{left: int32(size)}), append(open, uint32(len(rows)))
				x.add(rows, open[len(open)-1])
			case 2:
				i := want(func(a, b int) bool { return a < b }, func(room int) bool { return room >= size })
				if got, ok := x.take(rows, size); ok != (i >= 0) {
					t.Fatalf("a row with room for %d: got %t", size, ok)
				} else if ok {
					took(i, got, "the smallest")
				}
			case 3:
				if len(open) > 0 {
					i := want(func(a, b int) bool { return a > b }, func(int) bool { return true })
					took(i, x.takeEmptiest(rows), "the emptiest")
				}
			}
			spare := int64(0)
			for _, r := range open {
				if int(rows[r].left) >= x.least {
					spare += int64(rows[r].left)
				}
			}
			if x.spare != spare {
				t.Fatalf("%d values are spare, want %d", x.spare, spare)
			}
		}
	})
}
