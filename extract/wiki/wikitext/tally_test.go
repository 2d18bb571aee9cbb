package wikitext

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestATallyThatIsNotFullIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOf(rapid.StringMatching(`[a-f]{1,3}`)).Draw(t, "names")
		var tally Tally
		want := map[string]int{}
		for _, name := range names {
			tally.Add([]byte(name), 1)
			want[name]++
		}
		if diff := cmp.Diff(want, maps.Collect(tally.All())); diff != "" {
			t.Fatal(diff)
		}
		if tally.Slack() != 0 {
			t.Fatal("a tally that was never full has slack")
		}
	})
}

func TestAFullTallyIsWrongByItsSlackAtMost(t *testing.T) {
	var tally Tally
	want := map[string]int{}
	for k := range 4 * tallySize {
		rare, frequent := fmt.Sprint("rare ", k), fmt.Sprint("frequent ", k%7)
		for _, name := range []string{rare, frequent} {
			tally.Add([]byte(name), 1)
			want[name]++
		}
	}
	if tally.Slack() == 0 {
		t.Fatal("the tally was never full")
	}
	got := maps.Collect(tally.All())
	if len(got) > tallySize {
		t.Errorf("%d names are held", len(got))
	}
	for name, n := range want {
		if got[name] > n || got[name] < n-tally.Slack() {
			t.Errorf("%s: got %d, want %d, slack %d", name, got[name], n, tally.Slack())
		}
	}
}

func TestATallyYieldsTheMostFrequentFirst(t *testing.T) {
	var tally Tally
	for _, name := range []string{"b", "a", "c", "c"} {
		tally.Add([]byte(name), 1)
	}
	var order []string
	for name := range tally.All() {
		order = append(order, name)
	}
	if diff := cmp.Diff([]string{"c", "a", "b"}, order); diff != "" {
		t.Error(diff)
	}
}

func TestALongNameIsCutBetweenCharacters(t *testing.T) {
	var tally Tally
	tally.Add([]byte(strings.Repeat("a", maxTallyName-1)+"éa"), 1)
	tally.Add([]byte(strings.Repeat("é", maxTallyName)), 1)
	tally.Add([]byte(strings.Repeat("a", maxTallyName)+"b"), 1)
	want := map[string]int{strings.Repeat("a", maxTallyName-1): 1, strings.Repeat("é", maxTallyName/2): 1, strings.Repeat("a", maxTallyName): 1}
	if diff := cmp.Diff(want, maps.Collect(tally.All())); diff != "" {
		t.Error(diff)
	}
}
