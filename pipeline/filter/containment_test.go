package filter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/extract/dedup"
)

func TestADocumentIsDroppedForOneThatIsKept(t *testing.T) {
	larger := func(a, b uint32) bool { return a > b }
	for name, c := range map[string]struct {
		join   [2]uint32 // of one cluster
		inside []insideRow
		want   map[uint32]uint32
	}{
		"each other":                      {[2]uint32{0, 0}, []insideRow{{1, 2, 0.9}, {2, 1, 0.9}}, map[uint32]uint32{1: 2}},
		"in one that is dropped":          {[2]uint32{0, 0}, []insideRow{{1, 2, 0.9}, {2, 3, 0.9}}, map[uint32]uint32{2: 3}},
		"in two, the larger share counts": {[2]uint32{0, 0}, []insideRow{{1, 2, 0.8}, {1, 3, 0.9}}, map[uint32]uint32{1: 3}},
		"a copy that is dropped anyway":   {[2]uint32{1, 2}, []insideRow{{2, 3, 0.9}}, map[uint32]uint32{}},
		"in a copy that is dropped":       {[2]uint32{1, 2}, []insideRow{{0, 2, 0.9}}, map[uint32]uint32{}},
	} {
		found := similarities{clusters: dedup.NewClusters(4)}
		found.clusters.Join(c.join[0], c.join[1])
		found.drop(c.inside, larger)
		got := map[uint32]uint32{}
		for document, within := range found.within {
			got[document] = within.of
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
