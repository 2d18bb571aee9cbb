package survey

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestTheFirstRepeatsAreListed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got, all [][2]uint64
		for _, again := range rapid.SliceOfNDistinct(rapid.Uint64Range(0, 99), 0, 30, rapid.ID).Draw(t, "repeats") {
			v := [2]uint64{again, rapid.Uint64Range(0, again).Draw(t, "of")}
			got, all = addSmall(got, v), append(all, v)
		}
		slices.SortFunc(all, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
		if want := all[:min(len(all), listedRepeats)]; !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
