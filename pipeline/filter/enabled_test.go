package filter

import (
	"testing"

	"pretext/extract/quality"
)

func TestWhatMakesAFilterNecessary(t *testing.T) {
	limits := quality.Options{Limits: map[string]float64{"min-words": 5}}
	for _, test := range []struct {
		o    Options
		want bool
	}{
		{Options{}, false},
		{Options{Dedup: DedupNone}, false},
		{Options{Dedup: DedupExact}, true},
		{Options{Options: limits}, true},
		{Options{LineDocuments: 20}, true},
		{Options{Options: limits, Dedup: DedupNone}, true},
	} {
		if got := test.o.Enabled(); got != test.want {
			t.Errorf("%+v: got %v, want %v", test.o, got, test.want)
		}
	}
}
