package wiki

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/extract"
)

func TestStatsOfRangesAddUp(t *testing.T) {
	a := Stats{Pages: 3, Kept: 1, Rejects: map[extract.Reject]int64{"empty": 2}, XMLBytes: 5, InvalidPlaces: make([]Place, 6)}
	var sum Stats
	sum.Add(a)
	sum.Add(a)
	sum.Add(Stats{})
	want := Stats{Pages: 6, Kept: 2, Rejects: map[extract.Reject]int64{"empty": 4}, XMLBytes: 10, InvalidPlaces: make([]Place, maxPlaces)}
	if diff := cmp.Diff(want, sum); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	a.Templates = map[string]int64{}
	for i := range maxTemplates {
		a.Templates[strconv.Itoa(1000+i)] = int64(1 + i%2)
	}
	sum.Add(a)
	sum.Add(Stats{Templates: map[string]int64{"new": 2, "rare": 1, "1000": 1}})
	if n := len(sum.Templates); n != maxTemplates || sum.Templates["new"] != 2 || sum.Templates["1000"] != 2 || sum.Templates["1498"] != 0 || sum.Templates["rare"] != 0 {
		t.Errorf("%d templates: %v", n, sum.Templates)
	}
	if sum.TemplatesSlack != 1 { // what "rare" and others lost
		t.Errorf("slack %d, want 1", sum.TemplatesSlack)
	}
	twice := sum
	twice.Templates = nil
	twice.Add(sum)
	if twice.TemplatesSlack != 2 {
		t.Errorf("slack of two ranges %d, want 2", twice.TemplatesSlack)
	}
	if a.Rejects["empty"] != 2 {
		t.Error("adding changed what was added")
	}
}
