package squad

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMarkedIDsAreFoundWhereTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]int32{0, 1, 127, 128, 129, 1 << 14, 1<<14 + 1, 1 << 21, 1<<24 - 1}) // with many equal bytes
		all := rapid.SliceOfN(id, 1, 12).Draw(t, "ids")
		part := rapid.SliceOfN(id, 1, 3).Draw(t, "part")
		want := -1
		for i := len(all) - len(part); i >= 0; i-- {
			if slices.Equal(all[i:i+len(part)], part) {
				want = i * markedSize
			}
		}
		if got := bytes.Index(appendMarked(nil, all), appendMarked(nil, part)); got != want {
			t.Fatalf("%d in %d: found at byte %d, want %d", part, all, got, want)
		}
	})
}
